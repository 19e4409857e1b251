//! The processes that container runtimes have started. A task ends when its process does, as
//! without a container, although a runtime (crun) may wait for all processes that it left behind.
//! Those are then killed, so that the runtime exits with the exit code of its process.

use super::{Stage, Supervisor, log};
use crate::cgroup::{self, ProcessHandle};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Interval of checks for a process that a runtime has not started yet; no event reports the start.
const CHECK_PAUSE: Duration = Duration::from_millis(20);

/// How long a runtime may take to end after its process.
const RUNTIME_GRACE: Duration = Duration::from_millis(200);

/// The process of a runtime; `None` if it had ended before it was found.
struct InnerProcess {
    process: Option<(Pid, ProcessHandle)>,
    gone_since: Option<Instant>,
}

/// The processes in containers, by their runtimes.
#[derive(Default)]
pub struct ContainerProcesses {
    known: BTreeMap<Pid, InnerProcess>,
    /// A runtime has not started its process yet.
    is_awaited: bool,
}

impl ContainerProcesses {
    /// The runtimes that have started their process, and the process if it lives.
    pub fn runtimes_and_processes(&self) -> impl Iterator<Item = (Pid, Option<Pid>)> + '_ {
        self.known
            .iter()
            .map(|(runtime, inner)| (*runtime, inner.living_process().map(|(pid, _)| *pid)))
    }

    /// Signals the process of a runtime, if it lives.
    pub fn signal(&self, runtime: Pid, signal: Signal) {
        let alive = self.known.get(&runtime).and_then(InnerProcess::living_process);
        alive.iter().for_each(|(_, process)| process.signal(signal));
    }

    /// Readable when a process has ended.
    pub fn end_descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.known
            .values()
            .filter_map(InnerProcess::living_process)
            .map(|(_, process)| process.as_fd())
    }

    /// The time of the next check if no event comes.
    pub fn next_check(&self) -> Option<Instant> {
        let gone = self.known.values().filter_map(|inner| inner.gone_since);
        let late = gone.map(|since| since + RUNTIME_GRACE).min();
        let soon = Instant::now() + CHECK_PAUSE;
        late.map(|at| at.max(soon)).into_iter().chain(self.is_awaited.then_some(soon)).min()
    }
}

impl InnerProcess {
    fn living_process(&self) -> Option<&(Pid, ProcessHandle)> {
        self.process.as_ref().filter(|_| self.gone_since.is_none())
    }
}

impl Supervisor {
    /// Kills what ended processes left behind.
    pub(super) fn kill_container_leftovers(&mut self, stage: &Stage) {
        if !matches!(stage, Stage::Running | Stage::Draining { .. } | Stage::Ending { .. }) {
            return;
        }
        self.find_container_processes();
        for (runtime, inner) in &self.container_processes.known {
            if inner.gone_since.is_some_and(|since| since.elapsed() >= RUNTIME_GRACE) {
                let left = cgroup::kill_descendants(*runtime, Signal::SIGKILL);
                if left > 0 {
                    log(&format!(
                        "killed {left} processes that an ended process left in its container"
                    ));
                }
            }
        }
    }

    /// Updates which processes runtimes have started, and which of them have ended.
    pub(super) fn find_container_processes(&mut self) {
        let Some(container) = &self.container else { return };
        let runtimes: BTreeMap<Pid, String> = self.running_processes().collect();
        let known = &mut self.container_processes.known;
        known.retain(|runtime, _| runtimes.contains_key(runtime));
        let awaited: Vec<Pid> =
            runtimes.keys().copied().filter(|runtime| !known.contains_key(runtime)).collect();
        let named = |runtime: &Pid| Some((*runtime, container.pid_of(&runtimes[runtime])?));
        let named: Vec<(Pid, Pid)> = awaited.iter().filter_map(named).collect();
        if !named.is_empty() {
            // The user can change what a runtime writes, but not a process's parent.
            let children = cgroup::children_of(&awaited);
            for pair in named {
                let process = ProcessHandle::open(pair.1).filter(|_| children.contains(&pair));
                let gone_since = process.is_none().then(Instant::now);
                let process = process.map(|process| (pair.1, process));
                known.insert(pair.0, InnerProcess { process, gone_since });
            }
        }
        self.container_processes.is_awaited =
            runtimes.keys().any(|runtime| !known.contains_key(runtime));
        for inner in known.values_mut() {
            if inner.living_process().is_some_and(|(_, process)| is_over(process)) {
                inner.gone_since = Some(Instant::now());
            }
        }
    }
}

fn is_over(process: &ProcessHandle) -> bool {
    let mut watched = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut watched, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
