//! Signals to all of a job. In a container, the runtime that each process was started by stays
//! above it, and passes on what it gets: it gets nothing that the processes get themselves, else
//! they would have it twice, and to many programs a second SIGTERM means to be quick.
//! Never ends anything by itself.

use super::{Supervisor, Task};
use crate::cgroup::CgroupError;
use crate::step::task;
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

    /// Signals those alone.
    pub(super) fn signal_scripts(&self, signal: Signal) {
        for task in self.started_tasks() {
            match self.container {
                // Gone already is as good as signalled.
                None => drop(kill(task.pid, signal)),
                Some(_) => self.inside.signal(task.pid, signal),
            }
        }
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
