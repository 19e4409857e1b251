//! What a job may not do: run too long, use too much memory, other CPUs, or other jobs' GPUs.

mod stand;

use common::cpuset::CpuSet;
use common::id::GpuIndex;
use common::job::{EndCause, Launch};
use common::time::Span;
use common::unit::{Bytes, Tasks};
use common::wire::node::StepPhase;
use kantd::step::GpuOveruse;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use stand::{Stand, slowness, with_share};
use std::time::Instant;

#[tokio::test]
async fn a_job_that_ignores_sigterm_is_killed_after_limit_and_grace() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order("trap 'echo term >> out2' TERM; while :; do sleep 0.05; done");
    // Long enough for a slow machine's shell to set its trap.
    order.time_limit = Some(Span::from_seconds(2 * slowness()));
    order.kill_grace = Span(400);
    let id = order.id;
    let begun = Instant::now();
    let end = stand.run(order).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!(end.exit.signal, Some(9));
    assert!(
        begun.elapsed().as_millis() >= u128::from(2000 * slowness() + 400),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(stand.written("out2"), "term\n");
    assert!(end.message.unwrap().contains("time limit"));
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_job_that_heeds_sigterm_may_finish_within_the_grace() {
    needs_root!();
    let mut stand = Stand::new().await;
    // The shell dies at once; the child it waits for writes its checkpoint first.
    let mut order = stand.order(
        "sh -c 'trap \"sleep 0.3; echo saved > checkpoint; exit 0\" TERM; echo up > up; \
         while :; do sleep 0.05; done'\nexit 1",
    );
    order.time_limit = Some(Span::from_seconds(2 * slowness()));
    let end = stand.run(order).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!(stand.written("checkpoint"), "saved\n");
}

#[tokio::test]
async fn a_job_over_its_memory_is_recognised_as_such() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("tail /dev/zero; exit 3");
    let order = with_share(order, |share| share.memory = Bytes::from_mib(32));
    let end = stand.run(order).await;
    assert_eq!(end.cause, EndCause::OutOfMemory, "{end:?}");
    assert!(!end.exit.is_success());
    let message = end.message.unwrap();
    assert!(message.contains("32M") && message.contains("--mem"), "{message}");
    assert!(end.usage.memory_peak > Bytes::from_mib(16), "{:?}", end.usage);
}

#[tokio::test]
async fn a_failing_job_within_its_memory_just_failed() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 4");
    let end = stand.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 4));
    assert!(end.usage.cpu > Span(0), "{:?}", end.usage);
}

#[tokio::test]
async fn a_job_sees_its_cpus_and_no_others() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("grep Cpus_allowed_list /proc/self/status; nproc");
    let last: CpuSet = [1].into_iter().collect();
    let two_cpus = std::thread::available_parallelism().unwrap().get() > 1;
    let cpus = if two_cpus { last } else { CpuSet::first(1) };
    let order = with_share(order, |share| share.cpus = cpus.clone());
    let end = stand.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    assert_eq!(stand.written("out"), format!("Cpus_allowed_list:\t{cpus}\n1\n"));
}

#[tokio::test]
async fn only_given_gpus_can_be_opened() {
    needs_root!();
    let mut stand = Stand::new().await;
    for minor in [0, 3, 5, 254, 255] {
        let path = stand.work_dir().join(format!("nv{minor}"));
        let mode = Mode::from_bits_truncate(0o666);
        mknod(&path, SFlag::S_IFCHR, mode, makedev(195, minor)).unwrap();
        stand::open_to_all(&path, 0o666);
    }
    let order = stand.order("for n in 0 3 5 254 255; do cat nv$n 2>&1; done; cat /dev/null");
    let order = with_share(order, |share| share.gpus = vec![GpuIndex(1)]);
    let end = stand.run(order).await;
    assert_eq!(end.cause, EndCause::Exited, "{end:?}");
    let out = stand.written("out");
    // There is no driver behind these nodes: who may open them is told that, and who may not
    // is told that before.
    let answers: Vec<bool> = out.lines().map(|l| l.contains("not permitted")).collect();
    assert_eq!(answers, [true, true, false, false, false], "{out}");
}

#[tokio::test]
async fn one_failing_task_ends_the_others() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("[ $RANK = 1 ] && exit 5; sleep 600");
    let mut order = with_share(order, |share| share.tasks = Tasks(3));
    order.launch = Launch::PerTask;
    let end = stand.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 5), "{end:?}");
    assert!(end.message.unwrap().contains("task 1"));
}

#[tokio::test]
async fn processes_that_daemonised_are_killed_with_the_job() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order(
        "setsid sh -c '(trap \"\" TERM HUP; echo $$ >/dev/null; sh -c \"echo \\$PPID > pid\"; \
         while :; do sleep 0.1; done) &' & while [ ! -s pid ]; do sleep 0.02; done",
    );
    let id = order.id;
    let end = stand.run(order).await;
    assert_eq!(end.cause, EndCause::Exited);
    let pid = stand.pid("pid").await;
    assert!(!stand::is_alive(pid), "{pid} is alive");
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_fork_bomb_is_killed_to_the_last() {
    needs_root!();
    let mut stand = Stand::new().await;
    // A bounded one, for the sake of the machine the tests run on: 2^7 shells that live on.
    let mut order = stand.order(
        "f() { [ $1 = 0 ] && { while :; do sleep 1; done; }; f $(($1-1)) & f $(($1-1)) & wait; }; \
         f 6 & sleep 0.3; echo up > up; sleep 600",
    );
    order.kill_grace = Span(0);
    let id = stand.start(order).await;
    stand.line("up").await;
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::Stopped, "{end:?}");
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_job_with_too_much_of_a_gpus_memory_is_ended_in_grace_and_told_once_why() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("trap 'echo term >> out2; exit 0' TERM; while :; do sleep 0.05; done");
    let id = stand.start(order).await;
    stand.until(id, |phase| matches!(phase, StepPhase::Running { .. })).await;
    let first =
        GpuOveruse { gpu: GpuIndex(0), used: Bytes::from_mib(9), share: Bytes::from_mib(8) };
    stand.steps().end_for(id, first);
    stand.steps().end_for(id, GpuOveruse { used: Bytes::from_mib(10), ..first });
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::OutOfMemory, "{end:?}");
    let message = end.message.unwrap();
    assert!(message.contains("had 9M of the memory of GPU 0 on node n1"), "{message}");
    assert!(message.contains("its share is 8M"), "{message}");
    stand.assert_no_group(id);
}
