//! The supervisor of one step: one thread, one loop, from the order to the last journal line.
//! It goes on when kantd is gone. Never in the job's cgroup, never root's word for the job's user.

mod begin;
mod clean;
mod farewell;
mod guests;
mod inside;
mod resize;
mod run;
mod signals;
mod still;
mod usage;
mod verdict;
mod warn;

use super::account::Account;
use super::boot;
use super::container::Container;
use super::control::{Command, Control, Line};
use super::daemon;
use super::dir::StepDir;
use super::files::FilePlan;
use super::hook::Hook;
use super::journal::{Event, Journal};
use super::order::{StepOrder, TaskPlace};
use super::overuse::GpuOveruse;
use super::prepare::{Preparation, Prepared};
use super::private::Entered;
use super::task::{self, SoftLimit};
use crate::cgroup::Cgroup;
use crate::clock;
use clean::Cleanup;
use common::job::{ExitStatus, ResizeSignal};
use common::time::Time;
use common::wire::node::StepPhase;
use farewell::Farewell;
use guests::Guests;
use inside::Inside;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use still::Stillness;
use usage::DiskSums;
use verdict::Verdict;

/// `kantd step --dir DIR`: becomes the supervisor of the step in DIR and returns as soon as that
/// stands. To be called before anything was opened and before any thread was made.
///
/// Exit codes: 0 it stands; 1 it could not start; 3 another supervisor has the step, or had it.
#[must_use]
pub fn run_supervisor(dir: &Path) -> ExitCode {
    daemon::close_inherited();
    match begin::begin(dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// How often the group is looked at while the step is being ended.
const END_CHECK_PAUSE: Duration = Duration::from_millis(50);

/// One process of the job.
struct Task {
    place: TaskPlace,
    pid: Pid,
    /// Until it has exec'd.
    report: Option<File>,
    exit: Option<ExitStatus>,
}

/// Where the step is. Each turn of the loop moves it on.
enum Stage {
    /// The site's prolog runs.
    Prolog,
    /// A child looks the user up and opens the files.
    Preparing(Preparation),
    Ready(Prepared),
    /// Processes were made and have not all exec'd.
    Starting,
    Running,
    /// They got SIGTERM, and get SIGKILL at the deadline.
    Ending {
        end: Verdict,
        kill_at: Instant,
    },
    /// They get SIGKILL, the group goes, the end is written down.
    Cleaning(Cleanup),
    /// Nothing is left to do.
    Over,
}

struct Supervisor {
    order: StepOrder,
    dir: StepDir,
    plan: FilePlan,
    journal: Journal,
    control: Control,
    /// Readable when a child ended, or the machine goes down.
    signals: SignalFd,
    group: Box<dyn Cgroup>,
    open_files: SoftLimit,
    /// As everybody was told.
    phase: StepPhase,
    go: bool,
    stop: bool,
    overuse: Option<GpuOveruse>,
    /// The machine goes down, and everybody has been sent SIGTERM.
    down: bool,
    stillness: Stillness,
    /// When the first process was made.
    disks_before: DiskSums,
    /// The job was told that its time is nearly up.
    warned: bool,
    /// How often the job was given another size, as far as it was told.
    resized: u32,
    /// What it is still to be sent for that.
    resize_signal: Option<ResizeSignal>,
    tasks: Vec<Task>,
    /// The first task that did not end well.
    failure: Option<(TaskPlace, ExitStatus)>,
    /// When the first process was made, by both clocks: the node's, and one that never jumps.
    started: Option<(Time, Instant)>,
    /// The child that prepares, until it is reaped.
    preparer: Option<Pid>,
    /// The prolog or epilog that runs.
    hook: Option<Hook>,
    /// Once the step's private directories are there.
    private: Option<Entered>,
    /// Whom it runs as, once that was looked up.
    account: Option<Account>,
    /// What it runs in, once that stands.
    container: Option<Container>,
    /// Where a job is told that it is ended.
    farewell: Farewell,
    /// What was started in it.
    guests: Guests,
    /// What runtimes have started, in a container.
    inside: Inside,
}

impl Supervisor {
    fn run(mut self, mut stage: Stage) {
        loop {
            stage = self.advance(stage);
            if matches!(stage, Stage::Over) {
                return;
            }
            self.see_to_guests(&stage);
            self.see_to_inside(&stage);
            self.wait(&stage);
            self.hear();
            self.reap();
        }
    }

    /// Takes what kantd says.
    fn hear(&mut self) {
        let (phase, guests) = (&self.phase, &self.guests);
        let how_all_is =
            || std::iter::once(Line::Phase(phase.clone())).chain(guests.lines()).collect();
        for command in self.control.receive(how_all_is) {
            match command {
                Command::Go => self.go = true,
                Command::Stop => self.stop = true,
                Command::Suspend | Command::Resume => {
                    self.stillness.is_wanted = command == Command::Suspend;
                }
                Command::Limit(limit) => self.limit(limit),
                Command::Resize(number) => self.resize(number),
                Command::Status => {}
                Command::Task(task) => self.invite(task),
                Command::Signal { task, signal } => self.guests.signal(task, signal),
                Command::SignalJob { signal, whom } => self.signal_job(signal, whom),
                Command::Overuse(overuse) => self.overuse = self.overuse.or(Some(overuse)),
            }
        }
    }

    /// As far as it goes without waiting.
    fn advance(&mut self, mut stage: Stage) -> Stage {
        loop {
            let before = std::mem::discriminant(&stage);
            stage = match stage {
                Stage::Prolog => self.prolog(),
                Stage::Preparing(preparation) => self.preparing(preparation),
                Stage::Ready(prepared) => self.ready(prepared),
                Stage::Starting => self.starting(),
                Stage::Running => self.running(),
                Stage::Ending { end, kill_at } => self.ending(end, kill_at),
                Stage::Cleaning(cleanup) => self.cleaning(cleanup),
                Stage::Over => Stage::Over,
            };
            if std::mem::discriminant(&stage) == before {
                return stage;
            }
        }
    }

    /// Until something happens, or it is time for something.
    fn wait(&self, stage: &Stage) {
        let until = match stage {
            Stage::Prolog => self.hook.as_ref().map(Hook::deadline),
            Stage::Preparing(_) | Stage::Ready(_) | Stage::Over => None,
            Stage::Starting => self.time_is_up_at(),
            Stage::Running => self.time_is_up_at().into_iter().chain(self.warning_due_at()).min(),
            Stage::Ending { kill_at, .. } => Some((*kill_at).min(Instant::now() + END_CHECK_PAUSE)),
            Stage::Cleaning(cleanup) => Some(cleanup.retry_at()),
        };
        let until = until.into_iter().chain(self.inside.look_at()).min();
        let mut watched = vec![self.signals.as_fd()];
        watched.extend(self.inside.ends());
        watched.extend(self.guests.reports());
        match stage {
            Stage::Preparing(preparation) => watched.push(preparation.end()),
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
        // Whatever woke us, and if it was an error: every source is looked at.
        let _ = poll(&mut watched, timeout(until));
    }

    /// Collects ended children: tasks, and orphans of tasks, which come to us. Signals first: when
    /// the machine goes down, a job that dies of it has been sent its SIGTERM together with us.
    fn reap(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            let is_end = signal.ssi_signo == Signal::SIGTERM as u32;
            self.down |= is_end && signal.ssi_pid == 1 && boot::is_over();
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
        self.guests.note_exit(pid, exit);
        let Some(task) = self.tasks.iter_mut().find(|task| task.pid == pid) else { return };
        task.exit = Some(exit);
        if !exit.is_success() && self.failure.is_none() {
            self.failure = Some((task.place, exit));
        }
    }

    fn all_exited(&self) -> bool {
        self.tasks.iter().all(|task| task.exit.is_some())
    }

    /// Writes it down, then tells everybody. A journal that cannot be written must not end a job
    /// that runs.
    fn announce(&mut self, event: &Event) {
        if let Err(error) = self.journal.note(event) {
            log(&format!("failed to write the journal: {error}"));
        }
        self.say(event);
    }

    fn say(&mut self, event: &Event) {
        self.phase = event.phase();
        self.control.push(&Line::Phase(self.phase.clone()));
    }
}

/// For poll: rounded up, so that it is time when it returns; at most an hour.
fn timeout(until: Option<Instant>) -> PollTimeout {
    let Some(until) = until else { return PollTimeout::NONE };
    let left = until.saturating_duration_since(Instant::now()).min(Duration::from_secs(3600));
    let ms = u16::try_from(left.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
    PollTimeout::from(ms)
}

/// A line in the supervisor's log.
fn log(text: &str) {
    eprintln!("{} {text}", clock::now());
}
