//! A success that is reported when its node was given up already.

use crate::house::{House, end, exited, running, share, tasks_of};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, EndCause, Launch, Outcome, Phase};
use common::wire::node::{StepPhase, StepStatus};
use state::Event;

/// A job on these nodes, of which the first was given up while it ran.
fn lost(ask: Ask, nodes: &[&str]) -> (House, AttemptId) {
    let mut house = House::new();
    let key = JobKey::single(house.submit(ask));
    let shares = nodes.iter().map(|node| share(node, 0, 2, &[])).collect();
    let id = house.start(key, shares);
    nodes.iter().for_each(|node| drop(house.report(node, id, running())));
    house.silence(nodes[0]);
    house.lose(nodes[0]);
    for node in &nodes[1..] {
        house.report(node, id, exited(0));
    }
    assert_eq!(house.phase(key), Phase::Pending);
    (house, id)
}

fn comes_back(house: &mut House, id: AttemptId, phase: StepPhase) -> Vec<Event> {
    house.register("g1", &[StepStatus { id, phase }])
}

#[test]
fn a_late_success_settles_a_job_that_waits() {
    let (mut house, id) = lost(tasks_of(1), &["g1"]);
    let events = comes_back(&mut house, id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
    let done =
        |event: &Event| matches!(event, Event::JobDone { attempt, .. } if *attempt == id.attempt);
    assert!(events.iter().any(done), "{events:?}");
    let element = house.element(id.key);
    assert_eq!((element.past().count(), element.faults.is_some()), (0, false));
    assert!(element.run.as_ref().unwrap().end.as_ref().unwrap().exit.unwrap().is_success());
}

#[test]
fn the_script_of_a_gang_decides_alone() {
    let (mut house, id) = lost(tasks_of(2), &["g1", "g2"]);
    comes_back(&mut house, id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
}

#[test]
fn one_node_of_a_gang_without_a_script_does_not_decide() {
    let ask = Ask { launch: Launch::PerNode, ..tasks_of(2) };
    let (mut house, id) = lost(ask, &["g1", "g2"]);
    comes_back(&mut house, id, exited(0));
    assert_eq!(house.phase(id.key), Phase::Pending);
}

#[test]
fn a_late_failure_or_an_end_by_the_fence_changes_nothing() {
    for phase in [exited(1), end(EndCause::Lost, 0)] {
        let (mut house, id) = lost(tasks_of(1), &["g1"]);
        comes_back(&mut house, id, phase);
        assert_eq!(house.phase(id.key), Phase::Pending);
    }
}

#[test]
fn a_late_success_does_not_touch_the_next_attempt() {
    let (mut house, id) = lost(tasks_of(1), &["g1"]);
    house.wait(60);
    let next = house.start(id.key, vec![share("g2", 0, 2, &[])]);
    comes_back(&mut house, id, exited(0));
    assert_eq!((house.phase(id.key), next.attempt.0), (Phase::Starting, 2));
}

#[test]
fn a_job_that_was_requeued_by_its_user_runs_again() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    let requeue = house.requeue(key);
    house.apply(requeue);
    house.silence("g1");
    house.lose("g1");
    comes_back(&mut house, id, exited(0));
    assert_eq!(house.phase(key), Phase::Pending);
}

#[test]
fn a_script_that_succeeded_before_another_node_was_fenced_completes_its_job() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(tasks_of(2)));
    let id = house.start(key, vec![share("g1", 0, 2, &[]), share("g2", 0, 2, &[])]);
    ["g1", "g2"].iter().for_each(|node| drop(house.report(node, id, running())));
    house.report("g2", id, end(EndCause::Lost, 0));
    assert_eq!(house.phase(key), Phase::Completing);
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(key), Some(Outcome::Completed));
}
