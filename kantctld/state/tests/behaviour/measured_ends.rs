//! The end of an attempt as its nodes measured it: a report that comes late changes neither its
//! times nor what is charged.

use crate::house::{House, OPERATOR, exited, running, share, tasks_of};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, Outcome, StepEnd};
use common::time::{Span, Time};
use common::wire::node::StepPhase;
use state::charging;
use state::{Command, Target};

/// A success after these seconds on the node, of which the program ran the second number.
fn succeeded_after(held: u64, ran: u64) -> StepPhase {
    let StepPhase::Ended(end) = exited(0) else { unreachable!("it has ended") };
    let (held, ran) = (Some(Span::from_seconds(held)), Some(Span::from_seconds(ran)));
    StepPhase::Ended(Box::new(StepEnd { held, ran, ..*end }))
}

fn started(house: &mut House, ask: Ask, nodes: &[&str]) -> (AttemptId, Time) {
    let key = JobKey::single(house.submit(ask));
    let shares = nodes.iter().map(|node| share(node, 0, 2, &[0])).collect();
    let id = house.start(key, shares);
    (id, house.now)
}

fn gpu_seconds(house: &House) -> u64 {
    let hours = house.state.usage().iter().flat_map(|(_, hours)| hours.values());
    hours.map(|used| used.gpu_milliseconds).sum::<u64>() / 1000
}

#[test]
fn an_outage_is_not_charged_and_is_in_no_time_of_the_job() {
    let mut house = House::new();
    let (id, begin) = started(&mut house, tasks_of(1), &["g1"]);
    house.wait(15);
    house.report("g1", id, running());
    house.report("g1", id, succeeded_after(3, 2));
    let element = house.element(id.key);
    let run = element.run.as_ref().unwrap();
    assert_eq!(element.outcome, Some(Outcome::Completed));
    assert_eq!(run.running_at, Some(begin + Span::from_seconds(1)));
    assert_eq!(element.ended_at(), Some(begin + Span::from_seconds(3)));
    assert_eq!(element.done_at, Some(begin + Span::from_seconds(15)));
    assert_eq!(gpu_seconds(&house), 3);
    assert!(charging::running_usage(&house.state, house.now).is_empty());
}

#[test]
fn the_span_counts_and_not_the_nodes_clock() {
    let mut house = House::new();
    let (id, begin) = started(&mut house, tasks_of(1), &["g1"]);
    house.wait(15);
    let StepPhase::Ended(end) = succeeded_after(3, 2) else { unreachable!("it has ended") };
    let year = Span::from_seconds(365 * 86_400);
    let (started_at, ended_at) = (Some(begin + year), begin + year);
    house.report("g1", id, StepPhase::Ended(Box::new(StepEnd { started_at, ended_at, ..*end })));
    let element = house.element(id.key);
    assert_eq!(element.run.as_ref().unwrap().running_at, Some(begin + Span::from_seconds(1)));
    assert_eq!(element.ended_at(), Some(begin + Span::from_seconds(3)));
}

#[test]
fn no_span_ends_a_job_after_now_or_before_its_allocation() {
    for (held, ran) in [(u64::MAX / 1000, u64::MAX / 1000), (0, 50)] {
        let mut house = House::new();
        let (id, begin) = started(&mut house, tasks_of(1), &["g1"]);
        house.wait(4);
        house.report("g1", id, running());
        house.wait(4);
        house.report("g1", id, succeeded_after(held, ran));
        let element = house.element(id.key);
        let ended = begin + if held == 0 { Span(0) } else { Span::from_seconds(8) };
        assert_eq!(element.ended_at(), Some(ended));
        assert_eq!(element.run.as_ref().unwrap().running_at, Some(begin));
    }
}

#[test]
fn a_gang_ends_when_the_last_of_its_nodes_did_and_each_is_charged_for_itself() {
    let mut house = House::new();
    let (id, begin) = started(&mut house, tasks_of(2), &["g1", "g2"]);
    house.wait(1);
    house.report("g1", id, running());
    house.report("g2", id, running());
    house.wait(9);
    house.report("g2", id, succeeded_after(5, 4));
    house.wait(10);
    house.report("g1", id, succeeded_after(4, 3));
    assert_eq!(house.element(id.key).ended_at(), Some(begin + Span::from_seconds(5)));
    assert_eq!(gpu_seconds(&house), 9);
}

#[test]
fn a_suspension_that_no_node_received_takes_nothing_from_its_time() {
    let mut house = House::new();
    let (id, begin) = started(&mut house, tasks_of(1), &["g1"]);
    house.report("g1", id, running());
    house.wait(10);
    let (actor, target) = (OPERATOR, Target { key: id.key });
    house.apply(Command::SuspendJob { actor: actor.clone(), target });
    house.wait(60);
    house.apply(Command::ResumeJob { actor, target });
    house.report("g1", id, succeeded_after(4, 4));
    let run = house.element(id.key).run.clone().unwrap();
    assert_eq!(house.element(id.key).ended_at(), Some(begin + Span::from_seconds(4)));
    assert!(run.suspended <= Span::from_seconds(4), "{:?}", run.suspended);
}

#[test]
fn a_job_that_ended_long_ago_is_kept_from_when_its_end_was_recorded() {
    let mut house = House::new();
    let (id, _) = started(&mut house, tasks_of(1), &["g1"]);
    house.wait(86_400);
    house.report("g1", id, succeeded_after(3, 2));
    house.apply(Command::ForgetDone);
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed), "no user has seen it yet");
    house.wait(3601);
    house.apply(Command::ForgetDone);
    assert!(house.state.element(id.key).is_none());
}

#[test]
fn a_node_that_cannot_measure_ends_its_share_with_its_report() {
    let mut house = House::new();
    let (id, begin) = started(&mut house, tasks_of(1), &["g1"]);
    house.wait(15);
    house.report("g1", id, exited(0));
    assert_eq!(house.element(id.key).ended_at(), Some(begin + Span::from_seconds(15)));
    assert_eq!(gpu_seconds(&house), 15);
}
