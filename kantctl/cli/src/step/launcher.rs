//! `kantctl step-tasks`: the launcher, which is the parent of a step's tasks on each node. It
//! starts the tasks, forwards their input and output, reports how they end, and leaves no process
//! behind. It reads frames from stdin, which may be a file that grows, and writes frames to stdout.
//! It does not communicate with daemons.

mod children;
mod client_input;
mod flow_control;
mod reports;
mod task;
mod task_input;
mod visible_gpus;

use super::frame::{ALL, Frame, Frames, Kind};
use super::plan::{NodePlan, VERSION};
use crate::failure::{Failure, OK};
use anyhow::Context;
use common::job::ExitStatus;
use flow_control::FlowControl;
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

/// How long streams of ended tasks may be idle before they are given up: another process may keep
/// them open.
const STREAMS_LIMIT: Duration = Duration::from_secs(5);

/// The limit of events waiting to be handled; then senders wait, including tasks.
const EVENTS_AHEAD: usize = 64;
/// The pause while killed processes end.
const LOOK: Duration = Duration::from_millis(5);
/// How long killed processes may take to end.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// An event in a launcher.
pub enum Event {
    /// Input was read.
    Input(Vec<u8>),
    /// The input has ended: the client is gone.
    InputEnd,
    /// Output of a task.
    Output(u32, Kind, Vec<u8>),
    /// The end of a task's stream.
    StreamClosed,
    /// A task has read input.
    InputRead,
    Signal(Signal),
    TaskEnded(Pid, ExitStatus),
}

/// The path of the tasks' output.
#[derive(Clone)]
pub struct OutputPath {
    events: SyncSender<Event>,
    flow_control: Arc<FlowControl>,
}

/// Runs tasks until all have ended.
///
/// # Errors
/// [`Failure`] when there is no plan, or output cannot be forwarded.
pub fn run() -> Result<u8, Failure> {
    // Orphaned descendants of tasks become our children, so that none is left behind.
    set_child_subreaper(true).context("failed to become the parent of orphaned processes")?;
    let (events, received) = sync_channel(EVENTS_AHEAD);
    // Before any thread is created, because threads inherit the signal mask.
    watch_signals(events.clone())?;
    client_input::start_reading(events.clone()).context("failed to read standard input")?;
    let out = std::io::stdout().as_fd().try_clone_to_owned();
    let out = File::from(out.context("failed to duplicate standard output")?);
    let mut launcher = Launcher::new(events, out);
    launcher.run(&received)?;
    Ok(OK)
}

/// Blocks all signals: tasks receive signals to the job themselves. SIGHUP means that the client is
/// gone.
fn watch_signals(events: SyncSender<Event>) -> Result<(), Failure> {
    let mut all = SigSet::all();
    all.remove(Signal::SIGSEGV);
    all.thread_block().context("failed to block signals")?;
    let read = SignalFd::with_flags(&SigSet::from(Signal::SIGHUP), SfdFlags::SFD_CLOEXEC);
    let read = read.context("failed to read signals")?;
    std::thread::spawn(move || {
        while let Ok(Some(sent)) = read.read_signal() {
            let signal = i32::try_from(sent.ssi_signo).ok();
            let Some(signal) = signal.and_then(|s| Signal::try_from(s).ok()) else { continue };
            if events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

struct Launcher {
    output_path: OutputPath,
    out: File,
    /// How much of the output file was released to the file system.
    given_back: u64,
    frames: Frames,
    /// Bytes of input that were read.
    read: u64,
    /// Bytes of input that are reported as processed.
    taken: u64,
    grace: Duration,
    /// Empty until the plan arrives.
    tasks: Vec<Task>,
    is_planned: bool,
    /// The number of open streams of tasks.
    streams: usize,
    /// When tasks that got SIGTERM get SIGKILL.
    kill_at: Option<Instant>,
}

impl Launcher {
    fn new(events: SyncSender<Event>, out: File) -> Self {
        Self {
            output_path: OutputPath { events, flow_control: Arc::default() },
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

    fn run(&mut self, received: &Receiver<Event>) -> Result<(), Failure> {
        loop {
            if self.is_planned && self.tasks.iter().all(Task::is_over) {
                break;
            }
            match receive(received, self.kill_at) {
                Some(event) => self.handle(event)?,
                None => {
                    self.kill_at = None;
                    self.signal(ALL, Signal::SIGKILL);
                }
            }
        }
        let limit = Instant::now() + LEAVE_LIMIT;
        while children::kill_leftovers() && Instant::now() < limit {
            if let Some(event) = receive(received, Some(Instant::now() + LOOK)) {
                self.handle(event)?;
            }
        }
        while self.streams > 0 {
            // Written output is forwarded completely, even to a slow reader.
            match receive(received, Some(Instant::now() + STREAMS_LIMIT)) {
                Some(event) => self.handle(event)?,
                None if self.output_path.flow_control.is_full() => {}
                None => break,
            }
        }
        self.send(&Frame::new(Kind::Over, ALL, []))
    }

    fn handle(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Input(bytes) => {
                self.frames.push(&bytes);
                while let Some(frame) = self.frames.take().map_err(anyhow::Error::new)? {
                    self.handle_frame(frame)?;
                }
                self.read += bytes.len() as u64;
                self.report_processed_input()
            }
            Event::InputRead => self.report_processed_input(),
            Event::InputEnd if self.is_planned => {
                self.output_path.flow_control.set_enabled(false);
                self.end_tasks();
                Ok(())
            }
            Event::InputEnd => Err(Failure::from_message(
                "failed to start tasks: the input ended before a plan arrived".to_owned(),
            )),
            Event::Output(task, kind, bytes) => self.send(&Frame::new(kind, task, bytes)),
            Event::StreamClosed => {
                self.streams = self.streams.saturating_sub(1);
                Ok(())
            }
            Event::Signal(_) => {
                self.output_path.flow_control.set_enabled(false);
                self.end_tasks();
                Ok(())
            }
            Event::TaskEnded(pid, exit) => self.note_end(pid, exit),
        }
    }

    fn handle_frame(&mut self, frame: Frame) -> Result<(), Failure> {
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
                    self.note_processed_output(u64::from_le_bytes(bytes));
                }
            }
            // Frames for clients.
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, body: &[u8]) -> Result<(), Failure> {
        let plan: NodePlan = serde_json::from_slice(body).context("failed to read the plan")?;
        if plan.version != VERSION {
            let text = format!(
                "kantctl on this node supports plans of version {VERSION}, not {}",
                plan.version
            );
            return Err(Failure::from_message(text));
        }
        self.is_planned = true;
        self.grace = Duration::from_secs(plan.grace_seconds);
        self.output_path.flow_control.set_enabled(plan.holds_back);
        for number in 0..u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX) {
            match Task::start(&plan, number, &self.output_path) {
                Ok((task, streams)) => {
                    self.streams += streams;
                    self.tasks.push(task);
                }
                Err(NotStarted { errno, why }) => {
                    self.tasks.push(Task::new_not_started());
                    let mut body = vec![u8::try_from(errno).unwrap_or_default()];
                    body.extend(why.into_bytes());
                    self.send(&Frame::new(Kind::Failed, number, body))?;
                }
            }
        }
        children::watch(self.output_path.events.clone());
        Ok(())
    }

    fn each(&mut self, task: u32, act: impl Fn(&mut Task)) {
        let all = self.tasks.iter_mut().zip(0..);
        all.filter(|(_, number)| task == ALL || task == *number).for_each(|(task, _)| act(task));
    }

    fn signal(&mut self, task: u32, signal: Signal) {
        self.each(task, |task| task.signal(signal));
    }

    /// Ends the tasks, because the client is gone.
    fn end_tasks(&mut self) {
        if self.kill_at.is_none() {
            self.signal(ALL, Signal::SIGTERM);
            // A stopped process would not handle SIGTERM.
            self.signal(ALL, Signal::SIGCONT);
            self.kill_at = Some(Instant::now() + self.grace);
        }
    }
}

/// The next event; `None` if there is none until then.
fn receive(received: &Receiver<Event>, until: Option<Instant>) -> Option<Event> {
    match until {
        // It cannot be disconnected: the launcher has a sender itself.
        None => received.recv().ok(),
        Some(until) => received.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
    }
}
