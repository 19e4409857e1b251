//! Directories that a step has for itself: nobody else's files are in them, nothing of them stays,
//! and what the user needs from outside is still where it was.

mod leftovers;
mod stand;

use common::job::EndCause;
use common::unit::Bytes;
use leftovers::Before;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use stand::{Stand, with_share};
use std::fs;

async fn node() -> Stand {
    let mut stand = Stand::new().await;
    stand.close();
    stand.rules.private_dirs = vec!["/tmp".into(), "/dev/shm".into()];
    stand.open().await;
    stand
}

#[tokio::test]
async fn a_job_sees_no_files_of_others_and_others_see_none_of_it() {
    needs_root!();
    let mut stand = node().await;
    let before = Before::of(&stand);
    let mut order = before.own(stand.order(
        "ls -A /dev/shm; stat -c %a /tmp /dev/shm; touch /tmp/mine /dev/shm/mine; \
         echo $TMPDIR; echo up > up; while [ ! -e done ]; do sleep 0.02; done; ls /dev/shm",
    ));
    order.environment.insert("TMPDIR".into(), "/tmp/of-the-submitting-session".into());
    let id = stand.start(order).await;
    stand.line("up").await;
    let other = stand.order("ls -A /tmp /dev/shm");
    let other = common::wire::node::LaunchOrder { stdout: "other".into(), ..other };
    assert!(stand.run(other).await.exit.is_success());
    // The way to the working directory is all that there is in another job's /tmp.
    let home = stand.home().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(stand.written("other"), format!("/dev/shm:\n\n/tmp:\n{home}\n"));
    assert!(!["/tmp/mine", "/dev/shm/mine"].iter().any(|file| fs::exists(file).unwrap()));
    fs::write(stand.work_dir().join("done"), "").unwrap();
    assert!(stand.end(id).await.exit.is_success());
    assert_eq!(stand.written("out"), "1777\n1777\n/tmp\nmine\n");
    before.assert_nothing_left(&stand, id).await;
}

/// On a machine with systemd every mount is shared: what is mounted in a job's /tmp must not show
/// in the spool that it is kept in.
#[tokio::test]
async fn mounts_of_a_job_are_seen_by_nobody_though_the_machines_are_shared() {
    needs_root!();
    let mut stand = Stand::new().await;
    stand.close();
    let (home, none) = (stand.home().to_owned(), None::<&str>);
    mount(Some(&home), &home, none, MsFlags::MS_BIND, none).unwrap();
    mount(none, &home, none, MsFlags::MS_SHARED, none).unwrap();
    stand.rules.private_dirs = vec!["/tmp".into()];
    stand.open().await;
    let before = Before::of(&stand);
    let order = before.own(stand.order("echo up > up; while [ ! -e done ]; do sleep 0.02; done"));
    let id = stand.start(order).await;
    stand.line("up").await;
    let mounted = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let ours: Vec<&str> =
        mounted.lines().filter(|l| l.contains(&*home.to_string_lossy())).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    fs::write(stand.work_dir().join("done"), "").unwrap();
    assert!(stand.end(id).await.exit.is_success());
    before.assert_nothing_left(&stand, id).await;
    umount2(&home, MntFlags::MNT_DETACH).unwrap();
}

#[tokio::test]
async fn a_private_tmpfs_is_as_large_as_the_jobs_memory() {
    needs_root!();
    let mut stand = node().await;
    let order = stand.order("df --output=size --block-size=1M /dev/shm | tail -1");
    let order = with_share(order, |share| share.memory = Bytes::from_mib(96));
    assert!(stand.run(order).await.exit.is_success());
    assert_eq!(stand.written("out").trim(), "96");
}

#[tokio::test]
async fn what_a_lost_step_left_in_its_directories_is_removed() {
    needs_root!();
    let mut stand = node().await;
    let before = Before::of(&stand);
    let id = stand.start(before.own(stand.order("touch /tmp/x; echo up > up; sleep 600"))).await;
    stand.line("up").await;
    assert!(stand.step_dir(id).join("private").exists());
    stand.kill_supervisor(id).await;
    assert_eq!(stand.end(id).await.cause, EndCause::Lost);
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_private_is_the_nodes_fault() {
    needs_root!();
    let mut stand = Stand::new().await;
    stand.close();
    stand.rules.private_dirs = vec!["/no/such/dir".into()];
    stand.open().await;
    let before = Before::of(&stand);
    let order = before.own(stand.order("touch ran"));
    let id = order.id;
    let end = stand.run(order).await;
    stand::assert_node_fault(&end, &["private directories", "private_dirs", "n1"]);
    assert!(!stand.work_dir().join("ran").exists());
    before.assert_nothing_left(&stand, id).await;
}
