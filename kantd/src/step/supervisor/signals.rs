//! Signals to all of a job. In a container, the runtime that each process was started by stays
//! above it, and passes on what it gets: it gets nothing that the processes get themselves, else
//! they would have it twice, and to many programs a second SIGTERM means to be quick.
//! Never ends anything by itself.

use super::{Supervisor, Task, log};
use crate::cgroup::{self, CgroupError};
use crate::step::task;
use common::job::{Launch, SignalNumber};
use common::wire::node::{Reached, StepPhase};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;

impl Supervisor {
    /// Sends a signal to every process of the job.
    pub(super) fn signal_all(&self, signal: Signal) -> Result<(), CgroupError> {
        let runtimes = self.runtimes();
        self.group.signal_those(signal, &|pid| !runtimes.contains(&pid)).map(drop)
    }

    /// The living processes that the script was started as.
    pub(super) fn scripts(&self) -> Vec<Pid> {
        let started: Vec<Pid> = self.started_tasks().map(|task| task.pid).collect();
        if self.container.is_none() {
            return started;
        }
        let inside = self.inside.pairs().filter(|(runtime, _)| started.contains(runtime));
        inside.filter_map(|(_, process)| process).collect()
    }

    pub(super) fn signal_scripts(&self, signal: Signal) {
        for task in self.started_tasks() {
            match self.container {
                // Gone already is as good as signalled.
                None => drop(kill(task.pid, signal)),
                Some(_) => self.inside.signal(task.pid, signal),
            }
        }
    }

    /// Sends a signal that somebody wants the job to have now. To list a group that stands still
    /// would wake it, so that gets none.
    pub(super) fn signal_job(&mut self, number: SignalNumber, whom: Reached) {
        let Ok(signal) = Signal::try_from(i32::from(number.0)) else {
            return log(&format!("there is no signal {number} here: not sent"));
        };
        let runs = matches!(self.phase, StepPhase::Running { suspended: false, .. });
        if !runs || self.stillness.past().is_none() {
            return log(&format!("{signal} was not sent: the job does not run"));
        }
        self.look_inside();
        if whom == Reached::Script {
            self.signal_scripts(signal);
            return log(&format!("sent {signal} to the script"));
        }
        let wanted: Box<dyn Fn(Pid) -> bool> = match whom {
            Reached::Steps => {
                let programs = cgroup::families(self.guests.started().map(|(pid, _)| pid));
                Box::new(move |pid| programs.contains(&pid))
            }
            Reached::Work => {
                let withheld = self.shells_that_would_end(signal);
                Box::new(move |pid| !withheld.contains(&pid))
            }
            Reached::Script | Reached::All => Box::new(|_| true),
        };
        let runtimes = self.runtimes();
        match self.group.signal_those(signal, &|pid| !runtimes.contains(&pid) && wanted(pid)) {
            Ok(count) => log(&format!("sent {signal} to {count} processes")),
            Err(error) => log(&format!("failed to send {signal} to the job: {error}")),
        }
    }

    /// Scripts that have no handler for it and wait for others. One for each task is no shell
    /// around the work, but the work.
    fn shells_that_would_end(&self, signal: Signal) -> Vec<Pid> {
        if self.order.launch.launch != Launch::Once {
            return Vec::new();
        }
        let (scripts, runtimes) = (self.scripts(), self.runtimes());
        let others = |pid: &Pid| !scripts.contains(pid) && !runtimes.contains(pid);
        if !self.group.pids().unwrap_or_default().iter().any(others) {
            return Vec::new();
        }
        scripts.into_iter().filter(|pid| !cgroup::catches(*pid, signal)).collect()
    }

    /// Runtimes that have started what they are to start.
    pub(super) fn runtimes(&self) -> BTreeSet<Pid> {
        self.inside.pairs().map(|(runtime, _)| runtime).collect()
    }

    /// The living processes that were started, the script's and programs', with the names of their
    /// containers.
    pub(super) fn all_started(&self) -> impl Iterator<Item = (Pid, String)> + '_ {
        let tasks = self.started_tasks().map(|task| (task.pid, task::container_of(task.place)));
        tasks.chain(self.guests.started())
    }

    /// Not yet reaped: their pids are theirs.
    fn started_tasks(&self) -> impl Iterator<Item = &Task> + '_ {
        self.tasks.iter().filter(|task| task.exit.is_none())
    }
}
