//! In a container, the process that a runtime has started: a task is over when that is, as without
//! a container, though a runtime may wait for all that the process left behind (crun does). What it
//! left is killed then, so that the runtime ends, with the exit code of its process.
//! Never looks while there is no container, and never kills the process itself.

use super::{Stage, Supervisor, log};
use crate::cgroup::{self, Handle};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Between looks for what a runtime has not started yet: none tells when it does.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// How long a runtime may take to end after its process.
const RUNTIME_GRACE: Duration = Duration::from_millis(200);

/// The process of a runtime; `None`: it was over when it was looked for.
struct Inner {
    process: Option<(Pid, Handle)>,
    gone_since: Option<Instant>,
}

/// The processes inside, by their runtimes.
#[derive(Default)]
pub struct Inside {
    known: BTreeMap<Pid, Inner>,
    /// A runtime has not started its process yet.
    is_awaited: bool,
}

impl Inside {
    /// The runtimes that have started their process, with that if it lives.
    pub fn pairs(&self) -> impl Iterator<Item = (Pid, Option<Pid>)> + '_ {
        self.known.iter().map(|(runtime, inner)| (*runtime, inner.alive().map(|(pid, _)| *pid)))
    }

    /// Signals the process of a runtime, if it lives.
    pub fn signal(&self, runtime: Pid, signal: Signal) {
        let alive = self.known.get(&runtime).and_then(Inner::alive);
        alive.iter().for_each(|(_, process)| process.signal(signal));
    }

    /// Readable when one has ended.
    pub fn ends(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.known.values().filter_map(Inner::alive).map(|(_, process)| process.as_fd())
    }

    /// When to look again though nothing happened.
    pub fn look_at(&self) -> Option<Instant> {
        let gone = self.known.values().filter_map(|inner| inner.gone_since);
        let late = gone.map(|since| since + RUNTIME_GRACE).min();
        let soon = Instant::now() + LOOK_PAUSE;
        late.map(|at| at.max(soon)).into_iter().chain(self.is_awaited.then_some(soon)).min()
    }
}

impl Inner {
    fn alive(&self) -> Option<&(Pid, Handle)> {
        self.process.as_ref().filter(|_| self.gone_since.is_none())
    }
}

impl Supervisor {
    /// Ends what processes that are over left behind.
    pub(super) fn see_to_inside(&mut self, stage: &Stage) {
        if !matches!(stage, Stage::Running | Stage::Ending { .. }) {
            return;
        }
        self.look_inside();
        for (runtime, inner) in &self.inside.known {
            if inner.gone_since.is_some_and(|since| since.elapsed() >= RUNTIME_GRACE) {
                let left = cgroup::kill_descendants(*runtime, Signal::SIGKILL);
                if left > 0 {
                    log(&format!("killed {left} processes that a program left in its container"));
                }
            }
        }
    }

    /// Looks what runtimes have started, and which of that is over.
    pub(super) fn look_inside(&mut self) {
        let Some(container) = &self.container else { return };
        let runtimes: BTreeMap<Pid, String> = self.all_started().collect();
        let known = &mut self.inside.known;
        known.retain(|runtime, _| runtimes.contains_key(runtime));
        let awaited: Vec<Pid> =
            runtimes.keys().copied().filter(|runtime| !known.contains_key(runtime)).collect();
        let named = |runtime: &Pid| Some((*runtime, container.pid_of(&runtimes[runtime])?));
        let named: Vec<(Pid, Pid)> = awaited.iter().filter_map(named).collect();
        if !named.is_empty() {
            // What a runtime writes is the user's to change, but not whose child a process is.
            let children = cgroup::children_of(&awaited);
            for pair in named {
                let process = Handle::of(pair.1).filter(|_| children.contains(&pair));
                let gone_since = process.is_none().then(Instant::now);
                let process = process.map(|process| (pair.1, process));
                known.insert(pair.0, Inner { process, gone_since });
            }
        }
        self.inside.is_awaited = runtimes.keys().any(|runtime| !known.contains_key(runtime));
        for inner in known.values_mut() {
            if inner.alive().is_some_and(|(_, process)| is_over(process)) {
                inner.gone_since = Some(Instant::now());
            }
        }
    }
}

fn is_over(process: &Handle) -> bool {
    let mut watched = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut watched, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
