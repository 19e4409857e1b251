//! A suspended job stands still, its time limit too, whatever becomes of kantd meanwhile; and it
//! can be ended like any other.

mod stand;

use common::id::AttemptId;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{LaunchOrder, StepPhase};
use kantd::cgroup::Kind;
use stand::{Stand, slowness, until};
use std::time::Duration;

/// Adds a dot to `dots` over and over, from a child of the script's.
const DOTS: &str = "while :; do printf . >>dots; sleep 0.02; done & echo $! >pid; wait";

const fn is_still(phase: &StepPhase) -> bool {
    matches!(phase, StepPhase::Running { suspended: true, .. })
}

const fn goes_on(phase: &StepPhase) -> bool {
    matches!(phase, StepPhase::Running { suspended: false, .. })
}

/// Long enough for a job to be up, and to be suspended.
fn limit() -> Span {
    Span::from_seconds(3 * slowness())
}

fn limited(stand: &Stand, script: &str) -> LaunchOrder {
    let mut order = stand.order(script);
    order.time_limit = Some(limit());
    order.kill_grace = Span(200);
    order
}

fn dots(stand: &Stand) -> usize {
    stand.written("dots").len()
}

/// Looks for as long as the job would need for many dots.
async fn assert_no_dot_comes(stand: &Stand) {
    let before = dots(stand);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(dots(stand), before, "it went on");
}

async fn suspended(stand: &mut Stand, order: LaunchOrder) -> AttemptId {
    let id = stand.start(order).await;
    stand.pid("pid").await;
    let is_written = || stand.work_dir().join("dots").exists();
    until("a dot", is_written).await;
    stand.steps().suspend(id);
    stand.until(id, is_still).await;
    id
}

async fn stands_still_and_goes_on(mut stand: Stand) {
    let order = limited(&stand, DOTS);
    let id = suspended(&mut stand, order).await;
    assert_no_dot_comes(&stand).await;
    stand.close();
    stand.open().await;
    stand.until(id, is_still).await;
    // Longer than its limit alone.
    tokio::time::sleep(Duration::from_millis(limit().0)).await;
    assert_no_dot_comes(&stand).await;
    let before = dots(&stand);
    stand.steps().resume(id);
    stand.until(id, goes_on).await;
    until("more dots", || dots(&stand) > before).await;
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    let ran = end.ended_at.since(end.started_at.expect("it ran"));
    let alone = limit() + limit() + Span::from_seconds(1);
    assert!(ran >= alone, "its time went on while it stood still: {ran}");
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_suspended_job_stands_still_with_its_time_limit_also_over_a_restart_of_kantd() {
    needs_root!();
    stands_still_and_goes_on(Stand::new().await).await;
}

#[tokio::test]
async fn so_it_does_without_cgroups() {
    needs_root!();
    stands_still_and_goes_on(Stand::of_kind(Some(Kind::None)).await).await;
}

#[tokio::test]
async fn a_suspended_job_that_is_stopped_may_end_as_any_other() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = limited(&stand, &format!("trap 'echo term >told; exit 9' TERM; {DOTS}"));
    order.kill_grace = Span::from_seconds(20);
    let id = suspended(&mut stand, order).await;
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Stopped, 9), "{end:?}");
    assert_eq!(stand.written("told"), "term\n");
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_suspended_job_whose_supervisor_dies_is_lost_to_the_last_process() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = limited(&stand, DOTS);
    let id = suspended(&mut stand, order).await;
    let pid = stand.pid("pid").await;
    stand.kill_supervisor(id).await;
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::Lost, "{end:?}");
    assert!(!stand::is_alive(pid), "{pid} is alive");
    stand.assert_no_group(id);
}

#[tokio::test]
async fn one_that_was_warned_is_not_warned_again_for_a_shorter_limit_while_it_stands_still() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order(DOTS);
    order.time_limit = Some(Span::from_seconds(1000));
    // Longer than its limit: at once, by a signal that ends nobody who does not know of it.
    order.warning = Some("B:WINCH@2000".parse().expect("a warning"));
    let log = stand.step_dir(order.id).join("log");
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    let id = stand.start(order).await;
    until("it was warned", || read().contains("warned the script")).await;
    until("a dot", || stand.work_dir().join("dots").exists()).await;
    stand.steps().suspend(id);
    stand.until(id, is_still).await;
    stand.steps().limit(id, Span::from_seconds(900));
    until("its limit is another", || read().contains("its time limit is")).await;
    let before = dots(&stand);
    stand.steps().resume(id);
    stand.until(id, goes_on).await;
    until("more dots", || dots(&stand) > before + 10).await;
    stand.steps().stop(id);
    stand.end(id).await;
    assert_eq!(read().matches("warned the script").count(), 1, "{}", read());
}

#[tokio::test]
async fn a_deadline_waits_for_nobody() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = limited(&stand, DOTS);
    order.until_deadline = order.time_limit;
    order.warning = Some("B:USR1@1".parse().expect("a warning"));
    order.script = order.script.replace("wait", "trap 'echo told >told' USR1; wait; wait");
    let id = suspended(&mut stand, order).await;
    let still = Span(limit().0 / 2);
    tokio::time::sleep(Duration::from_millis(still.0)).await;
    stand.steps().resume(id);
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    let ran = end.ended_at.since(end.started_at.expect("it ran"));
    assert!(ran < limit() + still, "its deadline came later because it stood still: {ran}");
    assert_eq!(stand.written("told"), "told\n");
}
