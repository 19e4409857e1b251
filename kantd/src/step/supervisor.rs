//! The supervisor of one step: a single thread with one loop, from the spec to the last journal
//! entry. It outlives kantd. It stays outside the job's cgroup.

mod begin;
mod clean;
mod container_processes;
mod end_reason;
mod exit_notice;
mod fence;
mod freezer;
mod programs;
mod resize;
mod run;
mod signals;
mod stage;
mod usage;
mod warn;

use super::account::Account;
use super::boot;
use super::container::Container;
use super::control::{Command, Control, Update};
use super::detach;
use super::dir::StepDir;
use super::files::FilePlan;
use super::hook::Hook;
use super::journal::{Event, Journal};
use super::liveness::LivenessFailure;
use super::overuse::GpuOveruse;
use super::private_dirs::Entered;
use super::spec::{StepSpec, TaskPlace};
use super::task::{self, SoftLimit};
use crate::cgroup::Cgroup;
use crate::clock;
use common::job::{ExitStatus, ResizeSignal};
use common::time::Time;
use common::wire::node::StepPhase;
use container_processes::ContainerProcesses;
use end_reason::EndReason;
use exit_notice::ExitNotice;
use fence::Fence;
use freezer::Freezer;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use programs::Programs;
use stage::Stage;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use usage::DiskSums;

/// `kantd step --dir DIR`: becomes the supervisor of the step in DIR; returns when that is ready.
/// To be called before any file is opened and before any thread is started.
///
/// Exit codes: 0 ready; 1 it could not start; 3 the step has, or had, another supervisor.
#[must_use]
pub fn run_supervisor(dir: &Path) -> ExitCode {
    detach::close_inherited();
    match begin::begin(dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Interval of checks of the cgroup while the step is ended.
const END_CHECK_PAUSE: Duration = Duration::from_millis(50);

struct Task {
    place: TaskPlace,
    pid: Pid,
    /// Until the program is executed.
    report: Option<File>,
    exit: Option<ExitStatus>,
}

struct Supervisor {
    spec: StepSpec,
    dir: StepDir,
    plan: FilePlan,
    journal: Journal,
    control: Control,
    /// Readable when a child ended, or the machine shuts down.
    signals: SignalFd,
    group: Box<dyn Cgroup>,
    open_files: SoftLimit,
    /// The published phase.
    phase: StepPhase,
    go: bool,
    stop: bool,
    overuse: Option<GpuOveruse>,
    /// Why a replica of a service is ended.
    not_live: Option<LivenessFailure>,
    fence: Fence,
    /// The machine shuts down, and systemd has sent all processes SIGTERM.
    shutting_down: bool,
    freezer: Freezer,
    /// Disk usage when the first process was started.
    disks_before: DiskSums,
    /// The job was warned that its time limit is near.
    warned: bool,
    /// Number of the last resize that the job knows of.
    resized: u32,
    /// The signal that the job is still to get for a resize.
    resize_signal: Option<ResizeSignal>,
    tasks: Vec<Task>,
    /// The first task that failed.
    failure: Option<(TaskPlace, ExitStatus)>,
    /// When this supervisor began, by the monotonic clock.
    begun: Instant,
    /// When the first process was started, by the wall clock and by the monotonic clock.
    started: Option<(Time, Instant)>,
    /// The preparing child, until it is reaped.
    preparer: Option<Pid>,
    /// The running prolog or epilog.
    hook: Option<Hook>,
    /// Present when the step's private directories are mounted.
    private: Option<Entered>,
    /// The job's user, once looked up.
    account: Option<Account>,
    /// The job's container, once made.
    container: Option<Container>,
    exit_notice: ExitNotice,
    /// Programs started in the step.
    programs: Programs,
    /// Processes that container runtimes have started.
    container_processes: ContainerProcesses,
}

impl Supervisor {
    fn run(mut self, mut stage: Stage) {
        loop {
            self.look_at_fence();
            stage = self.advance(stage);
            if matches!(stage, Stage::Done) {
                return;
            }
            self.advance_programs(&stage);
            self.kill_container_leftovers(&stage);
            self.wait(&stage);
            self.handle_commands();
            self.reap();
        }
    }

    /// Carries out commands from kantd.
    fn handle_commands(&mut self) {
        let (phase, programs) = (&self.phase, &self.programs);
        let current_state = || {
            std::iter::once(Update::Phase(phase.clone())).chain(programs.state_updates()).collect()
        };
        for command in self.control.receive(current_state) {
            match command {
                Command::Go => self.go = true,
                Command::Stop => self.stop = true,
                Command::Suspend | Command::Resume => {
                    self.freezer.is_wanted = command == Command::Suspend;
                }
                Command::Limit(limit) => self.set_time_limit(limit),
                Command::Resize(number) => self.resize(number),
                Command::Status => {}
                Command::Task(task) => self.request_program(task),
                Command::Signal { task, signal } => self.programs.signal(task, signal),
                Command::SignalJob { signal, target } => self.signal_job(signal, target),
                Command::Overuse(overuse) => self.overuse = self.overuse.or(Some(overuse)),
                Command::NotLive(why) => self.not_live = self.not_live.or(Some(why)),
            }
        }
    }

    /// Advances as far as possible without waiting.
    fn advance(&mut self, mut stage: Stage) -> Stage {
        loop {
            let before = std::mem::discriminant(&stage);
            stage = match stage {
                Stage::Prolog => self.advance_prolog(),
                Stage::Preparing(preparation) => self.advance_preparing(preparation),
                Stage::Ready(prepared) => self.advance_ready(prepared),
                Stage::Starting => self.advance_starting(),
                Stage::Running => self.advance_running(),
                Stage::Draining { end, until } => self.advance_draining(end, until),
                Stage::Ending { end, kill_at } => self.advance_ending(end, kill_at),
                Stage::Cleaning(cleanup) => self.advance_cleaning(cleanup),
                Stage::Done => Stage::Done,
            };
            if std::mem::discriminant(&stage) == before {
                return stage;
            }
        }
    }

    /// Waits for an event or the next deadline.
    fn wait(&self, stage: &Stage) {
        let until = match stage {
            Stage::Prolog => self.hook.as_ref().map(Hook::deadline),
            Stage::Preparing(_) | Stage::Ready(_) | Stage::Done => None,
            Stage::Starting => self.time_limit_at(),
            Stage::Running => self.time_limit_at().into_iter().chain(self.warning_due_at()).min(),
            Stage::Draining { until, .. } => Some(*until),
            Stage::Ending { kill_at, .. } => Some((*kill_at).min(Instant::now() + END_CHECK_PAUSE)),
            Stage::Cleaning(cleanup) => Some(cleanup.retry_at()),
        };
        let fence = self.fence_due_at().filter(|_| !stage.is_ending_or_over());
        let until = until.into_iter().chain(self.container_processes.next_check());
        let until = until.chain(fence).min();
        let mut watched = vec![self.signals.as_fd()];
        watched.extend(self.container_processes.end_descriptors());
        watched.extend(self.programs.report_descriptors());
        match stage {
            Stage::Preparing(preparation) => watched.push(preparation.socket()),
            Stage::Starting => {
                let reports = self.tasks.iter().filter_map(|task| task.report.as_ref());
                watched.extend(reports.map(AsFd::as_fd));
            }
            _ => {}
        }
        let watched = watched.into_iter().map(|fd| (fd, PollFlags::POLLIN));
        let mut watched: Vec<PollFd<'_>> = watched
            .chain(self.control.descriptors())
            .map(|(fd, wants)| PollFd::new(fd, wants))
            .collect();
        // Whatever the result, every source is checked.
        let _ = poll(&mut watched, poll_timeout(until));
    }

    /// Reaps ended children: tasks, and orphans that are reparented to the supervisor. Signals come
    /// first: at a shutdown, a job that dies has got its SIGTERM at the same time as this process.
    fn reap(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            let is_end = signal.ssi_signo == Signal::SIGTERM as u32;
            self.shutting_down |= is_end && signal.ssi_pid == 1 && boot::is_shutting_down();
        }
        loop {
            match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return,
                Ok(status) => self.note_exit(status),
                Err(nix::Error::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    fn note_exit(&mut self, status: WaitStatus) {
        let (Some(pid), Some(exit)) = (status.pid(), task::exit_status(status)) else { return };
        self.preparer = self.preparer.filter(|preparer| *preparer != pid);
        self.hook.iter_mut().for_each(|hook| hook.note_exit(pid, exit));
        self.programs.note_exit(pid, exit);
        let Some(task) = self.tasks.iter_mut().find(|task| task.pid == pid) else { return };
        task.exit = Some(exit);
        if !exit.is_success() && self.failure.is_none() {
            self.failure = Some((task.place, exit));
        }
    }

    fn all_exited(&self) -> bool {
        self.tasks.iter().all(|task| task.exit.is_some())
    }

    /// Records an event, then publishes it. A running job must not end because its journal cannot
    /// be written.
    fn announce(&mut self, event: &Event) {
        if let Err(error) = self.journal.append_unsynced(event) {
            log(&format!("failed to write the journal: {error}"));
        }
        self.publish(event);
    }

    fn publish(&mut self, event: &Event) {
        self.phase = event.phase();
        self.control.push(&Update::Phase(self.phase.clone()));
    }
}

/// The timeout for poll, rounded up so that the deadline has passed when it returns; at most an
/// hour.
fn poll_timeout(until: Option<Instant>) -> PollTimeout {
    let Some(until) = until else { return PollTimeout::NONE };
    let left = until.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600));
    let ms = u16::try_from(left.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
    PollTimeout::from(ms)
}

/// Writes a line to the supervisor's log.
fn log(text: &str) {
    eprintln!("{} {text}", clock::now());
}
