//! The client of a step, from start to end: launchers, streams, signals, exit codes. It never
//! leaves running tasks behind.

mod attached;
mod connections;
mod distribute_input;
mod local_signals;
mod remote_signals;
mod stop;

use super::connection::Event;
use super::frame::{ALL, Frame, Kind};
use super::lease_renewer::LeaseRenewer;
use super::placement::{StepPlacement, TaskPosition};
use super::raw_terminal::{self, RawTerminal};
use super::step_options::StepOptions;
use super::stream::{self, Outputs, Pieces};
use crate::failure::Failure;
use crate::output::screen::{is_slurm_command, note};
use crate::server::Server;
use crate::signals::Signals;
use anyhow::Context;
use attached::AttachedClients;
use common::job::ExitStatus;
use common::wire::node::{StepSpeech, StepView};
use connections::Connections;
use nix::sys::signal::Signal;
use remote_signals::remote_signals;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use stop::{Interrupts, Stop, wait_until_due};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::LocalSet;

/// The limit of input bytes on their way to a launcher.
const INPUT_AHEAD_BYTES: u64 = 1 << 20;

/// The limit of events waiting to be handled.
const EVENTS_AHEAD: usize = 64;

/// The parameters of a step.
pub struct Step<'a> {
    pub options: &'a StepOptions,
    pub placement: &'a StepPlacement,
    /// The environment of the client.
    pub environment: BTreeMap<String, String>,
    /// The working directory of the client.
    pub directory: PathBuf,
    /// The controller, for launchers on other nodes.
    pub server: Arc<Server>,
    /// Renews the leases of those launchers.
    pub lease_renewer: &'a LeaseRenewer,
    /// The step's resources, if there is a step ledger.
    pub view: Option<StepView>,
    pub cpus_each: u32,
    /// Whether a person is at the terminal, whose first Ctrl-C only prints the state.
    pub is_watched: bool,
}

/// Runs a step, and returns the largest exit code, 128+N for signal N.
///
/// # Errors
/// [`Failure`] when a program, a file or a node cannot be reached.
pub async fn run(step: Step<'_>, signals: &mut Signals) -> Result<u8, Failure> {
    LocalSet::new().run_until(run_local(step, signals)).await
}

async fn run_local(step: Step<'_>, signals: &mut Signals) -> Result<u8, Failure> {
    let directory = match &step.options.chdir {
        None => step.directory.clone(),
        Some(directory) => step.directory.join(directory),
    };
    let outputs = Outputs::open(step.options, step.placement, &directory)?;
    let redirect = outputs.own_writer().redirect_stderr();
    let sources = stream::sources(step.options, step.placement, &directory);
    let pieces = stream::read(&sources)?;
    let raw = if step.options.pty { RawTerminal::enable()? } else { None };
    let (sender, events) = channel(EVENTS_AHEAD);
    let readers: Vec<Vec<u32>> = sources.into_iter().map(|(_, ranks)| ranks).collect();
    let connections = connections::open(&step, &directory, &readers, sender)?;
    let tasks = step.placement.tasks();
    let (attached, attached_input) = AttachedClients::new();
    attached.set_readers(&readers);
    attached.send(&step);
    let client = StepClient {
        step: &step,
        codes: vec![None; tasks.len()],
        tasks,
        connections,
        outputs,
        readers,
        attached,
        failure: None,
        stop: None,
        interrupts: Interrupts::default(),
    };
    let ended = client.event_loop(events, pieces, attached_input, signals).await;
    drop((raw, redirect));
    ended
}

struct StepClient<'a> {
    step: &'a Step<'a>,
    tasks: Vec<TaskPosition>,
    /// The exit codes of tasks, as a shell reports them.
    codes: Vec<Option<u8>>,
    connections: Connections,
    outputs: Outputs,
    /// The tasks that read each source; empty after its end.
    readers: Vec<Vec<u32>>,
    /// Clients that are attached to the step.
    attached: Rc<AttachedClients>,
    /// The first failure of a launcher.
    failure: Option<Failure>,
    stop: Option<Stop>,
    interrupts: Interrupts,
}

impl StepClient<'_> {
    async fn event_loop(
        mut self,
        mut events: Receiver<(usize, Event)>,
        mut pieces: Pieces,
        mut attached_input: Receiver<Vec<StepSpeech>>,
        signals: &mut Signals,
    ) -> Result<u8, Failure> {
        let windows = signal(SignalKind::window_change());
        let mut windows = windows.context("failed to watch the window's size")?;
        let mut reads = !self.readers.is_empty();
        let mut signals_from_others = remote_signals(self.step, &self.attached);
        while self.connections.any_open() {
            let has_room = reads && self.connections.bytes_in_flight_max() < INPUT_AHEAD_BYTES;
            let has_capacity = self.outputs.own_writer().has_room();
            tokio::select! {
                Some((connection, event)) = events.recv(), if has_capacity => {
                    self.handle(connection, event)?;
                }
                moved = self.outputs.own_writer().wait_until_written() => {
                    moved.map_err(|error| stream::write_failure(&error))?;
                }
                signal = signals.next() => self.on_signal(signal),
                Some(signal) = signals_from_others.recv() => {
                    self.send_signal(signal);
                    // It is followed by SIGKILL.
                    if signal == Signal::SIGTERM {
                        self.stop = Stop::now().next_stage();
                    }
                }
                piece = pieces.recv(), if has_room => match piece {
                    Some((source, piece)) => self.forward_input(source, piece),
                    None => reads = false,
                },
                Some(speech) = attached_input.recv(), if self.can_forward_input() => {
                    self.forward_attached_input(speech);
                }
                Some(()) = windows.recv(), if self.step.options.pty => {
                    let size = raw_terminal::window_bytes(raw_terminal::window());
                    self.connections.send_all(&Frame::new(Kind::Window, ALL, size));
                }
                () = wait_until_due(self.stop.as_ref()) => {
                    if let Some(stop) = self.stop.take() {
                        self.send_signal(stop.signal);
                        self.stop = stop.next_stage();
                    }
                }
            }
        }
        self.attached.flush().await;
        self.outputs.end();
        self.write_all(signals).await?;
        let worst = self.codes.iter().flatten().copied().max().unwrap_or(0);
        match self.failure {
            Some(failure) if worst == 0 => Err(failure),
            Some(failure) => {
                note(&failure.to_string());
                Ok(worst)
            }
            None => Ok(worst),
        }
    }

    /// Waits until all output is written; a signal ends waiting.
    async fn write_all(&self, signals: &mut Signals) -> Result<(), Failure> {
        while !self.outputs.own_writer().is_done() {
            tokio::select! {
                moved = self.outputs.own_writer().wait_until_written() => {
                    moved.map_err(|error| stream::write_failure(&error))?;
                }
                signal = signals.next() => if signal != Signal::SIGCONT { return Ok(()) },
            }
        }
        Ok(())
    }

    fn handle(&mut self, connection: usize, event: Event) -> Result<(), Failure> {
        match event {
            Event::Frame(frame) => {
                self.connections.note_received(connection, &frame);
                self.handle_frame(connection, frame)
            }
            Event::Stderr(bytes) => {
                self.outputs.own_writer().write(true, bytes);
                Ok(())
            }
            Event::Closed(result) => {
                self.connections.close(connection);
                if let Err(failure) = result {
                    // Tasks on other nodes would wait for those on this node.
                    self.failure.get_or_insert(failure);
                    self.stop.get_or_insert_with(Stop::now);
                }
                Ok(())
            }
        }
    }

    fn handle_frame(&mut self, connection: usize, frame: Frame) -> Result<(), Failure> {
        let rank = self.connections.rank(connection, frame.task);
        match (frame.kind, rank) {
            (kind @ (Kind::Output | Kind::Error), Some(rank)) => {
                self.attached.record_output(kind, rank, &frame.body);
                let written = self.outputs.write(rank, kind, frame.body);
                written.map_err(|error| stream::write_failure(&error))
            }
            (Kind::Ended, Some(rank)) => {
                let (code, signal) = match frame.body.as_slice() {
                    [code, 0] => (*code, None),
                    [code, signal, ..] => (*code, Some(*signal)),
                    _ => (1, None),
                };
                self.report_task_end(rank, ExitStatus { code, signal });
                Ok(())
            }
            (Kind::Failed, Some(rank)) => {
                let [errno, why @ ..] = frame.body.as_slice() else { return Ok(()) };
                let why = String::from_utf8_lossy(why).into_owned();
                self.outputs.note(&format!("error: {}: task {rank}: {why}", self.node(rank)));
                self.on_task_end(rank, not_started_code(*errno));
                Ok(())
            }
            (Kind::Read, _) => {
                if let Ok(count) = <[u8; 8]>::try_from(frame.body.as_slice()) {
                    self.connections.note_read(connection, u64::from_le_bytes(count));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn node(&self, rank: u32) -> String {
        let task = self.tasks.get(rank as usize);
        let node = task.and_then(|task| self.step.placement.node(*task));
        node.map(ToString::to_string).unwrap_or_default()
    }

    fn report_task_end(&mut self, rank: u32, exit: ExitStatus) {
        let code = exit.signal.map_or(exit.code, |signal| 128_u8.saturating_add(signal));
        if code != 0 && !self.step.options.quiet && !self.step.options.pty {
            let how = match exit.signal.map(|number| Signal::try_from(i32::from(number))) {
                None => format!("Exited with exit code {code}"),
                Some(signal) => {
                    format!("ended by {}", signal.map_or("a signal", Signal::as_str))
                }
            };
            self.outputs.note(&format!("error: {}: task {rank}: {how}", self.node(rank)));
        }
        self.on_task_end(rank, code);
    }

    /// Handles the end of a task, which may end the others.
    fn on_task_end(&mut self, rank: u32, code: u8) {
        if let Some(known) = self.codes.get_mut(rank as usize) {
            *known = Some(code);
        }
        let fails = code != 0 && self.step.options.kill_on_bad_exit;
        let patience = self.step.options.wait_seconds.filter(|seconds| *seconds > 0);
        if self.stop.is_none() {
            self.stop = if fails { Some(Stop::now()) } else { patience.map(Stop::after) };
        }
    }
}

/// The exit code for a program that could not be started. srun uses the errno, and 2 if the program
/// does not exist; kantctl uses the codes of a shell.
fn not_started_code(errno: u8) -> u8 {
    const NOT_FOUND: u8 = 127;
    const NOT_RUNNABLE: u8 = 126;
    match i32::from(errno) {
        nix::libc::ENOENT | 0 if !is_slurm_command() => NOT_FOUND,
        _ if !is_slurm_command() => NOT_RUNNABLE,
        _ => errno.max(1),
    }
}
