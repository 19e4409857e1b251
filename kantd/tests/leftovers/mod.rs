//! What a job may leave behind on a node, and the check that it left none of it: processes,
//! cgroups, mounts, files. Each job of a test that checks is a user's that nobody else is.
//! Never looks at what was there before, or at other users'.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "what cannot be looked at fails its test")]

use crate::stand::{Stand, is_alive, until};
use common::id::AttemptId;
use common::wire::node::LaunchOrder;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The first of the users that are in no database and nobody else.
const USERS: u32 = 41_000;

/// Where programs leave files.
const SHARED_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A node as it was, and a user whose jobs it then ran.
pub struct Before {
    uid: u32,
    mounts: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl Before {
    pub fn of(stand: &Stand) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let uid = USERS + COUNT.fetch_add(1, Ordering::Relaxed);
        Self { uid, mounts: mounts(stand), groups: groups(stand) }
    }

    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The same order, this user's.
    pub fn own(&self, mut order: LaunchOrder) -> LaunchOrder {
        (order.owner.uid.0, order.owner.gid.0) = (self.uid, self.uid);
        order
    }

    /// Nothing of an ended attempt is left; once it is forgotten, its directory is gone too.
    pub async fn assert_nothing_left(&self, stand: &Stand, id: AttemptId) {
        assert_eq!(processes_of(self.uid), Vec::<String>::new(), "processes");
        stand.assert_no_group(id);
        assert_eq!(groups(stand), self.groups, "cgroups");
        assert_eq!(mounts(stand), self.mounts, "mounts");
        assert_eq!(files_of(self.uid), Vec::<PathBuf>::new(), "files");
        let dir = stand.step_dir(id);
        let kept = ["private", "container"].into_iter().find(|name| dir.join(name).exists());
        assert_eq!(kept, None, "what was made for it");
        let supervisor = dir.exists().then(|| stand.supervisor(id).as_raw());
        stand.steps().forget(id);
        until("the step is forgotten", || !dir.exists()).await;
        until("its supervisor is gone", || !supervisor.is_some_and(is_alive)).await;
    }
}

/// Living processes of a user, by name.
fn processes_of(uid: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let status = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("status")).ok();
    let is_theirs = |status: &String| {
        status.contains(&format!("\nUid:\t{uid}\t")) && !status.contains("\nState:\tZ")
    };
    let name = |status: String| status.lines().next().unwrap_or_default().to_owned();
    entries.filter_map(status).filter(is_theirs).map(name).collect()
}

/// Mounts that have to do with this stand, as the machine sees them.
fn mounts(stand: &Stand) -> BTreeSet<String> {
    let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let home = stand.home().display().to_string();
    let of_us = |line: &&str| line.contains(&home) || line.contains(" kant ");
    all.lines().filter(of_us).filter_map(|line| line.split(' ').nth(4)).map(str::to_owned).collect()
}

/// All groups below the stand's root, in all hierarchies.
fn groups(stand: &Stand) -> BTreeSet<String> {
    let roots = crate::stand::groups_below(Path::new(&stand.place.root));
    let below = roots.iter().flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten());
    let dirs = below.filter(|entry| entry.path().is_dir());
    dirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A user's files where all may write.
fn files_of(uid: u32) -> Vec<PathBuf> {
    let entries = SHARED_DIRS.iter().flat_map(|dir| fs::read_dir(dir).into_iter().flatten());
    let is_theirs = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|m| m.uid() == uid);
    entries.flatten().filter(is_theirs).map(|entry| entry.path()).collect()
}
