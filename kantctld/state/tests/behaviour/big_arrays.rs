//! Arrays with very many tasks: commands to all of them are applied in small parts, and finished
//! ones are forgotten in small parts.

use crate::house::{House, USER, settings, share};
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::{Ask, Attribute, Outcome, Patch, Phase};
use common::time::{Span, Time};
use state::{Command, Event, Stamped, Target};

fn array(tasks: u32) -> Ask {
    Ask { array: Some(format!("0-{}", tasks - 1).parse().unwrap()), ..Ask::default() }
}

fn update(key: JobKey, patch: Patch) -> Command {
    Command::UpdateJob { actor: USER, target: Target { key }, patch: Box::new(patch) }
}

fn timeline(house: &House, key: JobKey) -> Vec<String> {
    let list = query::view::job_detail(
        &house.state,
        &query::viewer::Viewer::ALL,
        key,
        &Default::default(),
    )
    .unwrap();
    list.jobs[0].timeline.iter().map(|line| line.text.clone()).collect()
}

#[test]
fn an_update_of_an_array_is_one_event_and_stands_in_the_story_of_each_task_that_lived() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(array(1000)));
    let task = |index| JobKey { index: Some(ArrayIndex(index)), ..key };
    let cancel = house.cancel(task(0));
    house.apply(cancel);
    house.wait(1);
    let few = Patch::default().with(Attribute::ArrayLimit, 3_u32);
    let events = house.apply(update(key, few));
    assert!(matches!(&events[..], [Event::JobUpdated { key: updated, .. }] if *updated == key));
    assert_eq!(state::event::changed_jobs(&events), Ok(vec![key]));
    house.wait(1);
    house.apply(Command::HoldJob { actor: USER, target: Target { key: task(7) } });
    let lines = timeline(&house, task(7));
    assert!(lines[1].contains("--array-limit"), "{lines:?}");
    assert!(lines[2].contains("held"), "in their order: {lines:?}");
    assert_eq!(timeline(&house, task(8)).len(), 2);
    assert_eq!(timeline(&house, task(0)).len(), 2, "submitted, cancelled: it was over by then");
}

#[test]
fn an_update_of_an_array_reaches_the_nodes_of_its_tasks_and_the_eyes_of_the_scheduler() {
    let mut house = House::new();
    let limit = Some(Span::from_minutes(60));
    let key = JobKey::single(house.submit(Ask { time_limit: limit, ..array(10) }));
    let task = |index| JobKey { index: Some(ArrayIndex(index)), ..key };
    let mut keeper = state::snapshot::SnapshotKeeper::new(&house.state);
    for (index, node) in [(0, "g1"), (1, "g2"), (2, "g2")] {
        let first = index * 2;
        let allocation = vec![share(node, first, 2, &[])];
        let id = house.attempt_of(task(index));
        let events = house.enact(id, allocation);
        keeper.update(&house.state, &events);
    }
    let less = Patch::default().with(Attribute::Time, Span::from_minutes(5));
    let events = house.apply(update(key, less));
    assert_eq!(state::effect::touched_nodes(&events).len(), 2);
    keeper.update(&house.state, &events);
    let fresh = state::snapshot::SnapshotKeeper::new(&house.state);
    let waiting =
        |keeper: &state::snapshot::SnapshotKeeper| keeper.snapshot().waiting_job(task(5)).cloned();
    assert_eq!(waiting(&keeper), waiting(&fresh));
    assert_eq!(waiting(&keeper).unwrap().time_limit, Some(Span::from_minutes(5)));
}

#[test]
fn the_deadline_of_an_array_is_that_of_all_its_tasks_and_moves_with_them() {
    let mut house = House::new();
    let deadline = |minutes| Some(house_time(minutes));
    let key = JobKey::single(house.submit(Ask { deadline: deadline(10), ..array(100) }));
    assert_eq!(state::jobs_past_deadline(&house.state, house_time(9)), []);
    assert_eq!(state::jobs_past_deadline(&house.state, house_time(10)).len(), 100);
    let later = Patch::default().with(Attribute::Deadline, house_time(20));
    house.apply(update(key, later));
    assert_eq!(state::jobs_past_deadline(&house.state, house_time(19)), []);
    assert_eq!(state::jobs_past_deadline(&house.state, house_time(20)).len(), 100);
    let cancel = house.cancel(key);
    house.apply(cancel);
    assert_eq!(state::jobs_past_deadline(&house.state, house_time(20)), []);
}

/// The time this number of minutes after the house begins.
fn house_time(minutes: u64) -> Time {
    Time(1_000_000) + Span::from_minutes(minutes)
}

/// Applies a command without judging, for large numbers.
fn quietly(house: &mut House, command: Command) -> Vec<Event> {
    state::apply(&mut house.state, &Stamped { at: house.now, command })
}

fn forgotten(events: &[Event]) -> Vec<u32> {
    let of = |event: &Event| match event {
        Event::JobForgotten { job } => Some(job.0),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

#[test]
fn what_is_over_is_forgotten_in_bounded_parts_what_was_over_first_before_all_else() {
    let mut house = House::empty();
    let jobs: Vec<JobId> = (0..2500).map(|_| house.quietly_submit(Ask::default())).collect();
    let lives = house.quietly_submit(Ask::default());
    // The job that was submitted last ends first.
    for job in jobs.iter().rev() {
        let cancel = house.cancel(JobKey::single(*job));
        quietly(&mut house, cancel);
        house.now = house.now + Span(1);
    }
    assert!(!house.state.jobs_to_forget(house.now).1, "nothing is old");
    house.wait(2 * 60 * 60);
    let mut all = Vec::new();
    for (count, is_more) in [(1000, true), (1000, true), (500, false), (0, false)] {
        assert_eq!(house.state.jobs_to_forget(house.now).1, is_more);
        let events = quietly(&mut house, Command::ForgetDone);
        let keys = forgotten(&events);
        assert_eq!(keys.len(), count);
        all.extend(keys);
        assert_eq!(state::invariant::check(&house.state), Vec::<String>::new());
    }
    assert!(all.iter().copied().eq(jobs.iter().rev().map(|job| job.0)));
    assert!(house.state.job(lives).is_some());
    assert_eq!(house.state.requests().count(), 0, "no request is repeated after so long");
}

#[test]
fn a_job_that_waits_again_is_not_forgotten_before_its_time_has_passed_again() {
    let mut house = House::empty();
    let (large, small) = (house.submit(array(1500)), house.submit(Ask::default()));
    for job in [large, small] {
        let cancel = house.cancel(JobKey::single(job));
        quietly(&mut house, cancel);
    }
    house.wait(59 * 60);
    let again = JobKey { job: large, index: Some(ArrayIndex(7)) };
    let requeue = house.requeue(again);
    quietly(&mut house, requeue);
    house.wait(60);
    assert_eq!(forgotten(&quietly(&mut house, Command::ForgetDone)), [small.0]);
    let cancel = house.cancel(again);
    quietly(&mut house, cancel);
    house.wait(59 * 60);
    assert_eq!(forgotten(&quietly(&mut house, Command::ForgetDone)), [0_u32; 0]);
    house.wait(60);
    let events = quietly(&mut house, Command::ForgetDone);
    assert_eq!(forgotten(&events), [large.0], "whole, however many tasks it has");
}

#[test]
fn requests_of_a_user_who_submits_and_cancels_without_end_are_kept_up_to_a_number() {
    let mut house = House::empty();
    let mut settings = settings();
    settings.user_bounds.done_tasks = 1500;
    house.apply(Command::Configure(settings));
    let mut all = Vec::new();
    for _ in 0..3500 {
        let submission = house.submission(Ask::default());
        let events = quietly(&mut house, submission.clone());
        let Some(Event::JobSubmitted { job, .. }) = events.last() else { panic!("{events:?}") };
        let cancel = house.cancel(JobKey::single(*job));
        quietly(&mut house, cancel);
        house.now = house.now + Span(1);
        all.push((*job, submission));
    }
    let requests = |house: &House| house.state.requests().count();
    assert_eq!(requests(&house), 3000 + 1, "of kept jobs, and as many of forgotten ones");
    for ((job, submission), is_known) in [(&all[600], true), (&all[300], false)] {
        let events = quietly(&mut house, submission.clone());
        let Some(Event::JobSubmitted { job: answered, repeated, .. }) = events.last() else {
            panic!("{events:?}")
        };
        assert_eq!((*repeated, answered == job), (is_known, is_known));
    }
    // Old requests are forgotten in bounded parts, without a minute between them.
    house.wait(11 * 60);
    for is_more in [true, false] {
        assert_eq!(house.state.jobs_to_forget(house.now).1, is_more);
        quietly(&mut house, Command::ForgetDone);
    }
    assert!(requests(&house) <= 1501 + 1, "{}", requests(&house));
    assert_eq!(state::invariant::check(&house.state), Vec::<String>::new());
}

/// Submits a job and an array that is to be cancelled if the job fails, and cancels the job.
fn hopeless(house: &mut House, tasks: u32) -> (JobKey, JobId) {
    let first = JobKey::single(house.submit(Ask::default()));
    let array = house.submit(Ask {
        dependency: Some(format!("afterok:{first}").parse().unwrap()),
        kill_on_invalid_dependency: true,
        ..array(tasks)
    });
    let cancel = house.cancel(first);
    quietly(house, cancel);
    (first, array)
}

/// The number of waiting tasks.
fn waiting(house: &House, job: JobId) -> usize {
    let elements = house.state.job(job).unwrap().elements.values();
    elements.filter(|element| element.phase == Phase::Pending).count()
}

#[test]
fn tasks_that_cannot_start_any_more_end_in_bounded_parts() {
    let mut house = House::empty();
    let (_, array) = hopeless(&mut house, 2500);
    for left in [1500, 500, 0] {
        assert_eq!(waiting(&house, array), left);
        assert_eq!(house.state.has_hopeless(), left > 0);
        assert_eq!(state::invariant::check(&house.state), Vec::<String>::new());
        // A new leader knows only the snapshot.
        let bytes = state::persist::to_bytes(&house.state).unwrap();
        house.state = state::persist::from_bytes(&bytes).unwrap();
        let events = quietly(&mut house, Command::EndHopeless);
        assert!(events.len() <= state::ENDED_AT_ONCE, "{} events", events.len());
    }
    let last = JobKey { job: array, index: Some(ArrayIndex(2499)) };
    assert_eq!(house.outcome(last), Some(Outcome::Cancelled));
    assert!(timeline(&house, last).iter().any(|line| line.contains("kill-on-invalid-dep")));
}

#[test]
fn tasks_that_can_start_again_meanwhile_are_not_ended() {
    let mut house = House::empty();
    let (first, array) = hopeless(&mut house, 2500);
    assert_eq!(waiting(&house, array), 1500);
    let requeue = house.requeue(first);
    quietly(&mut house, requeue);
    quietly(&mut house, Command::EndHopeless);
    assert_eq!((waiting(&house, array), house.state.has_hopeless()), (1500, false));
}
