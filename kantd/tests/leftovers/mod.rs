//! Checks that a job left nothing on a node: processes, cgroups, mounts, files. Each checking test
//! runs its jobs as its own user, and ignores other users and what was there before.

use crate::harness::{StepHarness, is_alive, until};
use common::id::AttemptId;
use common::job::StepEnd;
use common::wire::node::LaunchOrder;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The first uid of the test users, which are in no user database, and which no other test uses.
const USERS: u32 = 41_000;

/// Directories in which programs leave files.
const SHARED_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The state of a node before a test, and the user of the test's jobs.
pub struct Before {
    uid: u32,
    mounts: BTreeSet<String>,
    groups: BTreeSet<String>,
}

impl Before {
    pub fn of(harness: &StepHarness) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let uid = USERS + COUNT.fetch_add(1, Ordering::Relaxed);
        Self { uid, mounts: mounts(harness), groups: groups(harness) }
    }

    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The same launch order, for this user.
    pub fn own(&self, mut order: LaunchOrder) -> LaunchOrder {
        (order.owner.uid.0, order.owner.gid.0) = (self.uid, self.uid);
        order
    }

    /// Checks that nothing of an ended attempt is left; when it is forgotten, not even its
    /// directory.
    pub async fn assert_nothing_left(&self, harness: &StepHarness, id: AttemptId) {
        assert_eq!(processes_of(self.uid), Vec::<String>::new(), "processes");
        harness.assert_no_group(id);
        assert_eq!(groups(harness), self.groups, "cgroups");
        assert_eq!(mounts(harness), self.mounts, "mounts");
        assert_eq!(files_of(self.uid), Vec::<PathBuf>::new(), "files");
        let dir = harness.step_dir(id);
        let kept = ["private", "container"].into_iter().find(|name| dir.join(name).exists());
        assert_eq!(kept, None, "files made for the step");
        let supervisor = dir.exists().then(|| harness.supervisor(id).as_raw());
        harness.steps().forget(id);
        until("the step is forgotten", || !dir.exists()).await;
        until("its supervisor is gone", || !supervisor.is_some_and(is_alive)).await;
    }
}

/// Runs a job, and checks that nothing is left of it.
pub async fn run_and_check(harness: &mut StepHarness, order: LaunchOrder) -> StepEnd {
    let before = Before::of(harness);
    let order = before.own(order);
    let id = order.id;
    let end = harness.run(order).await;
    before.assert_nothing_left(harness, id).await;
    end
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

/// Mounts that belong to this harness, in the machine's namespace.
fn mounts(harness: &StepHarness) -> BTreeSet<String> {
    let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let home = harness.home().display().to_string();
    let of_us = |line: &&str| line.contains(&home) || line.contains(" kant ");
    all.lines().filter(of_us).filter_map(|line| line.split(' ').nth(4)).map(str::to_owned).collect()
}

/// All cgroups below the harness's root, in all hierarchies.
fn groups(harness: &StepHarness) -> BTreeSet<String> {
    let roots = crate::harness::groups_below(Path::new(&harness.cgroup.root));
    let below = roots.iter().flat_map(|root| fs::read_dir(root).into_iter().flatten().flatten());
    let dirs = below.filter(|entry| entry.path().is_dir());
    dirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A user's files in directories that all users may write.
fn files_of(uid: u32) -> Vec<PathBuf> {
    let entries = SHARED_DIRS.iter().flat_map(|dir| fs::read_dir(dir).into_iter().flatten());
    let is_theirs = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|m| m.uid() == uid);
    entries.flatten().filter(is_theirs).map(|entry| entry.path()).collect()
}
