//! The warning before the time limit: sent once, on time, to the right processes, also across a
//! restart of kantd.

use crate::harness::{StepHarness, assert_exited, slowness, until, with_share};
use common::job::{EndCause, Launch};
use common::time::Span;
use common::unit::Tasks;

/// A program that counts its SIGUSR1 in a file, and runs on.
const COUNTS: &str = "python3 -c '
import os, signal, sys
def count(*_): os.write(out, b\"warned\\n\")
out = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
signal.signal(signal.SIGUSR1, count)
open(sys.argv[1] + \".up\", \"w\").write(\"up\\n\")
while True: signal.pause()
'";

/// Long enough for a program to start before its warning on a slow machine.
fn limit() -> Span {
    Span::from_seconds(10 * slowness())
}

fn lasting(harness: &StepHarness, script: &str, warning: &str) -> common::wire::node::LaunchOrder {
    let mut order = harness.order(script);
    order.time_limit = Some(limit());
    order.warning = Some(warning.parse().expect("a warning"));
    order.kill_grace = Span(100);
    order
}

#[tokio::test]
async fn programs_are_warned_once_and_a_shell_without_a_handler_is_spared() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = lasting(&harness, &format!("{COUNTS} a\necho over"), "USR1@1");
    let id = order.id;
    let id = {
        harness.start(order).await;
        id
    };
    assert_eq!(harness.line("a.up").await, "up");
    assert_eq!(harness.written("a"), "", "warned before its time");
    // The supervisor remembers the warning across a restart of kantd.
    assert_eq!(harness.line("a").await, "warned");
    harness.restart().await;
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!(harness.written("a"), "warned\n");
    let ran = end.ended_at.since(end.started_at.expect("it ran"));
    assert!(ran >= limit(), "the warning ended it after {ran}");
}

#[tokio::test]
async fn a_shell_with_a_handler_is_warned_with_the_rest() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let script = format!("trap 'echo shell >got' USR1\n{COUNTS} a & while :; do sleep 0.05; done");
    let end = harness.run(lasting(&harness, &script, "USR1@1")).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!(
        (harness.written("got"), harness.written("a")),
        ("shell\n".into(), "warned\n".into())
    );
}

#[tokio::test]
async fn only_the_script_is_warned_on_request() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let script = format!("trap 'echo $$ >got; exit 7' USR1\n{COUNTS} a & wait");
    let end = harness.run(lasting(&harness, &script, "B:USR1@1")).await;
    assert_exited(&end, 7);
    assert!(!harness.written("got").is_empty());
    assert_eq!(harness.written("a"), "", "a child of the script was warned");
}

#[tokio::test]
async fn every_copy_of_the_script_is_warned_even_without_cgroups() {
    let Some(mut harness) = StepHarness::with_cgroup_kind(Some(kantd::cgroup::Kind::None)).await
    else {
        return;
    };
    let script = "trap 'echo warned >got.$SLURM_PROCID; exit 0' USR1; \
                  while :; do sleep 0.05; done";
    let order = with_share(lasting(&harness, script, "USR1@2"), |share| share.tasks = Tasks(2));
    let end =
        harness.run(common::wire::node::LaunchOrder { launch: Launch::PerTask, ..order }).await;
    assert_exited(&end, 0);
    assert_eq!(
        (harness.written("got.0"), harness.written("got.1")),
        ("warned\n".into(), "warned\n".into())
    );
}

#[tokio::test]
async fn a_warning_longer_than_the_limit_comes_as_soon_as_the_job_runs() {
    let Some(mut harness) = StepHarness::new().await else { return };
    // Nothing handles the signal: a sleep may die of it, the script runs on.
    let id = harness.start(lasting(&harness, "while :; do sleep 0.05; done", "USR1@60")).await;
    let log = harness.step_dir(id).join("log");
    let said = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("warned"));
    until("the job was warned", said).await;
    assert_eq!(harness.end(id).await.cause, EndCause::TimedOut);
}
