//! Limits of dependencies: cycles through names, many terms on many tasks, and the dependents that
//! are updated when one of many tasks changes. The rules themselves are tested in `dependencies`.

use crate::house::{House, USER, exited, running, share};
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::{Ask, Attribute, Dependency, Patch};
use state::{Command, Event, Target, Verdict, verdict};

fn waits_for(text: &str) -> Ask {
    Ask { dependency: Some(text.parse().unwrap()), ..Ask::default() }
}

fn task(job: JobId, index: u32) -> JobKey {
    JobKey { job, index: Some(ArrayIndex(index)) }
}

fn of(house: &House, key: JobKey) -> Verdict {
    let (record, _) = house.state.element(key).unwrap();
    verdict(&house.state, record, key.index)
}

fn is_free(house: &House, key: JobKey) -> bool {
    matches!(of(house, key), Verdict::Free(_))
}

/// Starts a job on g1 and returns the events.
fn start(house: &mut House, key: JobKey) -> Vec<Event> {
    let id = house.attempt_of(key);
    let events = house.enact(id, vec![share("g1", 0, 2, &[])]);
    assert!(matches!(events.first(), Some(Event::JobStarted { .. })), "{events:?}");
    house.report("g1", id, running());
    events
}

#[test]
fn no_job_waits_for_a_job_that_waits_for_its_name() {
    let mut house = House::new();
    let named = |name: &str, ask: Ask| Ask { name: name.to_owned(), ..ask };
    let first = JobKey::single(house.submit(named("x", Ask::default())));
    let other = JobKey::single(house.submit(named("y", Ask::default())));
    let alone = JobKey::single(house.submit(named("x", waits_for("singleton"))));
    let later = JobKey::single(house.submit(named("z", waits_for(&format!("afterok:{alone}")))));
    for on in [alone, later] {
        let refusal = house.refused(awaiting(first, &format!("afterok:{on}"))).to_string();
        assert!(refusal.contains("would wait for itself"), "{refusal}");
    }
    house.apply(awaiting(other, &format!("afterok:{alone}")));
    let refusal = house.refused(awaiting(first, &format!("after:{other}"))).to_string();
    assert!(refusal.contains("would wait for itself"), "{refusal}");
    let newest = JobKey::single(house.submit(named("x", Ask::default())));
    house.apply(awaiting(newest, &format!("afterok:{alone}")));
    assert_eq!(of(&house, newest), Verdict::Waits, "no job of its name waits for it");
}

fn awaiting(key: JobKey, text: &str) -> Command {
    let dependency: Dependency = text.parse().unwrap();
    let patch = Box::new(Patch::default().with(Attribute::Dependency, dependency));
    Command::UpdateJob { actor: USER, target: Target { key }, patch }
}

#[test]
fn a_large_array_waits_for_few_jobs_and_says_so() {
    let mut house = House::new();
    let first = house.job();
    let many = |terms: usize| format!("afterany{}", format!(":{first}").repeat(terms));
    let array = |tasks: u32, terms: usize| Ask {
        array: format!("1-{tasks}").parse().ok(),
        ..waits_for(&many(terms))
    };
    let command = house.submission(array(2_000, 501));
    let refusal = house.refused(command).to_string();
    assert!(refusal.contains("at most 500 are allowed"), "{refusal}");
    house.quietly_submit(array(2_000, 500));
    house.quietly_submit(waits_for(&many(4_096)));
}

#[test]
fn of_a_whole_array_its_first_start_and_its_last_end_and_each_requeue_count() {
    let mut house = House::new();
    let array = house.submit(Ask { array: "0-2".parse().ok(), ..Ask::default() });
    let after = JobKey::single(house.submit(waits_for(&format!("after:{array}"))));
    let not = JobKey::single(house.submit(waits_for(&format!("afternotok:{array}"))));
    let moved = |events: &[Event]| -> Vec<JobKey> {
        let moved = events.iter().filter_map(|event| match event {
            Event::DependencyMoved { key } => Some(*key),
            _ => None,
        });
        moved.collect()
    };
    let id = house.attempt_of(task(array, 0));
    start(&mut house, task(array, 0));
    house.report("g1", id, exited(0));
    let cancel = house.cancel(task(array, 1));
    assert_eq!(moved(&house.apply(cancel)), []);
    let id = house.attempt_of(task(array, 2));
    let events = start(&mut house, task(array, 2));
    assert_eq!((moved(&events), is_free(&house, after)), (vec![after], true));
    let again = house.requeue(task(array, 0));
    assert_eq!(moved(&house.apply(again)), []);
    assert_eq!(moved(&house.report("g1", id, exited(0))), []);
    let cancel = house.cancel(task(array, 0));
    assert_eq!(moved(&house.apply(cancel)), [not]);
    assert!(is_free(&house, not), "one of them did not do its work");
}
