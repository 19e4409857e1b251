//! The warning before the time limit: once, in time, to whom it is meant for, also when kantd was
//! started again meanwhile.

mod stand;

use common::job::{EndCause, Launch};
use common::time::Span;
use common::unit::Tasks;
use stand::{Stand, slowness, until, with_share};

/// A program that counts its USR1 in a file, and lives on.
const COUNTS: &str = "python3 -c '
import os, signal, sys
def count(*_): os.write(out, b\"warned\\n\")
out = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
signal.signal(signal.SIGUSR1, count)
open(sys.argv[1] + \".up\", \"w\").write(\"up\\n\")
while True: signal.pause()
'";

/// Long enough for a program to be up before its warning on a slow machine.
fn limit() -> Span {
    Span::from_seconds(10 * slowness())
}

fn lasting(stand: &Stand, script: &str, warning: &str) -> common::wire::node::LaunchOrder {
    let mut order = stand.order(script);
    order.time_limit = Some(limit());
    order.warning = Some(warning.parse().expect("a warning"));
    order.kill_grace = Span(100);
    order
}

#[tokio::test]
async fn programs_are_warned_once_and_a_shell_without_a_handler_is_spared() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = lasting(&stand, &format!("{COUNTS} a\necho over"), "USR1@1");
    let id = order.id;
    let id = {
        stand.start(order).await;
        id
    };
    assert_eq!(stand.line("a.up").await, "up");
    assert_eq!(stand.written("a"), "", "warned before its time");
    // Whoever comes after kantd finds a supervisor that knows what it did.
    assert_eq!(stand.line("a").await, "warned");
    stand.close();
    stand.open().await;
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!(stand.written("a"), "warned\n");
    let ran = end.ended_at.since(end.started_at.expect("it ran"));
    assert!(ran >= limit(), "the warning ended it after {ran}");
}

#[tokio::test]
async fn a_shell_with_a_handler_is_warned_with_the_rest() {
    needs_root!();
    let mut stand = Stand::new().await;
    let script = format!("trap 'echo shell >told' USR1\n{COUNTS} a & while :; do sleep 0.05; done");
    let end = stand.run(lasting(&stand, &script, "USR1@1")).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!((stand.written("told"), stand.written("a")), ("shell\n".into(), "warned\n".into()));
}

#[tokio::test]
async fn the_script_alone_is_warned_where_that_was_asked() {
    needs_root!();
    let mut stand = Stand::new().await;
    let script = format!("trap 'echo $$ >told; exit 7' USR1\n{COUNTS} a & wait");
    let end = stand.run(lasting(&stand, &script, "B:USR1@1")).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 7), "{end:?}");
    assert!(!stand.written("told").is_empty());
    assert_eq!(stand.written("a"), "", "a child of the script was warned");
}

#[tokio::test]
async fn every_copy_of_the_script_is_warned_also_without_cgroups() {
    needs_root!();
    let mut stand = Stand::of_kind(Some(kantd::cgroup::Kind::None)).await;
    let script = "trap 'echo warned >told.$SLURM_PROCID; exit 0' USR1; \
                  while :; do sleep 0.05; done";
    let order = with_share(lasting(&stand, script, "USR1@2"), |share| share.tasks = Tasks(2));
    let end = stand.run(common::wire::node::LaunchOrder { launch: Launch::PerTask, ..order }).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 0), "{end:?}");
    assert_eq!(
        (stand.written("told.0"), stand.written("told.1")),
        ("warned\n".into(), "warned\n".into())
    );
}

#[tokio::test]
async fn a_warning_longer_than_the_limit_comes_as_soon_as_the_job_runs() {
    needs_root!();
    let mut stand = Stand::new().await;
    // Nothing catches it: a sleep may end of it, the script goes on.
    let id = stand.start(lasting(&stand, "while :; do sleep 0.05; done", "USR1@60")).await;
    let log = stand.step_dir(id).join("log");
    let said = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("warned"));
    until("the job was warned", said).await;
    assert_eq!(stand.end(id).await.cause, EndCause::TimedOut);
}
