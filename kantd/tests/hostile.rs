//! Jobs that do what they should not, by accident or on purpose. Each ends as its user would
//! expect, the node goes on, and nothing of it is left: no process, cgroup, mount or file. The
//! table of docs/operating/nodes.md has a line for each test here. As root, with the cgroups that
//! the machine has.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod leftovers;
mod stand;

use common::id::AttemptId;
use common::job::{EndCause, StepEnd};
use common::time::Span;
use common::unit::Bytes;
use common::wire::node::{LaunchOrder, StepPhase};
use leftovers::Before;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use stand::{Stand, assert_failed_with, with_share};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Of one job. Few, for the sake of the machine that the tests run on.
const PROCESSES_MAX: u32 = 48;

/// A node as it is by default: /tmp and /dev/shm are each job's own.
async fn node() -> Stand {
    let mut stand = Stand::new().await;
    stand.close();
    stand.rules.private_dirs = vec!["/tmp".into(), "/dev/shm".into()];
    stand.rules.processes_max = Some(PROCESSES_MAX);
    stand.open().await;
    stand
}

/// From here on jobs see the machine's /tmp, in which all of a stand is: as if that were /home.
async fn see_tmp(stand: &mut Stand) {
    stand.close();
    stand.rules.private_dirs = vec!["/dev/shm".into()];
    stand.open().await;
}

/// Runs it, and finds nothing left of it and the node as good as before.
async fn run_and_check(stand: &mut Stand, order: LaunchOrder) -> StepEnd {
    let before = Before::of(stand);
    let order = before.own(order);
    let id = order.id;
    let end = stand.run(order).await;
    before.assert_nothing_left(stand, id).await;
    assert_works(stand).await;
    end
}

async fn assert_works(stand: &mut Stand) {
    let mut order = stand.order("true");
    order.stdout = "/dev/null".into();
    order.work_dir = "/".into();
    let end = stand.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 0), "the next job: {end:?}");
}

/// Starts it, and stops it once it said `up`.
async fn start_stop_and_check(stand: &mut Stand, order: LaunchOrder) -> StepEnd {
    let before = Before::of(stand);
    let id = stand.start(before.own(order)).await;
    stand.line("up").await;
    stand.steps().stop(id);
    let end = stand.end(id).await;
    before.assert_nothing_left(stand, id).await;
    assert_works(stand).await;
    end
}

#[tokio::test]
async fn a_script_without_an_interpreters_line() {
    needs_root!();
    let mut stand = node().await;
    let order = LaunchOrder { script: "echo hi\n".into(), ..stand.order("") };
    let end = run_and_check(&mut stand, order).await;
    assert_failed_with(&end, &["ENOEXEC", "first line names no interpreter", "#!/bin/sh"]);
}

#[tokio::test]
async fn a_script_whose_interpreter_is_missing() {
    needs_root!();
    let mut stand = node().await;
    let order = LaunchOrder { script: "#!/opt/none/python9\n".into(), ..stand.order("") };
    let end = run_and_check(&mut stand, order).await;
    assert_failed_with(&end, &["interpreter is not on this node", "/opt/none/python9"]);
}

#[tokio::test]
async fn a_user_that_the_node_does_not_know_runs_by_number_with_one_group() {
    needs_root!();
    let mut stand = node().await;
    let order = stand.order("id -u; id -G; echo $HOME");
    let before = Before::of(&stand);
    let (order, uid) = (before.own(order), before.uid());
    let id = order.id;
    let end = stand.run(order).await;
    assert!(end.exit.is_success(), "{end:?}");
    assert_eq!(stand.written("out"), format!("{uid}\n{uid}\n/\n"));
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn a_home_directory_that_is_missing_matters_only_to_who_goes_there() {
    needs_root!();
    let mut stand = node().await;
    let mut order = stand.order("cd || echo no home; pwd");
    order.environment.insert("HOME".into(), "/no/such/home".into());
    let work_dir = order.work_dir.clone();
    let end = run_and_check(&mut stand, order).await;
    assert!(end.exit.is_success(), "{end:?}");
    let out = stand.written("out");
    assert!(out.contains("/no/such/home") || out.contains("no home"), "{out}");
    assert!(out.ends_with(&format!("{work_dir}\n")), "{out}");
    let mut order = stand.order("true");
    order.work_dir = "/no/such/home".into();
    let end = run_and_check(&mut stand, order).await;
    assert_failed_with(&end, &["/no/such/home", "ENOENT", "--chdir"]);
}

/// A file system whose server never answers, like a home directory on a dead file server: whoever
/// looks at it waits.
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
async fn a_home_directory_that_hangs_holds_up_its_job_and_nobody_else() {
    needs_root!();
    let mut stand = node().await;
    see_tmp(&mut stand).await;
    let home = Hanging::mount(&stand.home().join("ada"));
    let before = Before::of(&stand);
    let mut order = before.own(stand.order("touch ran"));
    order.work_dir = home.path.display().to_string();
    let id = order.id;
    stand.steps().launch(order, &stand.gpus);
    stand.steps().go(id);
    stand::until("it is being prepared", || stand.step_dir(id).join("script").exists()).await;
    assert_works(&mut stand).await;
    let held = stand.steps().status().into_iter().find(|step| step.id == id);
    assert_eq!(held.map(|step| step.phase), Some(StepPhase::Preparing));
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.started_at), (EndCause::Stopped, None), "{end:?}");
    before.assert_nothing_left(&stand, id).await;
    // One who goes there by himself hangs by himself, and can be stopped all the same.
    let mut order = stand.order("ls $HOME & echo up > up; wait");
    order.kill_grace = Span(0);
    order.environment.insert("HOME".into(), home.path.display().to_string());
    let end = start_stop_and_check(&mut stand, order).await;
    assert_eq!(end.cause, EndCause::Stopped, "{end:?}");
}

#[tokio::test]
async fn a_prolog_that_never_ends_is_killed_and_its_job_is_for_another_node() {
    needs_root!();
    let mut stand = node().await;
    stand.close();
    let prolog = stand.program_of("prolog", "setsid sleep 600 & while :; do sleep 0.05; done");
    stand.rules.prolog = Some(prolog);
    stand.rules.hook_limit = Span(300);
    stand.open().await;
    let before = Before::of(&stand);
    let order = before.own(stand.order("touch ran"));
    let id = order.id;
    let end = stand.run(order).await;
    stand::assert_node_fault(&end, &["prolog", "did not end within 300ms and was killed"]);
    assert!(!stand.work_dir().join("ran").exists());
    before.assert_nothing_left(&stand, id).await;
    // One that waits for it can be stopped at once.
    stand.close();
    stand.rules.hook_limit = Span::from_minutes(60);
    stand.open().await;
    let order = before.own(stand.order("touch ran"));
    let id = order.id;
    stand.steps().launch(order, &stand.gpus);
    let running = stand.step_dir(id).join("prolog");
    stand::until("the prolog runs", || running.exists()).await;
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.started_at), (EndCause::Stopped, None), "{end:?}");
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn a_fork_bomb_is_held_to_its_processes_and_killed_to_the_last() {
    needs_root!();
    let mut stand = node().await;
    let before = Before::of(&stand);
    let bomb = "#!/usr/bin/env python3\nimport os\nwhile True:\n    try:\n        os.fork()\n    \
        except OSError:\n        pass\n";
    let mut order = before.own(LaunchOrder { script: bomb.into(), ..stand.order("") });
    order.kill_grace = Span(0);
    let id = stand.start(order).await;
    let processes = || -> Vec<String> {
        let files = stand.groups(id).into_iter().map(|group| group.join("pids.current"));
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    };
    stand::until("it has all its processes", || processes() == [format!("{PROCESSES_MAX}\n")])
        .await;
    assert_works(&mut stand).await;
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::Stopped, "{end:?}");
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn a_job_that_ignores_sigterm_is_killed_after_the_grace() {
    needs_root!();
    let mut stand = node().await;
    let mut order = stand.order("trap '' TERM; echo up > up; while :; do sleep 0.05; done");
    order.kill_grace = Span(200);
    let end = start_stop_and_check(&mut stand, order).await;
    assert_eq!((end.cause, end.exit.signal), (EndCause::Stopped, Some(9)), "{end:?}");
}

#[tokio::test]
async fn a_job_that_daemonises_leaves_no_daemon() {
    needs_root!();
    let mut stand = node().await;
    let order = stand.order(
        "setsid sh -c 'trap \"\" TERM HUP; (echo up > up; exec sleep 600) &' \
         </dev/null >/dev/null 2>&1 &\nwhile [ ! -s up ]; do sleep 0.02; done",
    );
    let end = run_and_check(&mut stand, order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 0), "{end:?}");
}

#[tokio::test]
async fn a_job_that_fills_dev_shm_is_out_of_its_own_memory() {
    needs_root!();
    let mut stand = node().await;
    let order = stand.order("head -c 200M /dev/zero > /dev/shm/fill; exit 3");
    let order = with_share(order, |share| share.memory = Bytes::from_mib(48));
    let end = run_and_check(&mut stand, order).await;
    // By its memory or by the size of the tmpfs, whichever is full first.
    let out = stand.written("out");
    let is_full = out.contains("No space left") && end.exit.code == 3;
    assert!(end.cause == EndCause::OutOfMemory || is_full, "{end:?} {out}");
}

/// A small disk that all may write to.
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
async fn a_job_that_fills_the_disk_of_the_spool_gives_it_back_at_its_end() {
    needs_root!();
    if statfs("/tmp").unwrap().filesystem_type() == TMPFS_MAGIC {
        println!("skipped: /tmp is in memory here, and so is each job's own, not in the spool");
        return;
    }
    let mut stand = node().await;
    stand.close();
    let disk = SmallDisk::mount(&stand.spool(), "mode=711,size=4m");
    stand.open().await;
    let order = stand.order(
        "until ! head -c 1M /dev/zero >> /tmp/fill; do :; done 2>/dev/null\n\
         while echo x >> /tmp/rest; do :; done 2>/dev/null\n\
         df --output=avail /tmp | tail -1; exit 3",
    );
    let end = run_and_check(&mut stand, order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 3), "{end:?}");
    assert_eq!(stand.written("out").trim(), "0", "it was full");
    stand.close();
    drop(disk);
    stand.open().await;
}

#[tokio::test]
async fn a_job_that_fills_the_disk_it_works_on_is_told_so_itself() {
    needs_root!();
    let mut stand = node().await;
    let _disk = SmallDisk::mount(&stand.work_dir(), "mode=777,size=1m");
    let order = stand.order("head -c 8M /dev/zero; echo $? >&2; exit 28");
    let end = run_and_check(&mut stand, order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 28), "{end:?}");
    let length = fs::metadata(stand.work_dir().join("out")).unwrap().len();
    assert!((1 << 19..=1 << 20).contains(&length), "{length}");
}

/// 10 GB in small: nothing of kant's is in the way of the output, so what 64 MB do not cost, 10 GB
/// do not cost either. On a /tmp in memory they are the job's own, which may have 256 MB. The limit
/// that users set themselves (`ulimit -f`) holds.
#[tokio::test]
async fn a_job_that_writes_without_end_writes_to_its_file_and_not_through_kant() {
    needs_root!();
    let mut stand = node().await;
    let order = stand.order("head -c 64M /dev/zero; echo up > up; sleep 600");
    let before = Before::of(&stand);
    let id = stand.start(before.own(order)).await;
    stand.line("up").await;
    let length = fs::metadata(stand.work_dir().join("out")).unwrap().len();
    assert_eq!(length, 64 << 20);
    assert!(memory_peak_kib(&stand, id) < 32 << 10, "{} KiB", memory_peak_kib(&stand, id));
    stand.steps().stop(id);
    assert_eq!(stand.end(id).await.cause, EndCause::Stopped);
    before.assert_nothing_left(&stand, id).await;
    let mut order = stand.order("ulimit -f 2048; exec head -c 64M /dev/zero");
    order.stdout = "limited".into();
    let end = run_and_check(&mut stand, order).await;
    assert_eq!(end.exit.signal, Some(nix::sys::signal::Signal::SIGXFSZ as u8), "{end:?}");
}

fn memory_peak_kib(stand: &Stand, id: AttemptId) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", stand.supervisor(id))).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn a_job_that_deletes_its_directory_goes_on_and_the_next_one_is_told() {
    needs_root!();
    let mut stand = node().await;
    // A working directory below a private one is a mount, which nobody can remove.
    see_tmp(&mut stand).await;
    let dir = stand.work_dir().join("mine");
    fs::create_dir(&dir).unwrap();
    stand::open_to_all(&dir, 0o777);
    let mut order = stand.order("rm -rf \"$PWD\"; cd / && exit 6");
    order.work_dir = dir.display().to_string();
    let end = run_and_check(&mut stand, order.clone()).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 6), "{end:?}");
    assert!(!dir.exists());
    order.id = stand.order("").id;
    let end = run_and_check(&mut stand, order).await;
    assert_failed_with(&end, &["failed to enter working directory", "ENOENT", "--chdir"]);
}
