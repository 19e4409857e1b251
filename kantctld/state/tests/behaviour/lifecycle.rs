//! The life of a job from start to end: reports in any order, gangs, and the outcomes of ends.

use crate::house::{House, attempt, end, exited, running, share};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, EndCause, Launch, Outcome, Phase};
use common::unit::{Nodes, Tasks};
use common::wire::node::{StepPhase, Want};
use state::Event;

/// A job on two nodes that was started.
fn gang(house: &mut House, launch: Launch) -> AttemptId {
    let mut ask = Ask { launch, ..Ask::default() };
    ask.request.nodes = Some(Nodes(2));
    ask.request.tasks = Tasks(2);
    let key = JobKey::single(house.submit(ask));
    house.start(key, vec![share("g1", 0, 2, &[]), share("g2", 0, 2, &[])])
}

/// A gang that runs on both nodes.
fn running_gang(house: &mut House, launch: Launch) -> AttemptId {
    let id = gang(house, launch);
    for phase in [StepPhase::Ready, running()] {
        house.report("g1", id, phase.clone());
        house.report("g2", id, phase);
    }
    assert_eq!(house.phase(id.key), Phase::Running);
    id
}

fn held_on(house: &House, node: &str) -> u32 {
    let held = house.state.ledger().holdings_on(&crate::house::name(node));
    held.map_or(0, |held| held.cpus().len())
}

#[test]
fn a_job_of_one_node_goes_from_pending_to_completed() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[1])]);
    assert_eq!((house.phase(key), house.want("g1", id)), (Phase::Starting, Some(Want::Run)));
    house.report("g1", id, StepPhase::Preparing);
    assert_eq!(house.phase(key), Phase::Starting);
    let events = house.report("g1", id, running());
    assert!(events.contains(&Event::JobRunning { id }));
    assert_eq!(held_on(&house, "g1"), 2);
    house.report("g1", id, exited(0));
    assert_eq!((house.phase(key), house.outcome(key)), (Phase::Done, Some(Outcome::Completed)));
    assert_eq!((held_on(&house, "g1"), house.want("g1", id)), (0, None));
}

#[test]
fn repeated_late_and_unknown_reports_change_nothing() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    for phase in [running(), StepPhase::Ready, StepPhase::Preparing] {
        assert_eq!(house.report("g1", id, phase), []);
    }
    assert_eq!(house.report("g2", id, exited(1)), [], "not its share");
    assert_eq!(house.report("g1", attempt(key, 2), exited(1)), [], "an attempt to come");
    let unknown = JobKey::single(common::id::JobId(77));
    assert_eq!(house.report("g1", attempt(unknown, 1), running()), []);
    house.report("g1", id, exited(0));
    assert_eq!(house.report("g1", id, exited(1)), [], "it ended otherwise");
    assert_eq!(house.outcome(key), Some(Outcome::Completed));
}

#[test]
fn a_job_shorter_than_a_report_still_has_a_start_time() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.wait(5);
    house.report("g1", id, exited(3));
    assert_eq!(house.outcome(key), Some(Outcome::Failed));
    let run = house.element(key).run.as_ref().unwrap();
    assert_eq!(run.running_at, Some(run.allocated_at), "the node's clock is kept in bounds");
}

#[test]
fn each_cause_has_its_outcome() {
    for (cause, outcome) in [
        (EndCause::TimedOut, Outcome::TimedOut),
        (EndCause::OutOfMemory, Outcome::OutOfMemory),
        (EndCause::LaunchFailed, Outcome::LaunchFailed),
        (EndCause::Lost, Outcome::NodeLost),
        (EndCause::Stopped, Outcome::NodeLost),
    ] {
        let mut house = House::new();
        let key = JobKey::single(house.submit(Ask { requeue: false, ..Ask::default() }));
        let id = house.start(key, vec![share("g1", 0, 2, &[])]);
        house.report("g1", id, end(cause, 0));
        assert_eq!(house.outcome(key), Some(outcome), "{cause:?}");
    }
}

#[test]
fn a_gang_runs_only_when_every_node_is_ready() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::PerNode);
    assert_eq!(house.want("g1", id), Some(Want::Prepare));
    house.report("g1", id, StepPhase::Ready);
    assert_eq!(house.want("g1", id), Some(Want::Prepare));
    let events = house.report("g2", id, StepPhase::Ready);
    assert!(events.iter().any(|event| matches!(event, Event::JobReady { .. })));
    assert_eq!(state::effect::touched_nodes(&events).len(), 2, "both are notified");
    assert_eq!((house.want("g1", id), house.want("g2", id)), (Some(Want::Run), Some(Want::Run)));
    house.report("g1", id, running());
    assert_eq!(house.phase(id.key), Phase::Starting);
    house.report("g2", id, running());
    assert_eq!(house.phase(id.key), Phase::Running);
}

#[test]
fn under_once_the_first_nodes_script_decides_and_the_others_are_stopped() {
    let mut house = House::new();
    let id = running_gang(&mut house, Launch::Once);
    house.report("g1", id, exited(0));
    assert_eq!(house.phase(id.key), Phase::Completing);
    assert_eq!((held_on(&house, "g1"), held_on(&house, "g2")), (0, 2), "freed one by one");
    assert_eq!((house.want("g1", id), house.want("g2", id)), (None, Some(Want::Stop)));
    house.report("g2", id, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
}

#[test]
fn under_once_a_helper_that_fails_to_launch_ends_the_job() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::Once);
    house.report("g2", id, end(EndCause::LaunchFailed, 0));
    assert_eq!((house.phase(id.key), house.want("g1", id)), (Phase::Completing, Some(Want::Stop)));
    house.report("g1", id, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(id.key), Some(Outcome::LaunchFailed));
}

#[test]
fn with_a_process_on_each_node_all_must_succeed() {
    let mut house = House::new();
    let id = running_gang(&mut house, Launch::PerNode);
    house.report("g2", id, exited(0));
    assert_eq!((house.phase(id.key), held_on(&house, "g2")), (Phase::Running, 0));
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
    let usage = house.element(id.key).run.as_ref().unwrap().usage;
    assert_eq!((usage.cpu.0, usage.memory_peak.0), (10, 7), "time adds up, the peak is a node's");
}

#[test]
fn with_a_process_on_each_node_the_first_failure_ends_all() {
    let mut house = House::new();
    let id = running_gang(&mut house, Launch::PerTask);
    house.report("g2", id, exited(7));
    assert_eq!((house.phase(id.key), house.want("g1", id)), (Phase::Completing, Some(Want::Stop)));
    house.report("g1", id, end(EndCause::Stopped, 1));
    assert_eq!(house.outcome(id.key), Some(Outcome::Failed));
    let end = house.element(id.key).run.as_ref().unwrap().end.clone().unwrap();
    assert_eq!(end.exit.map(|exit| exit.code), Some(7), "the share that decided");
}

#[test]
fn time_never_goes_back_whatever_the_stamp() {
    let mut house = House::new();
    let before = house.now;
    house.now = common::time::Time(5);
    house.job();
    assert_eq!(house.state.now(), before);
}

#[test]
fn a_nodes_message_is_kept_and_cut_short() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    let StepPhase::Ended(mut end) = end(EndCause::LaunchFailed, 0) else { unreachable!() };
    end.message = Some("ä".repeat(100_000));
    house.report("g1", id, StepPhase::Ended(end));
    let kept = house.element(key).run.as_ref().unwrap().end.clone().unwrap().message.unwrap();
    assert_eq!(kept.chars().count(), 1000);
}
