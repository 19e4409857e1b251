//! Limits of a job: run time, memory, CPUs, and access to other jobs' GPUs.

use crate::harness::{self, StepHarness, assert_exited, slowness, with_share};
use common::cpuset::CpuSet;
use common::id::GpuIndex;
use common::job::{EndCause, Launch};
use common::time::Span;
use common::unit::{Bytes, Tasks};
use common::wire::node::StepPhase;
use kantd::step::GpuOveruse;
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::time::Instant;

#[tokio::test]
async fn a_job_that_ignores_sigterm_is_killed_after_limit_and_grace() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let mut order = harness.order("trap 'echo term >> out2' TERM; while :; do sleep 0.05; done");
    // Long enough for a slow machine's shell to set its trap.
    order.time_limit = Some(Span::from_seconds(2 * slowness()));
    order.kill_grace = Span(400);
    let id = order.id;
    let begun = Instant::now();
    let end = harness.run(order).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!(end.exit.signal, Some(9));
    assert!(
        begun.elapsed().as_millis() >= u128::from(2000 * slowness() + 400),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(harness.written("out2"), "term\n");
    assert!(end.message.unwrap().contains("time limit"));
    harness.assert_no_group(id);
}

#[tokio::test]
async fn a_job_that_handles_sigterm_may_finish_within_the_grace() {
    let Some(mut harness) = StepHarness::new().await else { return };
    // The shell dies at once; its child writes a checkpoint first.
    let mut order = harness.order(
        "sh -c 'trap \"sleep 0.3; echo saved > checkpoint; exit 0\" TERM; echo up > up; \
         while :; do sleep 0.05; done'\nexit 1",
    );
    order.time_limit = Some(Span::from_seconds(2 * slowness()));
    let end = harness.run(order).await;
    assert_eq!(end.cause, EndCause::TimedOut, "{end:?}");
    assert_eq!(harness.written("checkpoint"), "saved\n");
}

#[tokio::test]
async fn a_job_that_exceeds_its_memory_is_out_of_memory() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("tail /dev/zero; exit 3");
    let order = with_share(order, |share| share.memory = Bytes::from_mib(32));
    let end = harness.run(order).await;
    assert_eq!(end.cause, EndCause::OutOfMemory, "{end:?}");
    assert!(!end.exit.is_success());
    let message = end.message.unwrap();
    assert!(message.contains("32M") && message.contains("--mem"), "{message}");
    assert!(end.usage.memory_peak > Bytes::from_mib(16), "{:?}", end.usage);
}

#[tokio::test]
async fn a_failing_job_within_its_memory_just_failed() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 4");
    let end = harness.run(order).await;
    assert_exited(&end, 4);
    assert!(end.usage.cpu > Span(0), "{:?}", end.usage);
}

#[tokio::test]
async fn a_job_sees_its_cpus_and_no_others() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("grep Cpus_allowed_list /proc/self/status; nproc");
    let last: CpuSet = [1].into_iter().collect();
    let two_cpus = std::thread::available_parallelism().unwrap().get() > 1;
    let cpus = if two_cpus { last } else { CpuSet::first_n(1) };
    let order = with_share(order, |share| share.cpus = cpus.clone());
    let end = harness.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    assert_eq!(harness.written("out"), format!("Cpus_allowed_list:\t{cpus}\n1\n"));
}

#[tokio::test]
async fn only_granted_gpus_can_be_opened() {
    let Some(mut harness) = StepHarness::new().await else { return };
    for minor in [0, 3, 5, 254, 255] {
        let path = harness.work_dir().join(format!("nv{minor}"));
        let mode = Mode::from_bits_truncate(0o666);
        mknod(&path, SFlag::S_IFCHR, mode, makedev(195, minor)).unwrap();
        harness::open_to_all(&path, 0o666);
    }
    let order = harness.order("for n in 0 3 5 254 255; do cat nv$n 2>&1; done; cat /dev/null");
    let order = with_share(order, |share| share.gpus = [GpuIndex(1)].into());
    let end = harness.run(order).await;
    assert_eq!(end.cause, EndCause::Exited, "{end:?}");
    let out = harness.written("out");
    // No driver is behind these devices: opening an allowed one fails later, with another error.
    let answers: Vec<bool> = out.lines().map(|l| l.contains("not permitted")).collect();
    assert_eq!(answers, [true, true, false, false, false], "{out}");
}

#[tokio::test]
async fn one_failing_task_ends_the_others() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("[ $RANK = 1 ] && exit 5; sleep 600");
    let mut order = with_share(order, |share| share.tasks = Tasks(3));
    order.launch = Launch::PerTask;
    let end = harness.run(order).await;
    assert_exited(&end, 5);
    assert!(end.message.unwrap().contains("task 1"));
}

#[tokio::test]
async fn processes_that_daemonised_are_killed_with_the_job() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order(
        "setsid sh -c '(trap \"\" TERM HUP; echo $$ >/dev/null; sh -c \"echo \\$PPID > pid\"; \
         while :; do sleep 0.1; done) &' & while [ ! -s pid ]; do sleep 0.02; done",
    );
    let id = order.id;
    let end = harness.run(order).await;
    assert_eq!(end.cause, EndCause::Exited);
    let pid = harness.pid("pid").await;
    assert!(!harness::is_alive(pid), "{pid} is alive");
    harness.assert_no_group(id);
}

#[tokio::test]
async fn a_fork_bomb_is_killed_completely() {
    let Some(mut harness) = StepHarness::new().await else { return };
    // A bounded one, for the sake of the machine that runs the tests: 2^7 shells that live on.
    let mut order = harness.order(
        "f() { [ $1 = 0 ] && { while :; do sleep 1; done; }; f $(($1-1)) & f $(($1-1)) & wait; }; \
         f 6 & sleep 0.3; echo up > up; sleep 600",
    );
    order.kill_grace = Span(0);
    let id = harness.start(order).await;
    harness.line("up").await;
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::Stopped, "{end:?}");
    harness.assert_no_group(id);
}

#[tokio::test]
async fn a_job_with_too_much_gpu_memory_is_ended_with_grace_and_the_first_reason() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order =
        harness.order("trap 'echo term >> out2; exit 0' TERM; while :; do sleep 0.05; done");
    let id = harness.start(order).await;
    harness.until(id, |phase| matches!(phase, StepPhase::Running { .. })).await;
    let first =
        GpuOveruse { gpu: GpuIndex(0), used: Bytes::from_mib(9), share: Bytes::from_mib(8) };
    harness.steps().end_for_overuse(id, first);
    harness.steps().end_for_overuse(id, GpuOveruse { used: Bytes::from_mib(10), ..first });
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::OutOfMemory, "{end:?}");
    let message = end.message.unwrap();
    assert!(message.contains("used 9M of the memory of GPU 0 on node n1"), "{message}");
    assert!(message.contains("its share is 8M"), "{message}");
    harness.assert_no_group(id);
}
