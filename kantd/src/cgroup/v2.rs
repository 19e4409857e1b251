//! A step's cgroup in the unified hierarchy (kernel Documentation/admin-guide/cgroup-v2.rst), with
//! a BPF program that denies devices. Outside its root it only enables controllers on the path to
//! it.

use super::mounts::Mounts;
use super::{Cgroup, CgroupError, FREEZE_WAIT, Limits, device_program, files};
use common::job::Usage;
use common::time::Span;
use common::unit::Bytes;
use nix::unistd::Pid;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The controllers and their use, as the end of "jobs are not ...".
pub const CONTROLLERS: [(&str, &str); 3] = [
    ("cpuset", "confined to their CPUs"),
    ("memory", "limited to their memory"),
    ("pids", "limited in their number of processes"),
];

pub struct Group {
    mount: PathBuf,
    /// Relative to the mount point.
    path: PathBuf,
}

impl Group {
    /// The cgroup in the mounted hierarchy.
    pub fn new(mounts: &Mounts, path: &Path) -> Result<Self, CgroupError> {
        let mount = mounts.v2.clone().ok_or(CgroupError::NotMounted("v2"))?;
        Ok(Self { mount, path: path.to_owned() })
    }

    fn dir(&self) -> PathBuf {
        self.mount.join(&self.path)
    }

    /// The missing controllers, after the cgroup was created.
    pub fn missing_controllers(&self) -> Vec<(&'static str, &'static str)> {
        let present = files::read(&self.dir().join("cgroup.controllers")).unwrap_or_default();
        let lacks = |(name, _): &(&str, &str)| !present.split(' ').any(|word| word == *name);
        CONTROLLERS.into_iter().filter(lacks).collect()
    }

    /// Whether the cgroup has this file of a controller.
    fn has_file(&self, file: &str) -> bool {
        self.dir().join(file).exists()
    }

    fn limit(&self, limits: &Limits) -> Result<(), CgroupError> {
        let dir = self.dir();
        if !limits.cpus.is_empty() && self.has_file("cpuset.cpus") {
            files::write(&dir.join("cpuset.cpus"), &limits.cpus.to_string())?;
        }
        if let Some(memory) = limits.memory.filter(|_| self.has_file("memory.max")) {
            files::write(&dir.join("memory.max"), &memory.0.to_string())?;
            // A job that lost one process to its limit is rarely of use: the kernel kills all of
            // it.
            files::write(&dir.join("memory.oom.group"), "1")?;
            if self.has_file("memory.swap.max") {
                files::write(&dir.join("memory.swap.max"), "0")?;
            }
        }
        if let Some(pids) = limits.pids.filter(|_| self.has_file("pids.max")) {
            files::write(&dir.join("pids.max"), &pids.to_string())?;
        }
        match device_program::deny_devices(&dir, limits) {
            Err(error) if !error.is_refusal() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Enables the wanted controllers that a cgroup has for the cgroups below it.
///
/// Not if processes live in the cgroup itself (in a container without its own init): the kernel
/// then refuses some controllers, and the others make all cgroups below unfit for processes
/// ("domain invalid"). Only the machine's root cgroup may have both.
fn enable_below(dir: &Path) -> Result<(), CgroupError> {
    let is_machines_root = !dir.join("cgroup.type").exists();
    if !is_machines_root && !files::read(&dir.join("cgroup.procs"))?.is_empty() {
        return Ok(());
    }
    let offered = files::read(&dir.join("cgroup.controllers"))?;
    let enabled = files::read(&dir.join("cgroup.subtree_control"))?;
    for (name, _) in CONTROLLERS {
        let has = |list: &str| list.split(' ').any(|word| word == name);
        if has(&offered) && !has(&enabled) {
            files::write(&dir.join("cgroup.subtree_control"), &format!("+{name}"))?;
        }
    }
    Ok(())
}

impl Cgroup for Group {
    fn create(&self, limits: &Limits) -> Result<(), CgroupError> {
        let mut dir = self.mount.clone();
        for part in &self.path {
            match enable_below(&dir) {
                Err(error) if !error.is_refusal() => return Err(error),
                _ => {}
            }
            dir.push(part);
            files::make(&dir)?;
        }
        self.limit(limits)
    }

    fn entry_files(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        files::open_to_write(&self.dir().join("cgroup.procs")).map(|entry_file| vec![entry_file])
    }

    fn pids(&self) -> Result<Vec<Pid>, CgroupError> {
        files::processes(&self.dir())
    }

    fn freeze(&self) -> Result<(), CgroupError> {
        let dir = self.dir();
        files::write(&dir.join("cgroup.freeze"), "1")?;
        let frozen = || files::read_keyed_number(&dir.join("cgroup.events"), "frozen") == Some(1);
        let deadline = Instant::now() + FREEZE_WAIT;
        while !frozen() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn thaw(&self) -> Result<(), CgroupError> {
        files::write(&self.dir().join("cgroup.freeze"), "0")
    }

    fn oom_kills(&self) -> u64 {
        files::read_keyed_number(&self.dir().join("memory.events"), "oom_kill").unwrap_or(0)
    }

    fn usage(&self) -> Usage {
        let dir = self.dir();
        let cpu_us = files::read_keyed_number(&dir.join("cpu.stat"), "usage_usec").unwrap_or(0);
        Usage {
            cpu: Span(cpu_us / 1000),
            memory_peak: Bytes(files::read_number(&dir.join("memory.peak")).unwrap_or(0)),
            ..Usage::default()
        }
    }

    fn remove(&self) -> Result<(), CgroupError> {
        files::remove_tree(&self.dir())
    }

    fn name(&self) -> String {
        format!("cgroup {}", self.path.display())
    }

    /// Uses cgroup.kill (Linux 5.14), which no fork escapes; else freezes and kills one by one.
    fn kill_once(&self) -> Result<(), CgroupError> {
        if self.has_file("cgroup.kill") {
            return files::write(&self.dir().join("cgroup.kill"), "1");
        }
        self.signal(nix::sys::signal::Signal::SIGKILL)
    }
}
