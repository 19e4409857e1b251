//! Suspension of a job: its processes and its time limit stop, also across a restart of kantd; and
//! it can be ended like any other job.

use crate::harness::{self, StepHarness, slowness, until};
use common::id::AttemptId;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{LaunchOrder, StepPhase};
use kantd::cgroup::Kind;
use std::time::Duration;

/// Appends dots to `dots`, from a child of the script.
const DOTS: &str = "while :; do printf . >>dots; sleep 0.02; done & echo $! >pid; wait";

const fn is_suspended(phase: &StepPhase) -> bool {
    matches!(phase, StepPhase::Running { suspended: true, .. })
}

const fn is_running(phase: &StepPhase) -> bool {
    matches!(phase, StepPhase::Running { suspended: false, .. })
}

/// Long enough for a job to start and to be suspended.
fn limit() -> Span {
    Span::from_seconds(3 * slowness())
}

fn limited(harness: &StepHarness, script: &str) -> LaunchOrder {
    let mut order = harness.order(script);
    order.time_limit = Some(limit());
    order.kill_grace = Span(200);
    order
}

fn dots(harness: &StepHarness) -> usize {
    harness.written("dots").len()
}

/// Checks for long enough that many dots would be written.
async fn assert_no_dot_comes(harness: &StepHarness) {
    let before = dots(harness);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(dots(harness), before, "it runs");
}

async fn suspended(harness: &mut StepHarness, order: LaunchOrder) -> AttemptId {
    let id = harness.start(order).await;
    harness.pid("pid").await;
    let is_written = || harness.work_dir().join("dots").exists();
    until("a dot", is_written).await;
    harness.steps().suspend(id);
    harness.until(id, is_suspended).await;
    id
}

async fn suspend_and_resume(harness: Option<StepHarness>) {
    let Some(mut harness) = harness else { return };
    let order = limited(&harness, DOTS);
    let id = suspended(&mut harness, order).await;
    assert_no_dot_comes(&harness).await;
    harness.restart().await;
    harness.until(id, is_suspended).await;
    // Longer than its time limit.
    tokio::time::sleep(Duration::from_millis(limit().0)).await;
    assert_no_dot_comes(&harness).await;
    let before = dots(&harness);
    harness.steps().resume(id);
    harness.until(id, is_running).await;
    until("more dots", || dots(&harness) > before).await;
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    let ran = end.ended_at.since(end.started_at.expect("it ran"));
    let alone = limit() + limit() + Span::from_seconds(1);
    assert!(ran >= alone, "its time counted while it was suspended: {ran}");
    harness.assert_no_group(id);
}

#[tokio::test]
async fn suspension_stops_a_job_and_its_time_limit_across_a_restart_of_kantd() {
    suspend_and_resume(StepHarness::new().await).await;
}

#[tokio::test]
async fn suspension_works_without_cgroups() {
    suspend_and_resume(StepHarness::with_cgroup_kind(Some(Kind::None)).await).await;
}

#[tokio::test]
async fn a_suspended_job_can_be_stopped_with_its_grace_period() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let mut order = limited(&harness, &format!("trap 'echo term >got; exit 9' TERM; {DOTS}"));
    order.kill_grace = Span::from_seconds(20);
    let id = suspended(&mut harness, order).await;
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Stopped, 9), "{end:?}");
    assert_eq!(harness.written("got"), "term\n");
    harness.assert_no_group(id);
}

#[tokio::test]
async fn a_suspended_job_whose_supervisor_dies_is_lost_completely() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = limited(&harness, DOTS);
    let id = suspended(&mut harness, order).await;
    let pid = harness.pid("pid").await;
    harness.kill_supervisor(id).await;
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::Lost, "{end:?}");
    assert!(!harness::is_alive(pid), "{pid} is alive");
    harness.assert_no_group(id);
}

#[tokio::test]
async fn a_warned_job_is_not_warned_again_for_a_shorter_limit_while_suspended() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let mut order = harness.order(DOTS);
    order.time_limit = Some(Span::from_seconds(1000));
    // A warning longer than the limit is due at once; the signal is ignored by default.
    order.warning = Some("B:WINCH@2000".parse().expect("a warning"));
    let log = harness.step_dir(order.id).join("log");
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    let id = harness.start(order).await;
    until("it was warned", || read().contains("warned the script")).await;
    until("a dot", || harness.work_dir().join("dots").exists()).await;
    harness.steps().suspend(id);
    harness.until(id, is_suspended).await;
    harness.steps().limit(id, Span::from_seconds(900));
    until("its limit is changed", || read().contains("its time limit is")).await;
    let before = dots(&harness);
    harness.steps().resume(id);
    harness.until(id, is_running).await;
    until("more dots", || dots(&harness) > before + 10).await;
    harness.steps().stop(id);
    harness.end(id).await;
    assert_eq!(read().matches("warned the script").count(), 1, "{}", read());
}

#[tokio::test]
async fn a_deadline_is_not_extended_by_suspension() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let mut order = limited(&harness, DOTS);
    order.until_deadline = order.time_limit;
    order.warning = Some("B:USR1@1".parse().expect("a warning"));
    order.script = order.script.replace("wait", "trap 'echo got >got' USR1; wait; wait");
    let id = suspended(&mut harness, order).await;
    let still = Span(limit().0 / 2);
    tokio::time::sleep(Duration::from_millis(still.0)).await;
    harness.steps().resume(id);
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    let ran = end.ended_at.since(end.started_at.expect("it ran"));
    assert!(ran < limit() + still, "its deadline was extended by the suspension: {ran}");
    assert_eq!(harness.written("got"), "got\n");
}
