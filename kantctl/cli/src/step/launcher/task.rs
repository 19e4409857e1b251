//! A task of a step: a process in a session of its own, with pipes or a terminal as its streams.
//! The launcher never waits for it.

use super::task_input::TaskInput;
use super::{Event, OutputPath, visible_gpus};
use crate::step::frame::Kind;
use crate::step::plan::{NodePlan, TaskPlan, Window};
use common::task_prolog;
use nix::libc;
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sched::CpuSet;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Bytes that are forwarded at once.
const PIECE_BYTES: usize = 32 << 10;
/// Ctrl-D, which ends the input of a program on a terminal.
const END_OF_INPUT: u8 = 4;
/// The largest signal number; the C library reserves two signals.
const SIGNAL_MAX: libc::c_int = 64;
/// The stack size of threads, which do little.
const STACK_BYTES: usize = 64 << 10;

/// Why a task did not start.
#[derive(Debug)]
pub struct NotStarted {
    /// The errno (man 3 errno); 0 if there is none.
    pub errno: i32,
    pub why: String,
}

pub struct Task {
    /// `None` if it never ran, or has ended.
    pid: Option<Pid>,
    /// `None` after the end of input.
    input: Option<TaskInput>,
    /// The master side of its terminal.
    terminal: Option<File>,
}

impl Task {
    /// Starts a task; also returns how many of its streams are read.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn start(
        plan: &NodePlan,
        number: u32,
        output_path: &OutputPath,
    ) -> Result<(Self, usize), NotStarted> {
        let own = plan.tasks.get(number as usize).cloned().unwrap_or_default();
        let program = plan.program.first().cloned().unwrap_or_default();
        let failed = |error: io::Error| NotStarted {
            errno: error.raw_os_error().unwrap_or_default(),
            why: format!("failed to start {program}: {error}"),
        };
        // The site's task prolog, if there is one, precedes the command.
        let prolog = std::env::var(task_prolog::VARIABLE).ok();
        let first = prolog.iter().flat_map(|_| task_prolog::WORDS);
        let mut words =
            first.chain(prolog.as_deref()).chain(plan.program.iter().map(String::as_str));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command.envs(&plan.environment).envs(&own.environment);
        command.envs(visible_gpus::environment(own.gpus.as_deref()));
        let cpus = cpu_set(&own.cpus).map_err(|error| failed(error.into()))?;
        match plan.terminal {
            Some(window) => Self::start_with_terminal(command, window, cpus, number, output_path)
                .map_err(failed),
            None => {
                Self::start_with_pipes(command, &own, cpus, number, output_path).map_err(failed)
            }
        }
    }

    /// A task that could not be started.
    pub const fn new_not_started() -> Self {
        Self { pid: None, input: None, terminal: None }
    }

    /// Bytes that were handed to it but not read, not counting the pipe's content.
    pub fn unread(&self) -> usize {
        self.input.as_ref().map_or(0, TaskInput::unread)
    }

    fn start_with_pipes(
        mut command: Command,
        own: &TaskPlan,
        cpus: Option<CpuSet>,
        number: u32,
        output_path: &OutputPath,
    ) -> io::Result<(Self, usize)> {
        command.stdin(if own.input { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare_child(&mut command, cpus, None);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().map(OwnedFd::from);
        let input = stdin.map(|stdin| TaskInput::start(stdin.into(), output_path.events.clone()));
        let streams = [
            child.stdout.take().map(|out| (Kind::Output, OwnedFd::from(out))),
            child.stderr.take().map(|error| (Kind::Error, OwnedFd::from(error))),
        ];
        let streams: Vec<_> = streams.into_iter().flatten().collect();
        let count = streams.len();
        for (kind, stream) in streams {
            forward_output(stream.into(), number, kind, output_path.clone());
        }
        let pid = pid(&child);
        Ok((Self { pid, input, terminal: None }, count))
    }

    fn start_with_terminal(
        mut command: Command,
        window: Window,
        cpus: Option<CpuSet>,
        number: u32,
        output_path: &OutputPath,
    ) -> io::Result<(Self, usize)> {
        let OpenptyResult { master, slave } = openpty(&winsize(window), None)?;
        // Not inherited: a task with the master side would never notice that its terminal is gone.
        for end in [&master, &slave] {
            close_on_exec(end)?;
        }
        let copy = || slave.try_clone().map(Stdio::from);
        command.stdin(copy()?).stdout(copy()?).stderr(copy()?);
        prepare_child(&mut command, cpus, Some(slave.as_raw_fd()));
        let child = command.spawn()?;
        drop((command, slave));
        let (input, reader) = (File::from(master.try_clone()?), File::from(master.try_clone()?));
        forward_output(reader, number, Kind::Output, output_path.clone());
        let input = Some(TaskInput::start(input, output_path.events.clone()));
        let (pid, terminal) = (pid(&child), Some(File::from(master)));
        Ok((Self { pid, input, terminal }, 1))
    }

    pub const fn pid(&self) -> Option<Pid> {
        self.pid
    }

    /// Whether it has ended, or never ran.
    pub const fn is_over(&self) -> bool {
        self.pid.is_none()
    }

    pub fn note_end(&mut self) {
        (self.pid, self.input) = (None, None);
    }

    /// Sends a signal to its process group.
    pub fn signal(&mut self, signal: Signal) {
        if let Some(pid) = self.pid {
            // A task that has just ended needs no signal.
            let _ = killpg(pid, signal);
        }
    }

    /// Hands it more input.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.input.as_ref().is_some_and(|input| !input.feed(bytes)) {
            // It has closed its input.
            self.input = None;
        }
    }

    /// Ends its input after what was handed over.
    pub fn end_input(&mut self) {
        if self.terminal.is_some() {
            self.feed(&[END_OF_INPUT]);
        } else {
            self.input = None;
        }
    }

    /// Changes the size of its window.
    pub fn resize(&mut self, body: &[u8]) {
        let (Some(terminal), [a, b, c, d]) = (&self.terminal, body) else { return };
        let (rows, columns) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
        let size = winsize(Window { rows, columns });
        // SAFETY: an open terminal, and a live struct of the type that this request reads.
        unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    }
}

fn pid(child: &std::process::Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().map(Pid::from_raw)
}

const fn winsize(window: Window) -> Winsize {
    Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn close_on_exec(end: &OwnedFd) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(())
}

/// `None` for all CPUs of the job.
fn cpu_set(cpus: &[u32]) -> nix::Result<Option<CpuSet>> {
    if cpus.is_empty() {
        return Ok(None);
    }
    let mut set = CpuSet::new();
    cpus.iter().try_for_each(|cpu| set.set(*cpu as usize))?;
    Ok(Some(set))
}

/// Prepares a task between fork and exec: a session of its own, with the terminal if any; no signal
/// blocked or ignored; death of the launcher ends the task; its CPUs.
fn prepare_child(command: &mut Command, cpus: Option<CpuSet>, terminal: Option<RawFd>) {
    let launcher = std::process::id();
    let settle = move || {
        // SAFETY: these calls take numbers, or live memory of the type they expect, and are allowed
        // between fork and exec (man 7 signal-safety).
        unsafe {
            if libc::setsid() < 0 {
                return Err(io::Error::last_os_error());
            }
            if let Some(terminal) = terminal
                && libc::ioctl(terminal, libc::TIOCSCTTY, 0) < 0
            {
                return Err(io::Error::last_os_error());
            }
            // A shell ignores some signals in background programs; tasks must not inherit that.
            for signal in 1..=SIGNAL_MAX {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid().unsigned_abs() != launcher {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        if let Some(cpus) = &cpus {
            nix::sched::sched_setaffinity(Pid::from_raw(0), cpus)?;
        }
        Ok(())
    };
    // SAFETY: see above; sched_setaffinity is a plain system call on live memory.
    unsafe { command.pre_exec(settle) };
}

/// Forwards output of a task until its stream ends.
fn forward_output(mut stream: File, number: u32, kind: Kind, output_path: OutputPath) {
    let read = move || {
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            output_path.flow_control.wait();
            match stream.read(&mut buffer) {
                Ok(count @ 1..) => {
                    let wrote = Event::Output(number, kind, buffer[..count].to_vec());
                    if output_path.events.send(wrote).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // EIO: all processes have closed the terminal.
                Ok(_) | Err(_) => break,
            }
        }
        // The launcher may have ended.
        let _ = output_path.events.send(Event::StreamClosed);
    };
    spawn(read);
}

pub fn spawn(work: impl FnOnce() + Send + 'static) {
    let spawned = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    // If there is no thread, the stream is closed, as if its other end were gone.
    drop(spawned);
}
