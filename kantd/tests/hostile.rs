//! Jobs that misbehave, by accident or on purpose. Each ends as its user would expect, the node
//! works on, and no process, cgroup, mount or file is left. docs/operating/nodes.md has a table
//! with a line for each of them. As root, with the machine's cgroups.

use crate::harness::{
    self, StepHarness, assert_exited, assert_failed_with, assert_stopped_before_it_ran, with_share,
};
use crate::leftovers::Before;
use common::id::AttemptId;
use common::job::{EndCause, StepEnd};
use common::time::Span;
use common::unit::Bytes;
use common::wire::node::{LaunchOrder, StepPhase};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The limit of one job; low, for the sake of the machine that runs the tests.
const PROCESSES_MAX: u32 = 48;

/// A node with the default private directories: /tmp and /dev/shm.
async fn node() -> Option<StepHarness> {
    StepHarness::with_rules(|rules| {
        rules.private_dirs = vec!["/tmp".into(), "/dev/shm".into()];
        rules.processes_max = Some(PROCESSES_MAX);
    })
    .await
}

/// Lets later jobs see the machine's /tmp with the harness in it, as if that were /home.
async fn see_tmp(harness: &mut StepHarness) {
    harness.rules.private_dirs = vec!["/dev/shm".into()];
    harness.restart().await;
}

/// Runs a job, and checks that nothing is left of it and that the node still works.
async fn run_and_check(harness: &mut StepHarness, order: LaunchOrder) -> StepEnd {
    let end = crate::leftovers::run_and_check(harness, order).await;
    assert_works(harness).await;
    end
}

async fn assert_works(harness: &mut StepHarness) {
    let mut order = harness.order("true");
    order.stdout = "/dev/null".into();
    order.work_dir = "/".into();
    let end = harness.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 0), "the next job: {end:?}");
}

/// Starts a job, and stops it when it has written `up`.
async fn start_stop_and_check(harness: &mut StepHarness, order: LaunchOrder) -> StepEnd {
    let before = Before::of(harness);
    let id = harness.start(before.own(order)).await;
    harness.line("up").await;
    harness.steps().stop(id);
    let end = harness.end(id).await;
    before.assert_nothing_left(harness, id).await;
    assert_works(harness).await;
    end
}

#[tokio::test]
async fn a_script_without_an_interpreter() {
    let Some(mut harness) = node().await else { return };
    for (script, words) in [
        ("echo hi\n", ["ENOEXEC", "first line names no interpreter", "#!/bin/sh"].as_slice()),
        ("#!/opt/none/python9\n", &["interpreter is not on this node", "/opt/none/python9"]),
    ] {
        let (script, stdout) = (script.into(), "/dev/null".into());
        let order = LaunchOrder { script, stdout, ..harness.order("") };
        let end = run_and_check(&mut harness, order).await;
        assert_failed_with(&end, words);
    }
}

#[tokio::test]
async fn a_user_that_the_node_does_not_know_runs_by_number_with_one_group() {
    let Some(mut harness) = node().await else { return };
    let order = harness.order("id -u; id -G; echo $HOME");
    let before = Before::of(&harness);
    let (order, uid) = (before.own(order), before.uid());
    let id = order.id;
    let end = harness.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    assert_eq!(harness.written("out"), format!("{uid}\n{uid}\n/\n"));
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_missing_home_directory_matters_only_to_jobs_that_use_it() {
    let Some(mut harness) = node().await else { return };
    let mut order = harness.order("cd || echo no home; pwd");
    order.environment.insert("HOME".into(), "/no/such/home".into());
    let work_dir = order.work_dir.clone();
    let end = run_and_check(&mut harness, order).await;
    assert!(end.exit.is_success(), "{end:?}");
    let out = harness.written("out");
    assert!(out.contains("/no/such/home") || out.contains("no home"), "{out}");
    assert!(out.ends_with(&format!("{work_dir}\n")), "{out}");
    let mut order = harness.order("true");
    order.work_dir = "/no/such/home".into();
    let end = run_and_check(&mut harness, order).await;
    assert_failed_with(&end, &["/no/such/home", "ENOENT", "--chdir"]);
}

/// A file system whose server never answers, like a home directory on a dead file server: every
/// access blocks.
struct Hanging {
    path: PathBuf,
    _server: File,
}

impl Hanging {
    fn mount(path: &Path) -> Self {
        fs::create_dir(path).unwrap();
        let server = File::options().read(true).write(true).open("/dev/fuse").unwrap();
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", server.as_raw_fd());
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("dead"), path, Some("fuse"), flags, Some(options.as_str())).unwrap();
        Self { path: path.to_owned(), _server: server }
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = umount2(&self.path, MntFlags::MNT_DETACH);
    }
}

#[tokio::test]
async fn a_hanging_home_directory_delays_only_its_own_job() {
    let Some(mut harness) = node().await else { return };
    see_tmp(&mut harness).await;
    let home = Hanging::mount(&harness.home().join("ada"));
    let before = Before::of(&harness);
    let mut order = before.own(harness.order("touch ran"));
    order.work_dir = home.path.display().to_string();
    let id = harness.launch(order);
    harness::until("it is being prepared", || harness.step_dir(id).join("script").exists()).await;
    assert_works(&mut harness).await;
    let held = harness.steps().status().into_iter().find(|step| step.id == id);
    assert_eq!(held.map(|step| step.phase), Some(StepPhase::Preparing));
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_stopped_before_it_ran(&end);
    before.assert_nothing_left(&harness, id).await;
    // A job that accesses the directory itself hangs, and can still be stopped.
    let mut order = harness.order("ls $HOME & echo up > up; wait");
    order.kill_grace = Span(0);
    order.environment.insert("HOME".into(), home.path.display().to_string());
    let end = start_stop_and_check(&mut harness, order).await;
    assert_eq!(end.cause, EndCause::Stopped, "{end:?}");
}

#[tokio::test]
async fn a_prolog_that_never_ends_is_killed_and_is_the_nodes_fault() {
    let Some(mut harness) = node().await else { return };
    let prolog = harness.program_of("prolog", "setsid sleep 600 & while :; do sleep 0.05; done");
    harness.rules.prolog = Some(prolog);
    harness.rules.hook_limit = Span(300);
    harness.restart().await;
    let order = harness.order("touch ran");
    let end = crate::leftovers::run_and_check(&mut harness, order).await;
    harness::assert_node_fault(&end, &["prolog", "did not end within 300ms and was killed"]);
    assert!(!harness.work_dir().join("ran").exists());
    // A job that waits for its prolog can be stopped at once.
    harness.rules.hook_limit = Span::from_minutes(60);
    harness.restart().await;
    let before = Before::of(&harness);
    let order = before.own(harness.order("touch ran"));
    let id = order.id;
    harness.steps().launch(order, &harness.gpus);
    let running = harness.step_dir(id).join("prolog");
    harness::until("the prolog runs", || running.exists()).await;
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_stopped_before_it_ran(&end);
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_fork_bomb_is_limited_in_processes_and_killed_completely() {
    let Some(mut harness) = node().await else { return };
    let before = Before::of(&harness);
    let bomb = "#!/usr/bin/env python3\nimport os\nwhile True:\n    try:\n        os.fork()\n    \
        except OSError:\n        pass\n";
    let mut order = before.own(LaunchOrder { script: bomb.into(), ..harness.order("") });
    order.kill_grace = Span(0);
    let id = harness.start(order).await;
    let processes = || -> Vec<String> {
        let files = harness.groups(id).into_iter().map(|group| group.join("pids.current"));
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    };
    harness::until("it has all its processes", || processes() == [format!("{PROCESSES_MAX}\n")])
        .await;
    assert_works(&mut harness).await;
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::Stopped, "{end:?}");
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_job_that_ignores_sigterm_is_killed_after_the_grace() {
    let Some(mut harness) = node().await else { return };
    let mut order = harness.order("trap '' TERM; echo up > up; while :; do sleep 0.05; done");
    order.kill_grace = Span(200);
    let end = start_stop_and_check(&mut harness, order).await;
    assert_eq!((end.cause, end.exit.signal), (EndCause::Stopped, Some(9)), "{end:?}");
}

#[tokio::test]
async fn a_job_that_daemonises_leaves_no_daemon() {
    let Some(mut harness) = node().await else { return };
    let order = harness.order(
        "setsid sh -c 'trap \"\" TERM HUP; (echo up > up; exec sleep 600) &' \
         </dev/null >/dev/null 2>&1 &\nwhile [ ! -s up ]; do sleep 0.02; done",
    );
    let end = run_and_check(&mut harness, order).await;
    assert_exited(&end, 0);
}

#[tokio::test]
async fn a_job_that_fills_dev_shm_is_out_of_its_own_memory() {
    let Some(mut harness) = node().await else { return };
    let order = harness.order("head -c 200M /dev/zero > /dev/shm/fill; exit 3");
    let order = with_share(order, |share| share.memory = Bytes::from_mib(48));
    let end = run_and_check(&mut harness, order).await;
    // Killed at its memory limit, or stopped by the size of the tmpfs.
    let out = harness.written("out");
    let is_full = out.contains("No space left") && end.exit.code == 3;
    assert!(end.cause == EndCause::OutOfMemory || is_full, "{end:?} {out}");
}

/// A small disk that all users may write.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: &Path, options: &str) -> Self {
        let none = MsFlags::empty();
        mount(Some("small"), path, Some("tmpfs"), none, Some(options)).unwrap();
        Self(path.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

#[tokio::test]
async fn a_job_that_fills_the_spools_disk_frees_it_at_its_end() {
    if statfs("/tmp").unwrap().filesystem_type() == TMPFS_MAGIC {
        println!("skipped: /tmp is in memory here, and so are the jobs' private ones");
        return;
    }
    let Some(mut harness) = node().await else { return };
    harness.close();
    let disk = SmallDisk::mount(&harness.spool(), "mode=711,size=4m");
    harness.open().await;
    let order = harness.order(
        "until ! head -c 1M /dev/zero >> /tmp/fill; do :; done 2>/dev/null\n\
         while echo x >> /tmp/rest; do :; done 2>/dev/null\n\
         df --output=avail /tmp | tail -1; exit 3",
    );
    let end = run_and_check(&mut harness, order).await;
    assert_exited(&end, 3);
    assert_eq!(harness.written("out").trim(), "0", "it was full");
    harness.close();
    drop(disk);
    harness.open().await;
}

#[tokio::test]
async fn a_job_that_fills_its_own_disk_gets_the_error_itself() {
    let Some(mut harness) = node().await else { return };
    let _disk = SmallDisk::mount(&harness.work_dir(), "mode=777,size=1m");
    let order = harness.order("head -c 8M /dev/zero; echo $? >&2; exit 28");
    let end = run_and_check(&mut harness, order).await;
    assert_exited(&end, 28);
    let length = fs::metadata(harness.work_dir().join("out")).unwrap().len();
    assert!((1 << 19..=1 << 20).contains(&length), "{length}");
}

/// A small version of 10 GB: the output does not pass through kant, so that its size costs nothing.
/// On a /tmp in memory the output counts as the job's memory, of which it may have 256 MB. The
/// limit that users set themselves (`ulimit -f`) applies.
#[tokio::test]
async fn endless_output_goes_to_the_file_and_not_through_kant() {
    let Some(mut harness) = node().await else { return };
    let order = harness.order("head -c 64M /dev/zero; echo up > up; sleep 600");
    let before = Before::of(&harness);
    let id = harness.start(before.own(order)).await;
    harness.line("up").await;
    let length = fs::metadata(harness.work_dir().join("out")).unwrap().len();
    assert_eq!(length, 64 << 20);
    assert!(memory_peak_kib(&harness, id) < 32 << 10, "{} KiB", memory_peak_kib(&harness, id));
    harness.steps().stop(id);
    assert_eq!(harness.end(id).await.cause, EndCause::Stopped);
    before.assert_nothing_left(&harness, id).await;
    let mut order = harness.order("ulimit -f 2048; exec head -c 64M /dev/zero");
    order.stdout = "limited".into();
    let end = run_and_check(&mut harness, order).await;
    assert_eq!(end.exit.signal, Some(nix::sys::signal::Signal::SIGXFSZ as u8), "{end:?}");
}

fn memory_peak_kib(harness: &StepHarness, id: AttemptId) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", harness.supervisor(id))).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn a_job_that_deletes_its_directory_continues_and_the_next_one_fails() {
    let Some(mut harness) = node().await else { return };
    // A working directory below a private one is a mount, which cannot be removed.
    see_tmp(&mut harness).await;
    let dir = harness.work_dir().join("mine");
    fs::create_dir(&dir).unwrap();
    harness::open_to_all(&dir, 0o777);
    let mut order = harness.order("rm -rf \"$PWD\"; cd / && exit 6");
    order.work_dir = dir.display().to_string();
    let end = run_and_check(&mut harness, order.clone()).await;
    assert_exited(&end, 6);
    assert!(!dir.exists());
    order.id = harness.order("").id;
    let end = run_and_check(&mut harness, order).await;
    assert_failed_with(&end, &["failed to enter working directory", "ENOENT", "--chdir"]);
}
