//! Holding the processes of one step together: one small trait, three ways to do it (cgroups v2,
//! cgroups v1, and by process tree where there are no rights for either).
//! Never decides what a job may use; it is handed the limits.

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
pub(crate) use process::{Handle, catches, children_of, families, kill_descendants};
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

/// Minors from here on are the driver's control devices (modeset 254, nvidiactl 255): for all.
pub(crate) const NVIDIA_CONTROL_MINOR_MIN: u32 = 254;

/// How long to wait for a group to stand still before going on regardless.
const FREEZE_WAIT: Duration = Duration::from_millis(500);

/// Which way of holding processes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    V2,
    /// One hierarchy a controller, also on hybrid hosts.
    V1,
    /// No cgroups: descendants of the supervisor, found in /proc.
    None,
}

/// Where steps' groups are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub kind: Kind,
    /// The group above all steps, below the mount (`cgroup_root` of kantd.toml).
    pub root: String,
}

/// The group of one step's processes. Nothing happens to the system before `create`.
pub trait Cgroup: Send {
    /// Makes the group and sets its limits. An existing group is taken over.
    ///
    /// # Errors
    /// When the kernel refuses the group or a limit whose controller is there.
    fn create(&self, limits: &Limits) -> Result<(), CgroupError>;

    /// Open files: a process that writes `0` to each of them is in the group from then on, and so
    /// are its children. Made for the moment between fork and exec.
    ///
    /// # Errors
    /// When a file cannot be opened.
    fn gates(&self) -> Result<Vec<OwnedFd>, CgroupError>;

    /// The living processes of the group and of groups below it.
    ///
    /// # Errors
    /// When they cannot be listed. A group that is gone has none.
    fn pids(&self) -> Result<Vec<Pid>, CgroupError>;

    /// Stops all its processes where they are. Best effort: a process inside the kernel is late.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn freeze(&self) -> Result<(), CgroupError>;

    /// Lets them go on.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn thaw(&self) -> Result<(), CgroupError>;

    /// Stops all its processes until [`resume`](Self::resume), those that come to it too.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn suspend(&self) -> Result<(), CgroupError> {
        self.freeze()
    }

    /// Lets a suspended group go on.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn resume(&self) -> Result<(), CgroupError> {
        self.thaw()
    }

    /// How many processes the kernel killed because the group was at its memory limit.
    fn oom_kills(&self) -> u64;

    /// What its processes used so far; zeros where it cannot be measured.
    fn usage(&self) -> Usage;

    /// Removes the empty group: one try.
    ///
    /// # Errors
    /// When the kernel does not let go of it yet.
    fn remove(&self) -> Result<(), CgroupError>;

    /// What people call the group: a path or a description.
    fn name(&self) -> String;

    /// Sends a signal to those processes that are wanted, and counts them. The group stands still
    /// meanwhile: so nobody forks past the signal, and no pid is given to a stranger between
    /// listing and signalling.
    ///
    /// # Errors
    /// When processes cannot be listed.
    fn signal_those(
        &self,
        signal: Signal,
        wanted: &dyn Fn(Pid) -> bool,
    ) -> Result<usize, CgroupError> {
        // A refusal to freeze makes signalling less exact, not impossible.
        let _ = self.freeze();
        let listed = self.pids();
        let mut count = 0;
        for pid in listed.iter().flatten().filter(|pid| wanted(**pid)) {
            // Gone already is as good as signalled.
            count += usize::from(kill(*pid, signal).is_ok());
        }
        let _ = self.thaw();
        listed.map(|_| count)
    }

    /// Sends a signal to every process.
    ///
    /// # Errors
    /// As [`signal_those`](Self::signal_those).
    fn signal(&self, signal: Signal) -> Result<(), CgroupError> {
        self.signal_those(signal, &|_| true).map(drop)
    }

    /// Kills everything in the group, once; new processes may appear meanwhile.
    ///
    /// # Errors
    /// When processes cannot be listed.
    fn kill_once(&self) -> Result<(), CgroupError> {
        self.signal(Signal::SIGKILL)
    }
}

/// The group of a step, by the step's id. `supervisor`: the process all others descend from, while
/// it lives; only [`Kind::None`] needs it, and `owner`.
///
/// # Errors
/// When the mounted hierarchies cannot be read.
pub fn open(
    place: &Place,
    id: &str,
    owner: Uid,
    supervisor: Option<Pid>,
) -> Result<Box<dyn Cgroup>, CgroupError> {
    let mounts = mounts::read()?;
    let path = files::below(&place.root, id)?;
    Ok(match place.kind {
        Kind::V2 => Box::new(v2::Group::new(&mounts, &path)?),
        Kind::V1 => Box::new(v1::Group::new(&mounts, &path)),
        Kind::None => Box::new(tree::Tree::new(id, owner, supervisor)),
    })
}

/// A group of which nothing is known but its name; for looking.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_to_look(place: &Place, name: &str) -> Result<Box<dyn Cgroup>, CgroupError> {
    open(place, name, Uid(u32::MAX), None)
}

/// Takes the unified hierarchy out of sight where jobs do not use it, in mounts of one's own: crun
/// refuses hosts that have both.
///
/// # Errors
/// When the mounted hierarchies cannot be read, or the kernel refuses.
pub(crate) fn hide_unused(place: &Place) -> io::Result<()> {
    let unified = mounts::read().map_err(io::Error::other)?.v2;
    let unused = unified.filter(|_| place.kind == Kind::V1);
    Ok(unused.map_or(Ok(()), |unified| umount2(&unified, MntFlags::MNT_DETACH))?)
}

/// The names of all groups in a place, also of those whose steps are long gone. None without
/// cgroups.
///
/// # Errors
/// When the mounted hierarchies cannot be read.
pub(crate) fn names(place: &Place) -> Result<BTreeSet<String>, CgroupError> {
    let mounts = mounts::read()?;
    let points: Vec<PathBuf> = match place.kind {
        Kind::V2 => mounts.v2.into_iter().collect(),
        Kind::V1 => mounts.v1.into_values().collect(),
        Kind::None => Vec::new(),
    };
    let entries = points.iter().filter_map(|point| fs::read_dir(point.join(&place.root)).ok());
    let dirs = entries.flatten().flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
    Ok(dirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// Kills everything in a group until it is empty.
///
/// # Errors
/// [`CgroupError::Alive`] when processes are left at the deadline.
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

/// Removes a group; the kernel lets go of one only some moments after its last process.
///
/// # Errors
/// The last refusal, at the deadline.
pub fn remove(group: &dyn Cgroup, within: Duration) -> Result<(), CgroupError> {
    retry(within, || group.remove())
}

/// Tries until it succeeds or the time is up; the pauses grow from 1 to 20 ms.
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
