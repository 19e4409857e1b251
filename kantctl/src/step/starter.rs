//! `kantctl step-tasks`: on each node of a step, the parent of its tasks: starts them, passes on
//! what they read and write, tells how they ended, and leaves nothing behind. It speaks in frames:
//! reads them from its standard input, which may be a file that grows, and writes them to its
//! output. Never talks to a daemon, and never outlives its tasks for long.

mod commands;
mod gate;
mod gpus;
mod input;
mod say;
mod task;
mod wait;

use super::frame::{ALL, Frame, Frames, Kind};
use super::plan::{NodePlan, VERSION};
use crate::failure::{Failure, OK};
use anyhow::Context;
use common::job::ExitStatus;
use gate::Gate;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use task::{NotStarted, Task};

/// How long streams of tasks that have ended may be silent: something else may hold them open.
const STREAMS_LIMIT: Duration = Duration::from_secs(5);

/// So much may wait to be heard; whoever has more to say waits, tasks too.
const HEARD_MAX: usize = 64;
/// Between two looks at processes that were killed.
const LOOK: Duration = Duration::from_millis(5);
/// How long they may take to go.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// What a starter hears.
pub enum Heard {
    /// Bytes of its input.
    Bytes(Vec<u8>),
    /// Whoever wrote its input is gone.
    InputOver,
    /// A task wrote something.
    Wrote(u32, Kind, Vec<u8>),
    /// A task's stream is at its end.
    Closed,
    /// A task has read something that it was handed.
    Took,
    Signal(Signal),
    Ended(Pid, ExitStatus),
}

/// The way of what tasks write.
#[derive(Clone)]
pub struct Way {
    tell: SyncSender<Heard>,
    gate: Arc<Gate>,
}

/// Runs tasks until all are over.
///
/// # Errors
/// [`Failure`] when there is no plan, or what tasks write cannot be passed on.
pub fn run() -> Result<u8, Failure> {
    // Orphans of tasks come to us, so that none is left behind.
    set_child_subreaper(true).context("failed to become the parent of what tasks leave behind")?;
    let (tell, told) = sync_channel(HEARD_MAX);
    // Before any thread is made: all of them take over the mask.
    hear_signals(tell.clone())?;
    commands::hear(tell.clone()).context("failed to read standard input")?;
    let out = std::io::stdout().as_fd().try_clone_to_owned();
    let out = File::from(out.context("failed to take standard output")?);
    let mut starter = Starter::new(tell, out);
    starter.run(&told)?;
    Ok(OK)
}

/// All are blocked: what is for the job as a whole, the tasks get themselves. SIGHUP says that
/// whoever asked for them is gone.
fn hear_signals(tell: SyncSender<Heard>) -> Result<(), Failure> {
    let mut all = SigSet::all();
    all.remove(Signal::SIGSEGV);
    all.thread_block().context("failed to block signals")?;
    let read = SignalFd::with_flags(&SigSet::from(Signal::SIGHUP), SfdFlags::SFD_CLOEXEC);
    let read = read.context("failed to read signals")?;
    std::thread::spawn(move || {
        while let Ok(Some(sent)) = read.read_signal() {
            let signal = i32::try_from(sent.ssi_signo).ok();
            let Some(signal) = signal.and_then(|s| Signal::try_from(s).ok()) else { continue };
            if tell.send(Heard::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

struct Starter {
    way: Way,
    out: File,
    /// So much of it was given back to the file system.
    given_back: u64,
    frames: Frames,
    /// So many bytes were read.
    read: u64,
    /// So many of them are known to be out of the way.
    taken: u64,
    grace: Duration,
    /// Empty before the plan came.
    tasks: Vec<Task>,
    is_planned: bool,
    /// Streams of tasks that are open.
    streams: usize,
    /// When tasks that were told to end are made to.
    kill_at: Option<Instant>,
}

impl Starter {
    fn new(tell: SyncSender<Heard>, out: File) -> Self {
        Self {
            way: Way { tell, gate: Arc::default() },
            out,
            given_back: 0,
            frames: Frames::default(),
            read: 0,
            taken: 0,
            grace: Duration::ZERO,
            tasks: Vec::new(),
            is_planned: false,
            streams: 0,
            kill_at: None,
        }
    }

    fn run(&mut self, told: &Receiver<Heard>) -> Result<(), Failure> {
        loop {
            if self.is_planned && self.tasks.iter().all(Task::is_over) {
                break;
            }
            match receive(told, self.kill_at) {
                Some(heard) => self.hear(heard)?,
                None => {
                    self.kill_at = None;
                    self.signal(ALL, Signal::SIGKILL);
                }
            }
        }
        let limit = Instant::now() + LEAVE_LIMIT;
        while wait::kill_leftovers() && Instant::now() < limit {
            if let Some(heard) = receive(told, Some(Instant::now() + LOOK)) {
                self.hear(heard)?;
            }
        }
        while self.streams > 0 {
            // However long a slow reader takes: what was written is passed on.
            match receive(told, Some(Instant::now() + STREAMS_LIMIT)) {
                Some(heard) => self.hear(heard)?,
                None if self.way.gate.is_full() => {}
                None => break,
            }
        }
        self.say(&Frame::new(Kind::Over, ALL, []))
    }

    fn hear(&mut self, heard: Heard) -> Result<(), Failure> {
        match heard {
            Heard::Bytes(bytes) => {
                self.frames.push(&bytes);
                while let Some(frame) = self.frames.take().map_err(anyhow::Error::new)? {
                    self.obey(frame)?;
                }
                self.read += bytes.len() as u64;
                self.say_read()
            }
            Heard::Took => self.say_read(),
            Heard::InputOver if self.is_planned => {
                self.way.gate.hold(false);
                self.end_tasks();
                Ok(())
            }
            Heard::InputOver => Err(Failure::message("was told nothing to run".to_owned())),
            Heard::Wrote(task, kind, bytes) => self.say(&Frame::new(kind, task, bytes)),
            Heard::Closed => {
                self.streams = self.streams.saturating_sub(1);
                Ok(())
            }
            Heard::Signal(_) => {
                self.way.gate.hold(false);
                self.end_tasks();
                Ok(())
            }
            Heard::Ended(pid, exit) => self.note_end(pid, exit),
        }
    }

    fn obey(&mut self, frame: Frame) -> Result<(), Failure> {
        let Frame { kind, task, body } = frame;
        match kind {
            Kind::Plan if !self.is_planned => return self.start(&body),
            Kind::Input => self.each(task, |task| task.feed(&body)),
            Kind::InputEnd => self.each(task, Task::end_input),
            Kind::Window => self.each(task, |task| task.resize(&body)),
            Kind::Signal => {
                let signal = body.first().map(|number| i32::from(*number));
                if let Some(signal) = signal.and_then(|number| Signal::try_from(number).ok()) {
                    self.signal(task, signal);
                }
            }
            Kind::Taken => {
                if let Ok(bytes) = <[u8; 8]>::try_from(body.as_slice()) {
                    self.note_taken(u64::from_le_bytes(bytes));
                }
            }
            // Not for a starter.
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, body: &[u8]) -> Result<(), Failure> {
        let plan: NodePlan = serde_json::from_slice(body).context("failed to read the plan")?;
        if plan.version != VERSION {
            let text =
                format!("kantctl here reads plans of version {VERSION}, not {}", plan.version);
            return Err(Failure::message(text));
        }
        self.is_planned = true;
        self.grace = Duration::from_secs(plan.grace_seconds);
        self.way.gate.hold(plan.holds_back);
        for number in 0..u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX) {
            match Task::start(&plan, number, &self.way) {
                Ok((task, streams)) => {
                    self.streams += streams;
                    self.tasks.push(task);
                }
                Err(NotStarted { errno, why }) => {
                    self.tasks.push(Task::failed());
                    let mut body = vec![u8::try_from(errno).unwrap_or_default()];
                    body.extend(why.into_bytes());
                    self.say(&Frame::new(Kind::Failed, number, body))?;
                }
            }
        }
        wait::for_children(self.way.tell.clone());
        Ok(())
    }

    fn each(&mut self, task: u32, act: impl Fn(&mut Task)) {
        let all = self.tasks.iter_mut().zip(0..);
        all.filter(|(_, number)| task == ALL || task == *number).for_each(|(task, _)| act(task));
    }

    fn signal(&mut self, task: u32, signal: Signal) {
        self.each(task, |task| task.signal(signal));
    }

    /// Whoever asked for them is gone.
    fn end_tasks(&mut self) {
        if self.kill_at.is_none() {
            self.signal(ALL, Signal::SIGTERM);
            // A stopped process would sleep through it.
            self.signal(ALL, Signal::SIGCONT);
            self.kill_at = Some(Instant::now() + self.grace);
        }
    }
}

/// What comes next; `None`: nothing until then.
fn receive(told: &Receiver<Heard>, until: Option<Instant>) -> Option<Heard> {
    match until {
        // The starter holds a sender itself.
        None => told.recv().ok(),
        Some(until) => told.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
    }
}
