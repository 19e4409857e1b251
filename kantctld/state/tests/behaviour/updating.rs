//! What a waiting job asks for is changed: by whom, when, and by the rules of a submission.

use crate::house::{House, OPERATOR, OTHER, USER, share};
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::{Ask, Patch, Replaced};
use common::reason::Refusal;
use common::time::{Span, Time};
use state::{Actor, Command, Event, Target};

fn update(actor: Actor, key: JobKey, patch: Patch) -> Command {
    Command::UpdateJob { actor, target: Target { key }, patch: Box::new(patch) }
}

fn minutes(minutes: u64) -> Patch {
    Patch { time_limit: Some(Span::from_minutes(minutes)), ..Patch::default() }
}

fn at_once(tasks: u32) -> Patch {
    Patch { array_limit: Some(Replaced::With(tasks)), ..Patch::default() }
}

fn ask(house: &House, key: JobKey) -> &Ask {
    &house.state.job(key.job).unwrap().spec.ask
}

#[test]
fn its_owner_and_operators_change_a_job_that_waits() {
    let mut house = House::new();
    let key = house.job();
    let events = house.apply(update(USER, key, minutes(5)));
    assert_eq!(events, [Event::JobUpdated { key, by: USER.uid, patch: Box::new(minutes(5)) }]);
    assert_eq!(ask(&house, key).time_limit, Some(Span::from_minutes(5)));
    house.apply(update(OPERATOR, key, minutes(6)));
    assert_eq!(ask(&house, key).time_limit, Some(Span::from_minutes(6)));
    let refusal = house.refused(update(OTHER, key, minutes(7)));
    assert!(matches!(refusal, Refusal::NotYours { .. }), "{refusal:?}");
    let gone = JobKey::single(JobId(99));
    assert_eq!(house.refused(update(USER, gone, minutes(7))), Refusal::UnknownJob { key: gone });
    house.start(key, vec![share("g1", 0, 2, &[])]);
    let refusal = house.refused(update(USER, key, minutes(7))).to_string();
    assert!(refusal.contains("cannot update job 1: it is"), "{refusal}");
}

#[test]
fn a_change_is_held_to_the_rules_of_a_submission() {
    let mut house = House::new();
    let key = house.job();
    let to = |queue: &str| Patch { queue: queue.parse().ok(), ..Patch::default() };
    let refusal = house.refused(update(USER, key, to("nowhere")));
    assert!(matches!(refusal, Refusal::UnknownQueue { .. }), "{refusal:?}");
    let long = Patch { queue: "short".parse().ok(), ..minutes(61) };
    let refusal = house.refused(update(USER, key, long));
    assert!(matches!(refusal, Refusal::TimeLimitTooLong { .. }), "{refusal:?}");
    house.apply(update(USER, key, Patch { queue: "short".parse().ok(), ..minutes(60) }));
    assert_eq!(ask(&house, key).queue.as_ref().unwrap().as_str(), "short");
    let past = Patch { deadline: Some(Replaced::With(Time(1))), ..Patch::default() };
    let refusal = house.refused(update(USER, key, past));
    assert!(matches!(refusal, Refusal::DeadlinePassed { .. }), "{refusal:?}");
    let refusal = house.refused(update(USER, key, at_once(2))).to_string();
    assert!(refusal.contains("is no array"), "{refusal}");
}

#[test]
fn a_new_deadline_ends_it_and_the_old_one_does_not() {
    let mut house = House::new();
    let old = house.now + Span::from_minutes(20);
    let (deadline, limit) = (Some(old), Some(Span::from_minutes(10)));
    let job = house.submit(Ask { deadline, time_limit: limit, ..Ask::default() });
    let key = JobKey::single(job);
    let new = house.now + Span::from_minutes(40);
    let later = Patch { deadline: Some(Replaced::With(new)), ..Patch::default() };
    house.apply(update(USER, key, later));
    assert_eq!(state::missed(&house.state, old), []);
    assert_eq!(state::missed(&house.state, new), [key]);
}

#[test]
fn the_tasks_of_an_array_are_changed_together_and_before_the_first_starts() {
    let mut house = House::new();
    let job = house.submit(Ask { array: "0-2%1".parse().ok(), ..Ask::default() });
    let (all, task) = (JobKey::single(job), |i| JobKey { job, index: Some(ArrayIndex(i)) });
    let refusal = house.refused(update(USER, task(1), minutes(5))).to_string();
    assert!(refusal.contains("cannot change one task"), "{refusal}");
    assert_eq!(house.apply(update(USER, all, minutes(5))).len(), 3);
    house.start(task(0), vec![share("g1", 0, 2, &[])]);
    let refusal = house.refused(update(USER, all, minutes(6))).to_string();
    assert!(refusal.contains("some have started"), "{refusal}");
    house.apply(update(USER, all, at_once(2)));
    assert_eq!(ask(&house, all).array.as_ref().unwrap().limit(), Some(2));
}
