//! Suspend and resume: permissions, what a job keeps, what is frozen, and how it still ends.

use crate::house::{House, OPERATOR, USER, end, exited, name, running, share};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, EndCause, Outcome, Phase};
use common::time::{Span, Time};
use common::wire::node::{DesiredStep, Want};
use query::view::job_view;
use state::snapshot::snapshot;
use state::{Actor, Command, Event, Target};

const HOUR: Span = Span::from_minutes(60);

fn suspend(actor: Actor, key: JobKey) -> Command {
    Command::SuspendJob { actor, target: Target { key } }
}

fn resume(actor: Actor, key: JobKey) -> Command {
    Command::ResumeJob { actor, target: Target { key } }
}

/// A job with a time limit of an hour that has just started to run on g1.
fn living(house: &mut House, ask: Ask) -> AttemptId {
    let ask = Ask { time_limit: Some(HOUR), ..ask };
    let key = JobKey::single(house.submit(ask));
    let id = house.start(key, vec![share("g1", 0, 2, &[0])]);
    house.report("g1", id, running());
    id
}

fn wish(house: &House, id: AttemptId) -> Option<DesiredStep> {
    let steps = state::desired::desired_for(&house.state, &name("g1"));
    steps.into_iter().find(|step| step.id == id)
}

fn stands_still(house: &House, id: AttemptId) -> bool {
    wish(house, id).is_some_and(|step| step.suspended && step.want == Want::Run)
}

fn ends_by(house: &House, key: JobKey) -> Option<Time> {
    snapshot(&house.state).running_job(key).and_then(|job| job.ends_by)
}

#[test]
fn a_suspended_job_keeps_what_it_holds_and_goes_on_with_the_time_it_had() {
    let mut house = House::new();
    let began = house.now;
    let id = living(&mut house, Ask::default());
    house.wait(600);
    let nodes = vec![name("g1")];
    let events = house.apply(suspend(OPERATOR, id.key));
    assert_eq!(events, [Event::JobSuspended { id, by: OPERATOR.uid, nodes: nodes.clone() }]);
    assert!(state::effect::touched_nodes(&events).contains(&name("g1")));
    assert!(state::effect::wakes_scheduler(&events), "it is unknown when it ends");
    assert!(stands_still(&house, id) && house.phase(id.key) == Phase::Suspended);
    assert!(house.state.ledger().holders(&name("g1")).any(|holder| holder == id));
    assert_eq!(ends_by(&house, id.key), None);
    house.wait(7200);
    let events = house.apply(resume(OPERATOR, id.key));
    assert_eq!(events, [Event::JobResumed { id, by: OPERATOR.uid, nodes }]);
    assert!(!stands_still(&house, id) && house.phase(id.key) == Phase::Running);
    assert_eq!(ends_by(&house, id.key), Some(began + HOUR + Span::from_seconds(7200)));
    let shown =
        job_view(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    assert_eq!((shown.suspended_at, shown.suspended), (None, Span::from_seconds(7200)));
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
    let timeline: Vec<String> = house
        .element(id.key)
        .timeline
        .iter()
        .map(|line| query::timeline::line(&line.what))
        .collect();
    assert!(timeline.contains(&"suspended by root".to_owned()), "{timeline:?}");
    assert!(timeline.contains(&"resumed by root".to_owned()), "{timeline:?}");
}

#[test]
fn a_wish_that_comes_twice_is_granted_once() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    assert_eq!(house.apply(resume(OPERATOR, id.key)), [], "it runs");
    house.apply(suspend(OPERATOR, id.key));
    let since = house.now;
    house.wait(60);
    assert_eq!(house.apply(suspend(OPERATOR, id.key)), [], "it stands still");
    let shown =
        job_view(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    assert_eq!((shown.state.as_str(), shown.suspended_at), ("SUSPENDED", Some(since)));
}

#[test]
fn only_operators_may_and_only_what_runs_can_be_suspended() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    for command in [suspend(USER, id.key), resume(USER, id.key)] {
        assert!(house.refused(command).to_string().contains("operator"));
    }
    let waits = house.job();
    let refusal = house.refused(suspend(OPERATOR, waits)).to_string();
    assert_eq!(refusal, "cannot suspend job 2: it is PENDING");
    assert_eq!(
        house.refused(resume(OPERATOR, waits)).to_string(),
        "cannot resume job 2: it is PENDING"
    );
}

#[test]
fn a_suspended_job_can_be_cancelled_requeued_and_lost() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    house.apply(suspend(OPERATOR, id.key));
    let cancel = house.cancel(id.key);
    house.apply(cancel);
    let step = wish(&house, id).unwrap();
    assert_eq!((step.want, step.suspended), (Want::Stop, false));
    house.report("g1", id, end(EndCause::Stopped, 143));
    assert_eq!(house.outcome(id.key), Some(Outcome::Cancelled));

    let id = living(&mut house, Ask::default());
    house.apply(suspend(OPERATOR, id.key));
    house.wait(60);
    let requeue = house.requeue(id.key);
    house.apply(requeue);
    house.report("g1", id, end(EndCause::Stopped, 143));
    assert_eq!(house.phase(id.key), Phase::Pending);
    let again = house.start(id.key, vec![share("g1", 0, 2, &[0])]);
    house.report("g1", again, running());
    let shown =
        job_view(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    assert_eq!(shown.suspended, Span(0), "another attempt's");

    house.apply(suspend(OPERATOR, id.key));
    house.lose("g1");
    assert_eq!(house.phase(id.key), Phase::Pending);
}

#[test]
fn a_deadline_does_not_stand_still() {
    let mut house = House::new();
    let deadline = house.now + HOUR;
    let id = living(&mut house, Ask { deadline: Some(deadline), ..Ask::default() });
    house.apply(suspend(OPERATOR, id.key));
    assert_eq!(ends_by(&house, id.key), Some(deadline));
    house.wait(3600);
    assert_eq!(state::jobs_past_deadline(&house.state, house.now), [id.key]);
    house.apply(Command::DeadlineOver { key: id.key });
    assert_eq!(house.want("g1", id), Some(Want::Stop));
}
