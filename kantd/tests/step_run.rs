//! What a job finds when it runs: whose it is, its files, its environment, its tasks.

mod stand;

use common::id::{Attempt, GpuIndex};
use common::job::{EndCause, ExitStatus, Launch, OpenMode, Rlimit};
use common::time::Time;
use common::unit::Tasks;
use common::wire::node::StepPhase;
use stand::{Stand, USER, with_second_node, with_share};
use std::fs;
use std::os::unix::fs::MetadataExt;

#[tokio::test]
async fn a_job_runs_as_its_user_and_nobody_else() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order(
        "grep -E '^(Uid|Gid|Groups|SigBlk|SigIgn|CapEff):' /proc/self/status; umask; pwd; \
         cat /proc/self/oom_score_adj; ls /proc/self/fd | wc -l; touch made",
    );
    order.umask = 0o027;
    let work_dir = order.work_dir.clone();
    let end = stand.run(order).await;
    assert_eq!(end.cause, EndCause::Exited, "{end:?}");
    assert!(end.exit.is_success(), "{end:?} {}", stand.written("out"));
    let out = stand.written("out");
    let lines: Vec<&str> = out.lines().collect();
    let ids = format!("{USER}\t{USER}\t{USER}\t{USER}");
    assert_eq!(lines[0], format!("Uid:\t{ids}"));
    assert_eq!(lines[1], format!("Gid:\t{ids}"));
    assert_eq!(lines[2].trim_end(), format!("Groups:\t{USER}"));
    assert_eq!(lines[3], "SigBlk:\t0000000000000000");
    assert_eq!(lines[4], "SigIgn:\t0000000000000000");
    assert_eq!(lines[5], "CapEff:\t0000000000000000");
    // Three streams, and the one `ls` reads the directory by.
    assert_eq!(lines[6..], ["0027", &work_dir, "0", "4"]);
    for file in ["out", "made"] {
        let file = fs::metadata(stand.work_dir().join(file)).unwrap();
        assert_eq!((file.uid(), file.gid(), file.mode() & 0o777), (USER, USER, 0o640));
    }
}

#[tokio::test]
async fn a_known_user_keeps_groups_home_and_shell() {
    needs_root!();
    let mut stand = Stand::new().await;
    // The one account that every system has and that is not root.
    stand.rules.owners.uid_min = 0;
    stand.open().await;
    let mut order = stand.order("id -un; echo $HOME $SHELL $USER $PATH");
    order.owner.uid.0 = 65534;
    order.owner.gid.0 = 65534;
    let end = stand.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    let out = stand.written("out");
    assert!(
        out.starts_with("nobody\n/nonexistent /usr/sbin/nologin nobody /usr/local/bin:"),
        "{out}"
    );
}

#[tokio::test]
async fn code_and_signal_of_the_script_are_reported() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("exit 7");
    let end = stand.run(order).await;
    let code = ExitStatus { code: 7, signal: None };
    assert_eq!((end.cause, end.exit), (EndCause::Exited, code), "{end:?}");
    let order = stand.order("kill -SEGV $$");
    let end = stand.run(order).await;
    assert_eq!(end.exit, ExitStatus { code: 0, signal: Some(11) }, "{end:?}");
    assert!(end.started_at.is_some_and(|at| at > Time(0) && at <= end.ended_at), "{end:?}");
}

#[tokio::test]
async fn a_script_sees_its_arguments_environment_and_streams() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order(
        "echo \"$0|$1|$2\"; cat; echo $MINE $SLURM_JOB_ID $KANT_JOB_ID; env | grep -c ^CARGO; \
         echo bad >&2; ulimit -Sc",
    );
    fs::write(stand.work_dir().join("in"), "fed\n").unwrap();
    order.args = vec!["a b".into(), "c".into()];
    order.stdin = Some("in".into());
    order.stderr = Some("%x-%j.err".into());
    order.environment.insert("MINE".into(), "yes".into());
    order.rlimits = vec![Rlimit { name: "core".into(), soft: Some(0) }];
    let id = order.id;
    stand.run(order).await;
    let script = stand.step_dir(id).join("script");
    let job = id.key;
    let expected = format!("{}|a b|c\nfed\nyes {job} {job}\n0\n0\n", script.display());
    assert_eq!(stand.written("out"), expected);
    assert_eq!(stand.written(&format!("job-{job}.err")), "bad\n");
}

#[tokio::test]
async fn a_first_attempt_empties_its_output_and_a_second_adds_to_it() {
    needs_root!();
    let mut stand = Stand::new().await;
    fs::write(stand.work_dir().join("out"), "old\n").unwrap();
    stand::open_to_all(&stand.work_dir().join("out"), 0o666);
    let mut order = stand.order("echo first");
    let end = stand.run(order.clone()).await;
    assert_eq!(stand.written("out"), "first\n", "{end:?}");
    order.id.attempt = Attempt(2);
    order.script = "#!/bin/sh\necho second $SLURM_RESTART_COUNT\n".into();
    let end = stand.run(order).await;
    assert_eq!(stand.written("out"), "first\nsecond 1\n", "{end:?}");
    let mut appending = stand.order("echo third");
    appending.open_mode = OpenMode::Append;
    let end = stand.run(appending).await;
    assert_eq!(stand.written("out"), "first\nsecond 1\nthird\n", "{end:?}");
}

#[tokio::test]
async fn every_task_runs_with_its_rank_and_its_file() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("echo $RANK $LOCAL_RANK $WORLD_SIZE $SLURM_PROCID $MASTER_ADDR");
    let mut order = with_second_node(with_share(order, |share| share.tasks = Tasks(3)), true);
    order.launch = Launch::PerTask;
    order.stdout = "%t.out".into();
    let end = stand.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    for local in 0..3 {
        let rank = local + 3;
        let line = format!("{rank} {local} 6 {rank} 127.0.0.1\n");
        assert_eq!(stand.written(&format!("{rank}.out")), line);
    }
}

#[tokio::test]
async fn a_node_without_a_process_of_its_own_is_held_until_it_is_stopped() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = with_second_node(stand.order("echo never > ran"), true);
    let id = stand.start(order).await;
    assert!(!stand.groups(id).is_empty());
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.exit), (EndCause::Stopped, ExitStatus::default()));
    stand.assert_no_group(id);
    assert!(!stand.work_dir().join("ran").exists());
}

#[tokio::test]
async fn nothing_runs_before_the_word_to_run() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("touch ran");
    let id = order.id;
    stand.steps().launch(order, &stand.gpus);
    stand.until(id, |phase| *phase == StepPhase::Ready).await;
    assert!(!stand.work_dir().join("ran").exists());
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.started_at), (EndCause::Stopped, None));
    assert!(!stand.work_dir().join("ran").exists());
    stand.assert_no_group(id);
}

#[tokio::test]
async fn given_gpus_are_named_by_uuid() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS $SLURM_GPUS_ON_NODE");
    let order = with_share(order, |share| share.gpus = vec![GpuIndex(0), GpuIndex(1)]);
    stand.run(order).await;
    assert_eq!(stand.written("out"), "GPU-0000-0,GPU-0000-1 0,1 2\n");
}

#[tokio::test]
async fn an_ended_step_is_held_until_it_is_forgotten() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("true");
    let id = order.id;
    stand.run(order.clone()).await;
    // A repeated order for an attempt that was here runs nothing.
    stand.steps().launch(order, &stand.gpus);
    assert_eq!(stand.steps().status().len(), 1);
    stand.steps().forget(id);
    let steps = stand.steps().clone();
    stand::until("the step is forgotten", || steps.status().is_empty()).await;
    assert!(!stand.step_dir(id).exists());
}

#[tokio::test]
async fn the_end_says_what_was_written_to_disks_also_by_children_and_what_gpus_did() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order(
        "sh -c 'dd if=/dev/zero of=big bs=1M count=8 conv=fsync 2>/dev/null' & wait\n\
         echo up >up; while [ ! -e enough ]; do sleep 0.05; done",
    );
    let id = stand.start(order).await;
    stand.line("up").await;
    // As kantd keeps it for steps with GPUs.
    let tally = r#"{"samples":4,"busy_percent_sum":200,"memory_peak":7,"energy_millijoules":5000}"#;
    std::fs::write(stand.step_dir(id).join("gpus"), tally).expect("a tally");
    std::fs::write(stand.work_dir().join("enough"), "").expect("a word");
    let usage = stand.end(id).await.usage;
    let gpus = usage.gpu.expect("a tally was kept");
    assert_eq!((gpus.busy_percent(), gpus.energy_joules, gpus.memory_peak.0), (Some(50), 5, 7));
    // A tmpfs has no disk below it.
    let is_on_disk = nix::sys::statfs::statfs(&stand.work_dir())
        .is_ok_and(|fs| fs.filesystem_type() != nix::sys::statfs::TMPFS_MAGIC);
    if is_on_disk {
        assert!(usage.disk_written.0 >= 8 << 20, "{usage:?}");
    }
    assert!(usage.disk_written.0 < 64 << 20, "{usage:?}");
}
