//! A step's cgroup in the v1 hierarchies: cpuset, cpuacct, memory, devices, freezer, pids (kernel
//! Documentation/admin-guide/cgroup-v1). A hierarchy without permission is left out, which `detect`
//! reports once.

use super::mounts::Mounts;
use super::{Cgroup, CgroupError, FREEZE_WAIT, Limits, files};
use common::gpu::mig::DeviceNumber;
use common::job::Usage;
use common::time::Span;
use common::unit::Bytes;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The controllers and their use, as the end of "jobs are not ...".
pub const CONTROLLERS: [(&str, &str); 6] = [
    ("cpuset", "confined to their CPUs"),
    ("memory", "limited to their memory"),
    ("devices", "denied other jobs' GPUs"),
    ("pids", "limited in their number of processes"),
    ("freezer", "killed as a whole, only process by process"),
    ("cpuacct", "measured for CPU time"),
];

/// One cgroup in several hierarchies.
pub struct Group {
    mounts: Vec<(&'static str, PathBuf)>,
    /// Relative to each mount point.
    path: PathBuf,
}

impl Group {
    /// The cgroup in the mounted hierarchies.
    pub fn new(mounts: &Mounts, path: &Path) -> Self {
        let found = |name| mounts.v1.get(name).map(|point| (name, point.clone()));
        let mounts = CONTROLLERS.iter().filter_map(|(name, _)| found(*name)).collect();
        Self { mounts, path: path.to_owned() }
    }

    /// The cgroup's directory in a controller's hierarchy, if it exists.
    fn dir(&self, controller: &str) -> Option<PathBuf> {
        let (_, mount) = self.mounts.iter().find(|(name, _)| *name == controller)?;
        Some(mount.join(&self.path)).filter(|dir| dir.is_dir())
    }

    /// The cgroup's directories that exist.
    fn dirs(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.mounts.iter().map(|(_, mount)| mount.join(&self.path)).filter(|dir| dir.is_dir())
    }

    /// The missing controllers, after the cgroup was created.
    pub fn missing_controllers(&self) -> Vec<(&'static str, &'static str)> {
        CONTROLLERS.into_iter().filter(|(name, _)| self.dir(name).is_none()).collect()
    }

    fn set_freezer(&self, state: &str) -> Result<(), CgroupError> {
        match self.dir("freezer") {
            Some(dir) => files::write(&dir.join("freezer.state"), state),
            None => Ok(()),
        }
    }

    fn limit(&self, limits: &Limits) -> Result<(), CgroupError> {
        if let Some(dir) = self.dir("cpuset").filter(|_| !limits.cpus.is_empty()) {
            files::write(&dir.join("cpuset.cpus"), &limits.cpus.to_string())?;
        }
        if let (Some(dir), Some(memory)) = (self.dir("memory"), limits.memory) {
            limit_memory(&dir, memory)?;
        }
        if let (Some(dir), Some(pids)) = (self.dir("pids"), limits.pids) {
            files::write(&dir.join("pids.max"), &pids.to_string())?;
        }
        if let Some(dir) = self.dir("devices") {
            for DeviceNumber { major, minor } in limits.denied_devices() {
                files::write(&dir.join("devices.deny"), &format!("c {major}:{minor} rwm"))?;
            }
        }
        Ok(())
    }
}

/// Makes the cgroup and its parents. A new cpuset is empty, and no process may join an empty one.
fn make_path(controller: &str, mount: &Path, path: &Path) -> Result<(), CgroupError> {
    let mut dir = mount.to_owned();
    for part in path {
        let above = dir.clone();
        dir.push(part);
        files::make(&dir)?;
        if controller == "cpuset" {
            for file in ["cpuset.cpus", "cpuset.mems"] {
                if files::read(&dir.join(file))?.is_empty() {
                    files::write(&dir.join(file), &files::read(&above.join(file))?)?;
                }
            }
        }
    }
    Ok(())
}

/// Sets the memory limit before the limit with swap, which must never be smaller; an existing
/// cgroup may need the other order if the limit grows.
fn limit_memory(dir: &Path, memory: Bytes) -> Result<(), CgroupError> {
    let value = memory.0.to_string();
    let with_swap = dir.join("memory.memsw.limit_in_bytes");
    let has_swap = with_swap.exists();
    let widened = has_swap && files::write(&with_swap, &value).is_ok();
    files::write(&dir.join("memory.limit_in_bytes"), &value)?;
    if has_swap && !widened {
        files::write(&with_swap, &value)?;
    }
    Ok(())
}

impl Cgroup for Group {
    fn create(&self, limits: &Limits) -> Result<(), CgroupError> {
        for (controller, mount) in &self.mounts {
            match make_path(controller, mount, &self.path) {
                Err(error) if !error.is_refusal() => return Err(error),
                _ => {}
            }
        }
        self.limit(limits)
    }

    fn entry_files(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        self.dirs().map(|dir| files::open_to_write(&dir.join("cgroup.procs"))).collect()
    }

    fn pids(&self) -> Result<Vec<Pid>, CgroupError> {
        let mut pids = Vec::new();
        for dir in self.dirs() {
            pids.extend(files::processes(&dir)?);
        }
        pids.sort_unstable();
        pids.dedup();
        Ok(pids)
    }

    fn freeze(&self) -> Result<(), CgroupError> {
        let Some(dir) = self.dir("freezer") else { return Ok(()) };
        self.set_freezer("FROZEN")?;
        let deadline = Instant::now() + FREEZE_WAIT;
        while files::read(&dir.join("freezer.state"))? != "FROZEN" && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn thaw(&self) -> Result<(), CgroupError> {
        self.set_freezer("THAWED")
    }

    /// Uses signals where there is no freezer.
    fn suspend(&self) -> Result<(), CgroupError> {
        match self.dir("freezer") {
            Some(_) => self.freeze(),
            None => self.signal(Signal::SIGSTOP),
        }
    }

    fn resume(&self) -> Result<(), CgroupError> {
        match self.dir("freezer") {
            Some(_) => self.thaw(),
            None => self.signal(Signal::SIGCONT),
        }
    }

    fn oom_kills(&self) -> u64 {
        let dir = self.dir("memory");
        let file = dir.map(|dir| dir.join("memory.oom_control"));
        file.and_then(|file| files::read_keyed_number(&file, "oom_kill")).unwrap_or(0)
    }

    fn usage(&self) -> Usage {
        let number = |controller: &str, file: &str| {
            self.dir(controller).and_then(|dir| files::read_number(&dir.join(file))).unwrap_or(0)
        };
        Usage {
            cpu: Span(number("cpuacct", "cpuacct.usage") / 1_000_000),
            memory_peak: Bytes(number("memory", "memory.max_usage_in_bytes")),
            ..Usage::default()
        }
    }

    fn remove(&self) -> Result<(), CgroupError> {
        self.dirs().try_for_each(|dir| files::remove_tree(&dir))
    }

    fn name(&self) -> String {
        format!("cgroup {}", self.path.display())
    }
}
