//! Signals to all of a job. In a container, the runtime that each process was started by stays above
//! it, and passes on what it gets: it gets nothing that the processes get themselves, else they
//! would have it twice, and to many programs a second SIGTERM means to be quick.
//! Never ends anything by itself.

use super::Supervisor;
use crate::cgroup::{self, CgroupError};
use nix::sys::signal::Signal;
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
        let started: Vec<Pid> = self.started_tasks().collect();
        match self.container {
            None => started,
            Some(_) => cgroup::children_of(&started).into_iter().map(|(_, child)| child).collect(),
        }
    }

    /// Runtimes that have started what they are to start.
    pub(super) fn runtimes(&self) -> BTreeSet<Pid> {
        if self.container.is_none() {
            return BTreeSet::new();
        }
        let started: Vec<Pid> = self.started_tasks().chain(self.guests.pids()).collect();
        cgroup::children_of(&started).into_iter().map(|(runtime, _)| runtime).collect()
    }

    /// Not yet reaped: their pids are theirs.
    fn started_tasks(&self) -> impl Iterator<Item = Pid> + '_ {
        self.tasks.iter().filter(|task| task.exit.is_none()).map(|task| task.pid)
    }
}
