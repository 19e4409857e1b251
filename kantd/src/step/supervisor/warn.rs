//! The warning before the time limit (`--signal`), sent once for each limit. The supervisor keeps
//! track of it, so that a restart of kantd neither loses nor repeats it.

use super::{Supervisor, log};
use crate::cgroup;
use common::job::{SignalNumber, Warned};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

impl Supervisor {
    /// When to warn the job; `None` if it wants no warning, or was warned. A warning longer than
    /// the limit is due as soon as the job runs.
    pub(super) fn warning_due_at(&self) -> Option<Instant> {
        let end = self.time_limit_at().filter(|_| !self.warned)?;
        self.warning_before(end)
    }

    /// When to warn the job of this end.
    pub(super) fn warning_before(&self, end: Instant) -> Option<Instant> {
        let lead = Duration::from_millis(self.spec.launch.warning?.lead.0);
        let (_, started) = self.started?;
        Some(end.checked_sub(lead).unwrap_or(started).max(started))
    }

    /// Warns the job when that is due.
    pub(super) fn warn_if_due(&mut self) {
        let is_due = self.warning_due_at().is_some_and(|at| Instant::now() >= at);
        let Some(warning) = self.spec.launch.warning.filter(|_| is_due) else { return };
        self.warned = true;
        self.find_container_processes();
        let Some(signal) = known_signal(warning.signal) else {
            return log(&format!("the system has no signal {}: not sent", warning.signal));
        };
        match warning.to {
            Warned::Script => self.warn_scripts(signal),
            Warned::All => self.warn_all(signal),
        }
    }

    pub(super) fn warn_scripts(&self, signal: Signal) {
        self.signal_scripts(signal);
        log(&format!("warned the script with {signal}"));
    }

    pub(super) fn warn_all(&self, signal: Signal) {
        let (scripts, runtimes) = (self.script_pids(), self.runtime_pids());
        let may = |pid: &Pid| !scripts.contains(pid) || cgroup::has_handler(*pid, signal);
        let wanted = |pid: Pid| !runtimes.contains(&pid) && may(&pid);
        match self.group.signal_matching(signal, &wanted) {
            Ok(count) => log(&format!("warned {count} processes with {signal}")),
            Err(error) => log(&format!("failed to warn the job with {signal}: {error}")),
        }
    }
}

pub(super) fn known_signal(signal: SignalNumber) -> Option<Signal> {
    Signal::try_from(i32::from(signal.0)).ok()
}
