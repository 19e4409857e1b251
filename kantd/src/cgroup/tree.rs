//! Process tracking without cgroups: the descendants of the step's supervisor, which is a subreaper
//! and so inherits orphans. After the supervisor's death the processes are found by a mark in their
//! environment and their user. Nothing is limited.

use super::process::{self, Process, ProcessHandle};
use super::{Cgroup, CgroupError, Limits};
use common::id::Uid;
use common::job::Usage;
use common::time::Span;
use common::unit::Bytes;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use std::os::fd::OwnedFd;

/// The environment variable of every process of a step; its value is the step's id.
pub const MARK: &str = "KANT_STEP";

/// The processes of one step, by descent or by mark.
pub struct Tree {
    mark: String,
    owner: Uid,
    supervisor: Option<Pid>,
}

impl Tree {
    /// The processes of a step; `supervisor` if it is alive.
    pub fn new(id: &str, owner: Uid, supervisor: Option<Pid>) -> Self {
        Self { mark: format!("{MARK}={id}"), owner, supervisor }
    }

    fn processes(&self) -> Vec<Process> {
        let all = process::list_all();
        match self.supervisor {
            Some(supervisor) => process::descendants(supervisor, &all),
            None => process::find_marked(&self.mark, self.owner, &all),
        }
    }

    fn signal_each(&self, signal: Signal) {
        self.signal_wanted(signal, &|_| true);
    }

    /// Signals each wanted process through a pidfd, which a reused pid does not mislead.
    fn signal_wanted(&self, signal: Signal, wanted: &dyn Fn(Pid) -> bool) -> usize {
        let mut count = 0;
        for listed in self.processes().into_iter().filter(|listed| wanted(listed.pid)) {
            let Some(handle) = ProcessHandle::open(listed.pid) else { continue };
            if process::read(listed.pid).is_some_and(|now| now.start_ticks == listed.start_ticks) {
                handle.signal(signal);
                count += 1;
            }
        }
        count
    }
}

impl Cgroup for Tree {
    fn create(&self, _limits: &Limits) -> Result<(), CgroupError> {
        Ok(())
    }

    fn entry_files(&self) -> Result<Vec<OwnedFd>, CgroupError> {
        Ok(Vec::new())
    }

    fn pids(&self) -> Result<Vec<Pid>, CgroupError> {
        Ok(self.processes().into_iter().map(|p| p.pid).collect())
    }

    fn freeze(&self) -> Result<(), CgroupError> {
        self.signal_each(Signal::SIGSTOP);
        Ok(())
    }

    fn thaw(&self) -> Result<(), CgroupError> {
        self.signal_each(Signal::SIGCONT);
        Ok(())
    }

    fn oom_kills(&self) -> u64 {
        0
    }

    /// The usage of the supervisor's reaped children; the peak is that of the largest one.
    fn usage(&self) -> Usage {
        if self.supervisor != Some(Pid::this()) {
            return Usage::default();
        }
        let Ok(used) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
        let ms = used.user_time().num_milliseconds() + used.system_time().num_milliseconds();
        let peak_kib = u64::try_from(used.max_rss()).unwrap_or(0);
        Usage {
            cpu: Span(u64::try_from(ms).unwrap_or(0)),
            memory_peak: Bytes(peak_kib.saturating_mul(1024)),
            ..Usage::default()
        }
    }

    fn remove(&self) -> Result<(), CgroupError> {
        Ok(())
    }

    fn name(&self) -> String {
        format!("the processes with {}", self.mark)
    }

    fn signal_matching(
        &self,
        signal: Signal,
        wanted: &dyn Fn(Pid) -> bool,
    ) -> Result<usize, CgroupError> {
        Ok(self.signal_wanted(signal, wanted))
    }

    /// Stops all processes first, so that none forks past the kill.
    fn kill_once(&self) -> Result<(), CgroupError> {
        self.signal_each(Signal::SIGSTOP);
        self.signal_each(Signal::SIGKILL);
        Ok(())
    }
}
