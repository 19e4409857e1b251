//! The environment of a running job: its user, files, variables and tasks.

use crate::harness::{
    self, StepHarness, USER, assert_stopped_before_it_ran, with_second_node, with_share,
};
use common::id::{Attempt, GpuIndex};
use common::job::{EndCause, ExitStatus, Launch, OpenMode, Rlimit};
use common::time::Time;
use common::unit::Tasks;
use common::wire::node::StepPhase;
use std::fs;
use std::os::unix::fs::MetadataExt;

#[tokio::test]
async fn a_job_runs_as_its_user_only() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let mut order = harness.order(
        "grep -E '^(Uid|Gid|Groups|SigBlk|SigIgn|CapEff):' /proc/self/status; umask; pwd; \
         cat /proc/self/oom_score_adj; ls /proc/self/fd | wc -l; touch made",
    );
    order.umask = 0o027;
    let work_dir = order.work_dir.clone();
    let end = harness.run(order).await;
    assert_eq!(end.cause, EndCause::Exited, "{end:?}");
    assert!(end.exit.is_success(), "{end:?} {}", harness.written("out"));
    let out = harness.written("out");
    let lines: Vec<&str> = out.lines().collect();
    let ids = format!("{USER}\t{USER}\t{USER}\t{USER}");
    assert_eq!(lines[0], format!("Uid:\t{ids}"));
    assert_eq!(lines[1], format!("Gid:\t{ids}"));
    assert_eq!(lines[2].trim_end(), format!("Groups:\t{USER}"));
    assert_eq!(lines[3], "SigBlk:\t0000000000000000");
    assert_eq!(lines[4], "SigIgn:\t0000000000000000");
    assert_eq!(lines[5], "CapEff:\t0000000000000000");
    // Three streams, and the descriptor by which `ls` reads the directory.
    assert_eq!(lines[6..], ["0027", &work_dir, "0", "4"]);
    for file in ["out", "made"] {
        let file = fs::metadata(harness.work_dir().join(file)).unwrap();
        assert_eq!((file.uid(), file.gid(), file.mode() & 0o777), (USER, USER, 0o640));
    }
}

#[tokio::test]
async fn a_known_user_keeps_groups_home_and_shell() {
    let Some(mut harness) = StepHarness::new().await else { return };
    // The one account other than root that every system has.
    harness.rules.owners.uid_min = 0;
    harness.open().await;
    let mut order = harness.order("id -un; echo $HOME $SHELL $USER $PATH");
    order.owner.uid.0 = 65534;
    order.owner.gid.0 = 65534;
    let end = harness.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    let out = harness.written("out");
    assert!(
        out.starts_with("nobody\n/nonexistent /usr/sbin/nologin nobody /usr/local/bin:"),
        "{out}"
    );
}

#[tokio::test]
async fn exit_code_and_signal_of_the_script_are_reported() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let end = harness.run(harness.order("exit 7")).await;
    let code = ExitStatus { code: 7, signal: None };
    assert_eq!((end.cause, end.exit), (EndCause::Exited, code), "{end:?}");
    let end = harness.run(harness.order("kill -SEGV $$")).await;
    assert_eq!(end.exit, ExitStatus { code: 0, signal: Some(11) }, "{end:?}");
    assert!(end.started_at.is_some_and(|at| at > Time(0) && at <= end.ended_at), "{end:?}");
}

#[tokio::test]
async fn a_script_has_its_arguments_environment_and_streams() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let mut order = harness.order(
        "echo \"$0|$1|$2\"; cat; echo $MINE $SLURM_JOB_ID $KANT_JOB_ID; env | grep -c ^CARGO; \
         echo bad >&2; ulimit -Sc",
    );
    fs::write(harness.work_dir().join("in"), "fed\n").unwrap();
    order.args = vec!["a b".into(), "c".into()];
    order.stdin = Some("in".into());
    order.stderr = Some("%x-%j.err".into());
    order.environment.insert("MINE".into(), "yes".into());
    order.rlimits = vec![Rlimit { name: "core".into(), soft: Some(0) }];
    let id = order.id;
    harness.run(order).await;
    let script = harness.step_dir(id).join("script");
    let job = id.key;
    let expected = format!("{}|a b|c\nfed\nyes {job} {job}\n0\n0\n", script.display());
    assert_eq!(harness.written("out"), expected);
    assert_eq!(harness.written(&format!("job-{job}.err")), "bad\n");
}

#[tokio::test]
async fn a_first_attempt_truncates_its_output_and_a_second_appends_to_it() {
    let Some(mut harness) = StepHarness::new().await else { return };
    fs::write(harness.work_dir().join("out"), "old\n").unwrap();
    harness::open_to_all(&harness.work_dir().join("out"), 0o666);
    let mut order = harness.order("echo first");
    let end = harness.run(order.clone()).await;
    assert_eq!(harness.written("out"), "first\n", "{end:?}");
    order.id.attempt = Attempt(2);
    order.script = "#!/bin/sh\necho second $SLURM_RESTART_COUNT\n".into();
    let end = harness.run(order).await;
    assert_eq!(harness.written("out"), "first\nsecond 1\n", "{end:?}");
    let mut appending = harness.order("echo third");
    appending.open_mode = OpenMode::Append;
    let end = harness.run(appending).await;
    assert_eq!(harness.written("out"), "first\nsecond 1\nthird\n", "{end:?}");
}

#[tokio::test]
async fn every_task_runs_with_its_rank_and_its_file() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("echo $RANK $LOCAL_RANK $WORLD_SIZE $SLURM_PROCID $MASTER_ADDR");
    let mut order = with_second_node(with_share(order, |share| share.tasks = Tasks(3)), true);
    order.launch = Launch::PerTask;
    order.stdout = "%t.out".into();
    let end = harness.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    for local in 0..3 {
        let rank = local + 3;
        let line = format!("{rank} {local} 6 {rank} 127.0.0.1\n");
        assert_eq!(harness.written(&format!("{rank}.out")), line);
    }
}

#[tokio::test]
async fn a_step_without_a_process_lasts_until_it_is_stopped() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = with_second_node(harness.order("echo never > ran"), true);
    let id = harness.start(order).await;
    assert!(!harness.groups(id).is_empty());
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_eq!((end.cause, end.exit), (EndCause::Stopped, ExitStatus::default()));
    harness.assert_no_group(id);
    assert!(!harness.work_dir().join("ran").exists());
}

#[tokio::test]
async fn nothing_runs_before_the_command_to_run() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("touch ran");
    let id = order.id;
    harness.steps().launch(order, &harness.gpus);
    harness.until(id, |phase| *phase == StepPhase::Ready).await;
    assert!(!harness.work_dir().join("ran").exists());
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_stopped_before_it_ran(&end);
    assert!(!harness.work_dir().join("ran").exists());
    harness.assert_no_group(id);
}

#[tokio::test]
async fn granted_gpus_are_listed_by_uuid() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS $SLURM_GPUS_ON_NODE");
    let order = with_share(order, |share| share.gpus = [GpuIndex(0), GpuIndex(1)].into());
    harness.run(order).await;
    assert_eq!(harness.written("out"), "GPU-0000-0,GPU-0000-1 0,1 2\n");
}

#[tokio::test]
async fn an_ended_step_is_kept_until_it_is_forgotten() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("true");
    let id = order.id;
    harness.run(order.clone()).await;
    // A repeated launch of an attempt that was here runs nothing.
    harness.steps().launch(order, &harness.gpus);
    assert_eq!(harness.steps().status().len(), 1);
    harness.steps().forget(id);
    let steps = harness.steps().clone();
    harness::until("the step is forgotten", || steps.status().is_empty()).await;
    assert!(!harness.step_dir(id).exists());
}

#[tokio::test]
async fn the_end_reports_disk_writes_of_children_and_gpu_usage() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order(
        "sh -c 'dd if=/dev/zero of=big bs=1M count=8 conv=fsync 2>/dev/null' & wait\n\
         echo up >up; while [ ! -e enough ]; do sleep 0.05; done",
    );
    let id = harness.start(order).await;
    harness.line("up").await;
    // The tally that kantd keeps for steps with GPUs.
    let tally = r#"{"samples":4,"busy_percent_sum":200,"memory_peak":7,"energy_millijoules":5000}"#;
    std::fs::write(harness.step_dir(id).join("gpus"), tally).expect("a tally");
    std::fs::write(harness.work_dir().join("enough"), "").expect("a file");
    let usage = harness.end(id).await.usage;
    let gpus = usage.gpu.expect("a tally was kept");
    assert_eq!((gpus.busy_percent(), gpus.energy_joules, gpus.memory_peak.0), (Some(50), 5, 7));
    // A tmpfs has no disk below it.
    let is_on_disk = nix::sys::statfs::statfs(&harness.work_dir())
        .is_ok_and(|fs| fs.filesystem_type() != nix::sys::statfs::TMPFS_MAGIC);
    if is_on_disk {
        assert!(usage.disk_written.0 >= 8 << 20, "{usage:?}");
    }
    assert!(usage.disk_written.0 < 64 << 20, "{usage:?}");
}
