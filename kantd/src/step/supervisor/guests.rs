//! Programs that are started in a step while it runs: in its group, as its user, in its private
//! directories, with its GPUs. They end with it, by what ends everything in its group.
//! Never a word on how the step ends, and never written to the journal: who asked for one learns
//! how it ended, as long as the supervisor lives and remembers.

use super::{Stage, Supervisor, log};
use crate::cgroup;
use crate::step::control::Line;
use crate::step::dir;
use crate::step::guest::GuestOrder;
use crate::step::order::StepOrder;
use crate::step::task::{self, StartReport, StartedTask, StepFacts, TaskStart};
use common::id::TaskNumber;
use common::job::{ExitStatus, SignalNumber};
use common::wire::node::TaskState;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Gid, Pid, Uid, geteuid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::fchown;

/// So many may run at once in a step on a node.
const RUNNING_MAX: usize = 1024;
/// Of so many that ended is remembered how, and what they wrote.
const ENDED_MAX: usize = RUNNING_MAX;

/// One that was started.
struct Guest {
    pid: Pid,
    program: String,
    /// Until it has exec'd.
    report: Option<File>,
    exit: Option<ExitStatus>,
}

/// All of a step.
#[derive(Default)]
pub struct Guests {
    /// Asked for before the step ran.
    waiting: BTreeSet<TaskNumber>,
    alive: BTreeMap<TaskNumber, Guest>,
    /// How all that are remembered do.
    states: BTreeMap<TaskNumber, TaskState>,
    /// Those that do nothing any more, in the order they ended.
    ended: VecDeque<TaskNumber>,
}

impl Guests {
    /// What each client is told.
    pub fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.states
            .iter()
            .map(|(task, state)| Line::Task { task: *task, state: Some(state.clone()) })
    }

    /// Readable when one has exec'd, or failed to.
    pub fn reports(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.alive.values().filter_map(|guest| guest.report.as_ref()).map(AsFd::as_fd)
    }

    /// Those that live, with the names of their containers.
    pub fn started(&self) -> impl Iterator<Item = (Pid, String)> + '_ {
        let alive = self.alive.iter().filter(|(_, guest)| guest.exit.is_none());
        alive.map(|(number, guest)| (guest.pid, task::container_of_guest(*number)))
    }

    /// A child of the supervisor's ended.
    pub fn note_exit(&mut self, pid: Pid, exit: ExitStatus) {
        if let Some(guest) = self.alive.values_mut().find(|guest| guest.pid == pid) {
            guest.exit = Some(exit);
        }
    }

    /// Sends a signal to one and its process group, of which it is the leader once it has exec'd;
    /// one that has ended hears nothing, which is as well.
    pub fn signal(&self, task: TaskNumber, signal: SignalNumber) {
        let guest = self.alive.get(&task).filter(|guest| guest.report.is_none());
        let signal = Signal::try_from(i32::from(signal.0)).ok();
        let (Some(guest), Some(signal)) = (guest, signal) else { return };
        if signal == Signal::SIGKILL {
            // No container's runtime lives to pass that on.
            cgroup::kill_descendants(guest.pid, signal);
        }
        if let Err(error) = killpg(guest.pid, signal) {
            log(&format!("failed to send {signal} to program {task} in it: {error}"));
        }
    }

    /// What became of them since: by their reports first, for one that ended has exec'd before.
    fn news(&mut self, order: &StepOrder) -> Vec<(TaskNumber, TaskState)> {
        let mut news = Vec::new();
        self.alive.retain(|task, guest| {
            if let Some(report) = &mut guest.report {
                match task::read_report(report) {
                    StartReport::Pending => return true,
                    StartReport::Started => news.push((*task, TaskState::Running)),
                    StartReport::Failed(failure) => {
                        let why = task::explain_guest(failure, &guest.program, order);
                        news.push((*task, TaskState::Failed(why)));
                        return false;
                    }
                }
                guest.report = None;
            }
            if let Some(exit) = guest.exit {
                news.push((*task, TaskState::Ended(exit)));
            }
            guest.exit.is_none()
        });
        news
    }
}

impl Supervisor {
    /// kantd wants this one; it may say so again.
    pub(super) fn invite(&mut self, task: TaskNumber) {
        let is_known =
            self.guests.alive.contains_key(&task) || self.guests.states.contains_key(&task);
        match self.guests.states.get(&task).cloned() {
            Some(state) => self.control.push(&Line::Task { task, state: Some(state) }),
            None if !is_known => drop(self.guests.waiting.insert(task)),
            None => {}
        }
    }

    /// Starts who waits, and tells what became of those that were started.
    pub(super) fn see_to_guests(&mut self, stage: &Stage) {
        match stage {
            // Who would come to a job that stands still waits until it goes on.
            Stage::Running if self.stillness.past().is_none() => {}
            Stage::Running => {
                for task in std::mem::take(&mut self.guests.waiting) {
                    if let Err(why) = self.start_guest(task) {
                        log(&format!("failed to start program {task} in it: {why}"));
                        self.tell_guest(task, TaskState::Failed(why));
                    }
                }
            }
            Stage::Prolog | Stage::Preparing(_) | Stage::Ready(_) | Stage::Starting => {}
            Stage::Ending { .. } | Stage::Cleaning(_) | Stage::Over => {
                for task in std::mem::take(&mut self.guests.waiting) {
                    self.tell_guest(task, TaskState::Failed("the job is ending".to_owned()));
                }
            }
        }
        for (task, state) in self.guests.news(&self.order) {
            self.tell_guest(task, state);
        }
    }

    fn start_guest(&mut self, task: TaskNumber) -> Result<(), String> {
        if self.guests.alive.len() >= RUNNING_MAX {
            return Err(format!("{RUNNING_MAX} programs started so run there already"));
        }
        let failed = |error: &dyn std::fmt::Display| format!("failed to start it: {error}");
        let guest = GuestOrder::take(&self.dir, task).map_err(|error| failed(&error))?;
        let Some(account) = &self.account else { return Err(failed(&"its user is not known")) };
        let gates = self.group.gates().map_err(|error| failed(&error))?;
        let files = self.guest_files(task, guest.manner.input);
        let [stdin, stdout, stderr] = files.map_err(|error| failed(&error))?;
        let (order, open_files, script) = (&self.order, self.open_files, self.dir.script());
        let start = self.started.map_or_else(crate::clock::now, |(since, _)| since);
        let container = self.container.as_ref();
        let facts = StepFacts { order, account, script: &script, start, open_files, container };
        let program = guest.words(order).into_iter().next().unwrap_or_default();
        let ready = TaskStart::of_guest(&facts, task, guest).map_err(|error| failed(&error))?;
        let streams = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let StartedTask { pid, report } =
            ready.spawn(streams, &gates).map_err(|error| failed(&error))?;
        let report = Some(File::from(report));
        self.guests.alive.insert(task, Guest { pid, program, report, exit: None });
        Ok(())
    }

    /// Its own, so that it may open them once more, by /dev/stderr and the like. What is fed to it
    /// grows in a file, of which it gives back what it has read.
    fn guest_files(&self, task: TaskNumber, input: bool) -> io::Result<[File; 3]> {
        let owner = &self.order.launch.owner;
        let [stdout, stderr] = self.dir.task_output(task);
        let open = |path, append| {
            let file = dir::private().create(true).append(append).open(path)?;
            if geteuid().is_root() {
                let (uid, gid) = (Uid::from_raw(owner.uid.0), Gid::from_raw(owner.gid.0));
                fchown(&file, Some(uid.as_raw()), Some(gid.as_raw()))?;
            }
            io::Result::Ok(file)
        };
        let stdin = match input {
            true => open(self.dir.task_input(task), false)?,
            false => File::open("/dev/null")?,
        };
        Ok([stdin, open(stdout, true)?, open(stderr, true)?])
    }

    fn tell_guest(&mut self, task: TaskNumber, state: TaskState) {
        let is_over = state != TaskState::Running;
        self.control.push(&Line::Task { task, state: Some(state.clone()) });
        self.guests.states.insert(task, state);
        if !is_over {
            return;
        }
        if let Some(container) = &self.container {
            container.forget(&task::container_of_guest(task));
        }
        self.guests.ended.push_back(task);
        if self.guests.ended.len() > ENDED_MAX
            && let Some(oldest) = self.guests.ended.pop_front()
        {
            self.guests.states.remove(&oldest);
            let files = self.dir.task_output(oldest).into_iter();
            for file in files.chain([self.dir.task_input(oldest)]) {
                // One that never ran has none.
                let _ = std::fs::remove_file(file);
            }
            self.control.push(&Line::Task { task: oldest, state: None });
        }
    }
}
