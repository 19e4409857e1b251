//! The warning before the time limit (`--signal`). Once in a step's life: the supervisor lives as
//! long as the step, so that a restart of kantd neither loses nor repeats it.
//! Never ends anything by itself; what a process makes of the signal is its own affair.

use super::{Supervisor, log};
use crate::cgroup;
use common::job::{SignalNumber, Warned};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

impl Supervisor {
    /// When the job is to be warned; `None`: not at all, or it was. A warning longer than the
    /// limit is due as soon as the job runs.
    pub(super) fn warning_due_at(&self) -> Option<Instant> {
        let end = self.time_is_up_at().filter(|_| !self.warned)?;
        self.warning_before(end)
    }

    /// When it is to be warned of this end.
    pub(super) fn warning_before(&self, end: Instant) -> Option<Instant> {
        let lead = Duration::from_millis(self.order.launch.warning?.lead.0);
        let (_, started) = self.started?;
        Some(end.checked_sub(lead).unwrap_or(started).max(started))
    }

    /// Warns the job if it is time.
    pub(super) fn warn_in_time(&mut self) {
        let is_due = self.warning_due_at().is_some_and(|at| Instant::now() >= at);
        let Some(warning) = self.order.launch.warning.filter(|_| is_due) else { return };
        self.warned = true;
        self.look_inside();
        let Some(signal) = known(warning.signal) else {
            return log(&format!("there is no signal {} here: not sent", warning.signal));
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
        let (scripts, runtimes) = (self.scripts(), self.runtimes());
        let may = |pid: &Pid| !scripts.contains(pid) || cgroup::catches(*pid, signal);
        let wanted = |pid: Pid| !runtimes.contains(&pid) && may(&pid);
        match self.group.signal_those(signal, &wanted) {
            Ok(count) => log(&format!("warned {count} processes with {signal}")),
            Err(error) => log(&format!("failed to warn the job with {signal}: {error}")),
        }
    }
}

pub(super) fn known(signal: SignalNumber) -> Option<Signal> {
    Signal::try_from(i32::from(signal.0)).ok()
}
