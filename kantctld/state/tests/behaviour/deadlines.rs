//! Deadlines: requested too late, missed while waiting, and enforced by stopping the job.

use crate::house::{House, end, name, running, share};
use common::id::JobKey;
use common::job::{Ask, EndCause, Outcome, Phase};
use common::reason::Refusal;
use common::time::Span;
use state::ledger::StartRefusal;
use state::{Command, Event, desired, snapshot};

/// A request with a deadline in this number of minutes.
fn due_in(house: &House, minutes: u64) -> Ask {
    Ask { deadline: Some(house.now + Span::from_minutes(minutes)), ..Ask::default() }
}

/// Does what the leader's timer does.
fn look(house: &mut House) -> Vec<Event> {
    let due = state::jobs_past_deadline(&house.state, house.now);
    due.into_iter().flat_map(|key| house.apply(Command::DeadlineOver { key })).collect()
}

#[test]
fn a_deadline_that_is_over_or_too_soon_is_refused() {
    let mut house = House::new();
    let over = Ask { deadline: Some(house.now), ..Ask::default() };
    let command = house.submission(over);
    assert!(matches!(house.refused(command), Refusal::DeadlinePassed { .. }));
    let limit = Some(Span::from_minutes(10));
    let soon = Ask { time_limit: limit, ..due_in(&house, 9) };
    let command = house.submission(soon);
    let refusal = house.refused(command).to_string();
    assert!(refusal.contains("would end after its deadline"), "{refusal}");
    let begin_at = Some(house.now + Span::from_minutes(1));
    // The time limit is the queue's default.
    let late = Ask { queue: "short".parse().ok(), begin_at, ..due_in(&house, 10) };
    let command = house.submission(late);
    assert!(matches!(house.refused(command), Refusal::DeadlineTooEarly { .. }));
    house.submit(Ask { time_limit: limit, ..due_in(&house, 10) });
}

#[test]
fn a_job_that_waits_beyond_its_deadline_is_over() {
    let mut house = House::new();
    let ask = due_in(&house, 1);
    let key = JobKey::single(house.submit(ask));
    house.wait(59);
    assert_eq!(look(&mut house), []);
    // A leader whose clock is ahead ends nothing early.
    assert_eq!(house.apply(Command::DeadlineOver { key }), []);
    house.wait(1);
    let events = house.enact(crate::house::attempt(key, 1), vec![share("g1", 0, 1, &[])]);
    let reason = StartRefusal::DeadlineOver;
    assert_eq!(events, [Event::RoundEntryRefused { id: crate::house::attempt(key, 1), reason }]);
    look(&mut house);
    assert_eq!(house.outcome(key), Some(Outcome::DeadlineMissed));
    assert_eq!(look(&mut house), []);
    let command = house.requeue(key);
    assert!(matches!(house.refused(command), Refusal::DeadlinePassed { .. }));
}

#[test]
fn a_running_job_ends_at_its_time_limit_or_its_deadline_whichever_is_sooner() {
    let mut house = House::new();
    let ask = Ask { time_limit: Some(Span::from_minutes(8)), ..due_in(&house, 10) };
    let key = JobKey::single(house.submit(ask));
    let limit = |house: &House, id, node| {
        desired::launch_order(&house.state, id, &name(node)).unwrap().time_limit
    };
    let early = house.start(key, vec![share("g1", 0, 1, &[])]);
    assert_eq!(limit(&house, early, "g1"), Some(Span::from_minutes(8)));
    house.lose("g1");
    house.wait(300);
    let late = house.start(key, vec![share("g2", 0, 1, &[])]);
    assert_eq!(limit(&house, late, "g2"), Some(Span::from_minutes(5)));
    let deadline = house.state.job(key.job).unwrap().spec.ask.deadline;
    assert_eq!(snapshot::snapshot(&house.state).running_job(key).unwrap().ends_by, deadline);
    house.report("g2", late, running());
    house.wait(300);
    let events = look(&mut house);
    assert!(matches!(events.as_slice(), [Event::JobEnded { outcome: Outcome::TimedOut, .. }]));
    assert_eq!((house.phase(key), look(&mut house)), (Phase::Completing, vec![]));
    house.report("g2", late, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(key), Some(Outcome::TimedOut));
}
