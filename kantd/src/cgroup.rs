//! Tracking and limiting the processes of a step: one trait with three implementations (cgroups v2,
//! cgroups v1, and the process tree where neither is available).

mod detect;
mod device_program;
mod error;
mod files;
mod limits;
mod mounts;
mod process;
mod tree;
mod v1;
mod v2;

pub use detect::{Detected, detect};
pub use error::CgroupError;
pub use limits::Limits;
pub(crate) use process::{
    ProcessHandle, children_of, has_handler, kill_descendants, with_descendants,
};
pub(crate) use tree::MARK;

use common::id::Uid;
use common::job::Usage;
use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The major number of /dev/nvidiaN (Linux, Documentation/admin-guide/devices.txt).
pub(crate) const NVIDIA_MAJOR: u32 = 195;

/// The major number of /dev/dri/renderDN (the same list).
pub(crate) const DRM_MAJOR: u32 = 226;

/// Minors from here on are the driver's control devices (modeset 254, nvidiactl 255), for all
/// users.
pub(crate) const NVIDIA_CONTROL_MINOR_MIN: u32 = 254;

/// How long to wait for a cgroup to freeze before continuing regardless.
const FREEZE_WAIT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    V2,
    /// One hierarchy for each controller; also on hybrid hosts.
    V1,
    /// No cgroups: the descendants of the supervisor, found in /proc.
    None,
}

/// Where the cgroups of steps are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupParent {
    pub kind: Kind,
    /// The cgroup above all steps, below the mount (`cgroup_root` of kantd.toml).
    pub root: String,
}

/// The cgroup of one step. It does not exist before `create`.
pub trait Cgroup: Send {
    /// Makes the cgroup, or takes over an existing one, and sets its limits.
    ///
    /// # Errors
    /// When the kernel refuses the cgroup, or a limit whose controller exists.
    fn create(&self, limits: &Limits) -> Result<(), CgroupError>;

    /// Open files that move a process into the cgroup when it writes `0` to each of them, and with
    /// it its future children. For use between fork and exec.
    ///
    /// # Errors
    /// When a file cannot be opened.
    fn entry_files(&self) -> Result<Vec<OwnedFd>, CgroupError>;

    /// The living processes of the cgroup and of those below it.
    ///
    /// # Errors
    /// When they cannot be listed. A removed cgroup has none.
    fn pids(&self) -> Result<Vec<Pid>, CgroupError>;

    /// Stops all processes. Best effort: a process inside the kernel stops later.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn freeze(&self) -> Result<(), CgroupError>;

    /// Continues all processes.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn thaw(&self) -> Result<(), CgroupError>;

    /// Stops all processes until [`resume`](Self::resume), including those that join later.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn suspend(&self) -> Result<(), CgroupError> {
        self.freeze()
    }

    /// Continues a suspended cgroup.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn resume(&self) -> Result<(), CgroupError> {
        self.thaw()
    }

    /// Number of processes that the kernel killed because of the memory limit.
    fn oom_kills(&self) -> u64;

    /// Resources used so far; zero where that cannot be measured.
    fn usage(&self) -> Usage;

    /// Tries once to remove the empty cgroup.
    ///
    /// # Errors
    /// When the kernel does not release it yet.
    fn remove(&self) -> Result<(), CgroupError>;

    /// The cgroup in messages: a path or a description.
    fn name(&self) -> String;

    /// Sends a signal to the processes that `wanted` selects, and counts them. The cgroup is frozen
    /// meanwhile, so that no process forks past the signal and no pid is reused between listing and
    /// signalling.
    ///
    /// # Errors
    /// When processes cannot be listed.
    fn signal_matching(
        &self,
        signal: Signal,
        wanted: &dyn Fn(Pid) -> bool,
    ) -> Result<usize, CgroupError> {
        // Without freezing, signalling is less exact but possible.
        let _ = self.freeze();
        let listed = self.pids();
        let mut count = 0;
        for pid in listed.iter().flatten().filter(|pid| wanted(**pid)) {
            // A process that is gone needs no signal.
            count += usize::from(kill(*pid, signal).is_ok());
        }
        let _ = self.thaw();
        listed.map(|_| count)
    }

    /// Sends a signal to every process.
    ///
    /// # Errors
    /// As [`signal_matching`](Self::signal_matching).
    fn signal(&self, signal: Signal) -> Result<(), CgroupError> {
        self.signal_matching(signal, &|_| true).map(drop)
    }

    /// Kills all processes once; new ones may appear meanwhile.
    ///
    /// # Errors
    /// When processes cannot be listed.
    fn kill_once(&self) -> Result<(), CgroupError> {
        self.signal(Signal::SIGKILL)
    }
}

/// The cgroup of a step, by the step's id. Only [`Kind::None`] uses `supervisor`, the living
/// ancestor of all its processes, and `owner`.
///
/// # Errors
/// When the mounted hierarchies cannot be read.
pub fn open(
    parent: &CgroupParent,
    id: &str,
    owner: Uid,
    supervisor: Option<Pid>,
) -> Result<Box<dyn Cgroup>, CgroupError> {
    let mounts = mounts::read()?;
    let path = files::cgroup_path(&parent.root, id)?;
    Ok(match parent.kind {
        Kind::V2 => Box::new(v2::Group::new(&mounts, &path)?),
        Kind::V1 => Box::new(v1::Group::new(&mounts, &path)),
        Kind::None => Box::new(tree::Tree::new(id, owner, supervisor)),
    })
}

/// A cgroup known by its name only, for reading.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_by_name(
    parent: &CgroupParent,
    name: &str,
) -> Result<Box<dyn Cgroup>, CgroupError> {
    open(parent, name, Uid(u32::MAX), None)
}

/// Unmounts the unified hierarchy where jobs do not use it, because crun refuses hosts with both.
/// Only in a private mount namespace.
///
/// # Errors
/// When the mounted hierarchies cannot be read, or the kernel refuses.
pub(crate) fn unmount_unused_hierarchy(parent: &CgroupParent) -> io::Result<()> {
    let unified = mounts::read().map_err(io::Error::other)?.v2;
    let unused = unified.filter(|_| parent.kind == Kind::V1);
    Ok(unused.map_or(Ok(()), |unified| umount2(&unified, MntFlags::MNT_DETACH))?)
}

/// The names of all cgroups in a place, including those of former steps. None without cgroups.
///
/// # Errors
/// When the mounted hierarchies cannot be read.
pub(crate) fn names(parent: &CgroupParent) -> Result<BTreeSet<String>, CgroupError> {
    let mounts = mounts::read()?;
    let points: Vec<PathBuf> = match parent.kind {
        Kind::V2 => mounts.v2.into_iter().collect(),
        Kind::V1 => mounts.v1.into_values().collect(),
        Kind::None => Vec::new(),
    };
    let entries = points.iter().filter_map(|point| fs::read_dir(point.join(&parent.root)).ok());
    let dirs = entries.flatten().flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
    Ok(dirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// Kills all processes of a cgroup until it is empty.
///
/// # Errors
/// [`CgroupError::Alive`] when processes remain at the deadline.
pub fn kill_all(group: &dyn Cgroup, within: Duration) -> Result<(), CgroupError> {
    retry(within, || {
        let pids = group.pids()?;
        if pids.is_empty() {
            return Ok(());
        }
        group.kill_once()?;
        Err(CgroupError::Alive {
            group: group.name(),
            pids: pids.iter().map(|p| p.as_raw()).collect(),
        })
    })
}

/// Removes a cgroup, which the kernel releases only some moments after its last process.
///
/// # Errors
/// The last refusal, at the deadline.
pub fn remove(group: &dyn Cgroup, within: Duration) -> Result<(), CgroupError> {
    retry(within, || group.remove())
}

/// Retries until the deadline, with pauses that grow from 1 to 20 ms.
fn retry(
    within: Duration,
    mut attempt: impl FnMut() -> Result<(), CgroupError>,
) -> Result<(), CgroupError> {
    let deadline = Instant::now() + within;
    let mut pause = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(_) if Instant::now() < deadline => std::thread::sleep(pause),
            result => return result,
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
