//! Programs started in a running step: in its cgroup, as its user, in its private directories, with
//! its GPUs. They end with the step like everything in its cgroup, and do not affect how it ends.
//! Their states are not in the journal; kantd can ask for them while the supervisor lives and
//! remembers them.

use super::{Stage, Supervisor, log};
use crate::cgroup;
use crate::step::control::Update;
use crate::step::dir;
use crate::step::program_spec::ProgramSpec;
use crate::step::spec::StepSpec;
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

/// Number of programs that may run in a step on a node at the same time.
const RUNNING_MAX: usize = 1024;
/// Number of ended programs whose result and output are kept.
const ENDED_MAX: usize = RUNNING_MAX;

/// A started program.
struct Guest {
    pid: Pid,
    program: String,
    /// Until the program is executed.
    report: Option<File>,
    exit: Option<ExitStatus>,
}

/// All programs of a step.
#[derive(Default)]
pub struct Programs {
    /// Requested, and not started yet.
    waiting: BTreeSet<TaskNumber>,
    alive: BTreeMap<TaskNumber, Guest>,
    /// States of all remembered programs.
    states: BTreeMap<TaskNumber, TaskState>,
    /// Ended programs, in the order in which they ended.
    ended: VecDeque<TaskNumber>,
}

impl Programs {
    /// The current states, for a new client.
    pub fn state_updates(&self) -> impl Iterator<Item = Update> + '_ {
        self.states
            .iter()
            .map(|(task, state)| Update::Task { task: *task, state: Some(state.clone()) })
    }

    /// Readable when a program was executed, or failed to be.
    pub fn report_descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.alive.values().filter_map(|guest| guest.report.as_ref()).map(AsFd::as_fd)
    }

    /// Running programs and the names of their containers.
    pub fn running_programs(&self) -> impl Iterator<Item = (Pid, String)> + '_ {
        let alive = self.alive.iter().filter(|(_, guest)| guest.exit.is_none());
        alive.map(|(number, guest)| (guest.pid, task::program_container(*number)))
    }

    /// Records the exit of a child of the supervisor, if it is a program.
    pub fn note_exit(&mut self, pid: Pid, exit: ExitStatus) {
        if let Some(guest) = self.alive.values_mut().find(|guest| guest.pid == pid) {
            guest.exit = Some(exit);
        }
    }

    /// Sends a signal to a program and its process group, which it leads once it is executed. An
    /// ended program is ignored.
    pub fn signal(&self, task: TaskNumber, signal: SignalNumber) {
        let guest = self.alive.get(&task).filter(|guest| guest.report.is_none());
        let signal = Signal::try_from(i32::from(signal.0)).ok();
        let (Some(guest), Some(signal)) = (guest, signal) else { return };
        if signal == Signal::SIGKILL {
            // A killed container runtime cannot pass the signal on.
            cgroup::kill_descendants(guest.pid, signal);
        }
        if let Err(error) = killpg(guest.pid, signal) {
            log(&format!("failed to send {signal} to program {task}: {error}"));
        }
    }

    /// State changes since the last call. Reports are read first: an ended program was executed.
    fn take_changes(&mut self, spec: &StepSpec) -> Vec<(TaskNumber, TaskState)> {
        let mut changes = Vec::new();
        self.alive.retain(|task, guest| {
            if let Some(report) = &mut guest.report {
                match task::read_report(report) {
                    StartReport::Pending => return true,
                    StartReport::Started => changes.push((*task, TaskState::Running)),
                    StartReport::Failed(failure) => {
                        let why = task::explain_program(failure, &guest.program, spec);
                        changes.push((*task, TaskState::Failed(why)));
                        return false;
                    }
                }
                guest.report = None;
            }
            if let Some(exit) = guest.exit {
                changes.push((*task, TaskState::Ended(exit)));
            }
            guest.exit.is_none()
        });
        changes
    }
}

impl Supervisor {
    /// Handles a request to start a program, which kantd may repeat.
    pub(super) fn request_program(&mut self, task: TaskNumber) {
        let is_known =
            self.programs.alive.contains_key(&task) || self.programs.states.contains_key(&task);
        match self.programs.states.get(&task).cloned() {
            Some(state) => self.control.push(&Update::Task { task, state: Some(state) }),
            None if !is_known => drop(self.programs.waiting.insert(task)),
            None => {}
        }
    }

    /// Starts waiting programs and publishes state changes.
    pub(super) fn advance_programs(&mut self, stage: &Stage) {
        match stage {
            // Programs for a suspended job wait until it is resumed.
            Stage::Running if self.freezer.suspended_time().is_none() => {}
            Stage::Running => {
                for task in std::mem::take(&mut self.programs.waiting) {
                    if let Err(why) = self.start_program(task) {
                        log(&format!("failed to start program {task}: {why}"));
                        self.set_program_state(task, TaskState::Failed(why));
                    }
                }
            }
            Stage::Prolog | Stage::Preparing(_) | Stage::Ready(_) | Stage::Starting => {}
            Stage::Draining { .. } | Stage::Ending { .. } | Stage::Cleaning(_) | Stage::Done => {
                for task in std::mem::take(&mut self.programs.waiting) {
                    self.set_program_state(task, TaskState::Failed("the job is ending".to_owned()));
                }
            }
        }
        for (task, state) in self.programs.take_changes(&self.spec) {
            self.set_program_state(task, state);
        }
    }

    fn start_program(&mut self, task: TaskNumber) -> Result<(), String> {
        if self.programs.alive.len() >= RUNNING_MAX {
            return Err(format!("{RUNNING_MAX} programs run in the step on this node already"));
        }
        let failed = |error: &dyn std::fmt::Display| format!("failed to start it: {error}");
        let guest = ProgramSpec::take(&self.dir, task).map_err(|error| failed(&error))?;
        let Some(account) = &self.account else {
            return Err(failed(&"the step's user is not known"));
        };
        let entry_files = self.group.entry_files().map_err(|error| failed(&error))?;
        let files = self.program_files(task, guest.manner.input);
        let [stdin, stdout, stderr] = files.map_err(|error| failed(&error))?;
        let (spec, open_files, script) = (&self.spec, self.open_files, self.dir.script_path());
        let start = self.started.map_or_else(crate::clock::now, |(since, _)| since);
        let container = self.container.as_ref();
        let facts = StepFacts { spec, account, script: &script, start, open_files, container };
        let program = guest.command(spec).into_iter().next().unwrap_or_default();
        let ready = TaskStart::for_program(&facts, task, guest).map_err(|error| failed(&error))?;
        let streams = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let StartedTask { pid, report } =
            ready.spawn(streams, &entry_files).map_err(|error| failed(&error))?;
        let report = Some(File::from(report));
        self.programs.alive.insert(task, Guest { pid, program, report, exit: None });
        Ok(())
    }

    /// Opens a program's own files, which it may reopen by /dev/stderr and the like. Input is
    /// appended to a file, whose space is freed as the program reads.
    fn program_files(&self, task: TaskNumber, input: bool) -> io::Result<[File; 3]> {
        let owner = &self.spec.launch.owner;
        let [stdout, stderr] = self.dir.task_output_paths(task);
        let open = |path, append| {
            let file = dir::private_file_options().create(true).append(append).open(path)?;
            if geteuid().is_root() {
                let (uid, gid) = (Uid::from_raw(owner.uid.0), Gid::from_raw(owner.gid.0));
                fchown(&file, Some(uid.as_raw()), Some(gid.as_raw()))?;
            }
            io::Result::Ok(file)
        };
        let stdin = match input {
            true => open(self.dir.task_input_path(task), false)?,
            false => File::open("/dev/null")?,
        };
        Ok([stdin, open(stdout, true)?, open(stderr, true)?])
    }

    fn set_program_state(&mut self, task: TaskNumber, state: TaskState) {
        let is_over = state != TaskState::Running;
        self.control.push(&Update::Task { task, state: Some(state.clone()) });
        self.programs.states.insert(task, state);
        if !is_over {
            return;
        }
        if let Some(container) = &self.container {
            container.forget(&task::program_container(task));
        }
        self.programs.ended.push_back(task);
        if self.programs.ended.len() > ENDED_MAX
            && let Some(oldest) = self.programs.ended.pop_front()
        {
            self.programs.states.remove(&oldest);
            let files = self.dir.task_output_paths(oldest).into_iter();
            for file in files.chain([self.dir.task_input_path(oldest)]) {
                // A program that never ran has no files.
                let _ = std::fs::remove_file(file);
            }
            self.control.push(&Update::Task { task: oldest, state: None });
        }
    }
}
