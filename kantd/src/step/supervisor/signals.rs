//! Signals to all processes of a job. Container runtimes pass signals on to their process, so that
//! they get none that the process gets directly: many programs take a second SIGTERM as a request
//! to hurry.

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
        let runtimes = self.runtime_pids();
        self.group.signal_matching(signal, &|pid| !runtimes.contains(&pid)).map(drop)
    }

    /// The running processes of the script.
    pub(super) fn script_pids(&self) -> Vec<Pid> {
        let started: Vec<Pid> = self.started_tasks().map(|task| task.pid).collect();
        if self.container.is_none() {
            return started;
        }
        let container_processes = self
            .container_processes
            .runtimes_and_processes()
            .filter(|(runtime, _)| started.contains(runtime));
        container_processes.filter_map(|(_, process)| process).collect()
    }

    pub(super) fn signal_scripts(&self, signal: Signal) {
        for task in self.started_tasks() {
            match self.container {
                // A process that is gone needs no signal.
                None => drop(kill(task.pid, signal)),
                Some(_) => self.container_processes.signal(task.pid, signal),
            }
        }
    }

    /// Sends a signal on request. A suspended job gets none, because listing its processes would
    /// resume it.
    pub(super) fn signal_job(&mut self, number: SignalNumber, target: Reached) {
        let Ok(signal) = Signal::try_from(i32::from(number.0)) else {
            return log(&format!("the system has no signal {number}: not sent"));
        };
        let runs = matches!(self.phase, StepPhase::Running { suspended: false, .. });
        if !runs || self.freezer.suspended_time().is_none() {
            return log(&format!("{signal} was not sent: the job does not run"));
        }
        self.find_container_processes();
        if target == Reached::Script {
            self.signal_scripts(signal);
            return log(&format!("sent {signal} to the script"));
        }
        let wanted: Box<dyn Fn(Pid) -> bool> = match target {
            Reached::Steps => {
                let programs =
                    cgroup::with_descendants(self.programs.running_programs().map(|(pid, _)| pid));
                Box::new(move |pid| programs.contains(&pid))
            }
            Reached::Work => {
                let withheld = self.shells_that_would_end(signal);
                Box::new(move |pid| !withheld.contains(&pid))
            }
            Reached::Script | Reached::All => Box::new(|_| true),
        };
        let runtimes = self.runtime_pids();
        match self.group.signal_matching(signal, &|pid| !runtimes.contains(&pid) && wanted(pid)) {
            Ok(count) => log(&format!("sent {signal} to {count} processes")),
            Err(error) => log(&format!("failed to send {signal} to the job: {error}")),
        }
    }

    /// Scripts without a handler for the signal that wait for other processes. With a script for
    /// each task, the scripts are the work and none is spared.
    fn shells_that_would_end(&self, signal: Signal) -> Vec<Pid> {
        if self.spec.launch.launch != Launch::Once {
            return Vec::new();
        }
        let (scripts, runtimes) = (self.script_pids(), self.runtime_pids());
        let others = |pid: &Pid| !scripts.contains(pid) && !runtimes.contains(pid);
        if !self.group.pids().unwrap_or_default().iter().any(others) {
            return Vec::new();
        }
        scripts.into_iter().filter(|pid| !cgroup::has_handler(*pid, signal)).collect()
    }

    /// Runtimes that have started their process.
    pub(super) fn runtime_pids(&self) -> BTreeSet<Pid> {
        self.container_processes.runtimes_and_processes().map(|(runtime, _)| runtime).collect()
    }

    /// The running processes of the script and of programs, and the names of their containers.
    pub(super) fn running_processes(&self) -> impl Iterator<Item = (Pid, String)> + '_ {
        let tasks = self.started_tasks().map(|task| (task.pid, task::task_container(task.place)));
        tasks.chain(self.programs.running_programs())
    }

    /// Tasks that are not reaped yet, so that their pids are valid.
    fn started_tasks(&self) -> impl Iterator<Item = &Task> + '_ {
        self.tasks.iter().filter(|task| task.exit.is_none())
    }
}
