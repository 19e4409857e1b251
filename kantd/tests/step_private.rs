//! Private directories of a step: they hold no files of others, nothing of them stays, and the
//! user's working directory is still visible.

use crate::harness::{self, StepHarness, with_share};
use crate::leftovers::{Before, run_and_check};
use common::job::EndCause;
use common::unit::Bytes;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;

#[tokio::test]
async fn jobs_do_not_see_each_others_files() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let before = Before::of(&harness);
    let mut order = before.own(harness.order(
        "ls -A /dev/shm; stat -c %a /tmp /dev/shm; touch /tmp/mine /dev/shm/mine; \
         echo $TMPDIR; echo up > up; while [ ! -e done ]; do sleep 0.02; done; ls /dev/shm",
    ));
    order.environment.insert("TMPDIR".into(), "/tmp/of-the-submitting-session".into());
    let id = harness.start(order).await;
    harness.line("up").await;
    let other = harness.order("ls -A /tmp /dev/shm");
    let other = common::wire::node::LaunchOrder { stdout: "other".into(), ..other };
    assert!(harness.run(other).await.exit.is_success());
    // Another job's /tmp has only the path to the working directory.
    let home = harness.home().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(harness.written("other"), format!("/dev/shm:\n\n/tmp:\n{home}\n"));
    assert!(!["/tmp/mine", "/dev/shm/mine"].iter().any(|file| fs::exists(file).unwrap()));
    fs::write(harness.work_dir().join("done"), "").unwrap();
    assert!(harness.end(id).await.exit.is_success());
    assert_eq!(harness.written("out"), "1777\n1777\n/tmp\nmine\n");
    before.assert_nothing_left(&harness, id).await;
}

/// On a machine with systemd every mount is shared: a mount in a job's /tmp must not show in the
/// spool.
#[tokio::test]
async fn mounts_of_a_job_do_not_propagate_even_if_the_machines_are_shared() {
    let Some(mut harness) = StepHarness::new().await else { return };
    harness.close();
    let (home, none) = (harness.home().to_owned(), None::<&str>);
    mount(Some(&home), &home, none, MsFlags::MS_BIND, none).unwrap();
    mount(none, &home, none, MsFlags::MS_SHARED, none).unwrap();
    harness.rules.private_dirs = vec!["/tmp".into()];
    harness.open().await;
    let before = Before::of(&harness);
    let order = before.own(harness.order("echo up > up; while [ ! -e done ]; do sleep 0.02; done"));
    let id = harness.start(order).await;
    harness.line("up").await;
    let mounted = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let ours: Vec<&str> =
        mounted.lines().filter(|l| l.contains(&*home.to_string_lossy())).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    fs::write(harness.work_dir().join("done"), "").unwrap();
    assert!(harness.end(id).await.exit.is_success());
    before.assert_nothing_left(&harness, id).await;
    umount2(&home, MntFlags::MNT_DETACH).unwrap();
}

#[tokio::test]
async fn a_private_tmpfs_is_as_large_as_the_jobs_memory() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let order = harness.order("df --output=size --block-size=1M /dev/shm | tail -1");
    let order = with_share(order, |share| share.memory = Bytes::from_mib(96));
    assert!(harness.run(order).await.exit.is_success());
    assert_eq!(harness.written("out").trim(), "96");
}

#[tokio::test]
async fn files_of_a_lost_step_are_removed() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let before = Before::of(&harness);
    let id =
        harness.start(before.own(harness.order("touch /tmp/x; echo up > up; sleep 600"))).await;
    harness.line("up").await;
    assert!(harness.step_dir(id).join("private").exists());
    harness.kill_supervisor(id).await;
    assert_eq!(harness.end(id).await.cause, EndCause::Lost);
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_private_is_the_nodes_fault() {
    let harness =
        StepHarness::with_rules(|rules| rules.private_dirs = vec!["/no/such/dir".into()]).await;
    let Some(mut harness) = harness else { return };
    let order = harness.order("touch ran");
    let end = run_and_check(&mut harness, order).await;
    harness::assert_node_fault(&end, &["private directories", "private_dirs", "n1"]);
    assert!(!harness.work_dir().join("ran").exists());
}
