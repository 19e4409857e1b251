//! The client of a step, from start to end: launchers, streams, signals, exit codes. It never
//! leaves
//! running tasks behind.

mod attached;
mod input;
mod lines;
mod signalled;
mod stop;
mod words;

use super::frame::{ALL, Frame, Kind};
use super::keeper::Keeper;
use super::line::News;
use super::place::{Place, Task};
use super::stream::{self, Outputs, Pieces};
use super::terminal::{self, Raw};
use super::wish::Wish;
use crate::failure::Failure;
use crate::output::screen::{note, speaks_slurm};
use crate::server::Server;
use crate::signals::Signals;
use anyhow::Context;
use attached::Attached;
use common::job::ExitStatus;
use common::wire::node::{StepSpeech, StepView};
use lines::Lines;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use stop::{Interrupts, Stop, due};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::LocalSet;
use words::words;

/// The limit of input bytes on their way to a launcher.
const INPUT_AHEAD_BYTES: u64 = 1 << 20;

/// The limit of events waiting to be handled.
const NEWS_AHEAD: usize = 64;

/// The parameters of a step.
pub struct Step<'a> {
    pub wish: &'a Wish,
    pub place: &'a Place,
    /// The environment of the client.
    pub environment: BTreeMap<String, String>,
    /// The working directory of the client.
    pub directory: PathBuf,
    /// The controller, for launchers on other nodes.
    pub server: Arc<Server>,
    /// Renews the leases of those launchers.
    pub keeper: &'a Keeper,
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
    LocalSet::new().run_until(hold(step, signals)).await
}

async fn hold(step: Step<'_>, signals: &mut Signals) -> Result<u8, Failure> {
    let directory = match &step.wish.chdir {
        None => step.directory.clone(),
        Some(directory) => step.directory.join(directory),
    };
    let outputs = Outputs::open(step.wish, step.place, &directory)?;
    let voice = outputs.own().voice();
    let sources = stream::sources(step.wish, step.place, &directory);
    let pieces = stream::read(&sources)?;
    let raw = if step.wish.pty { Raw::take()? } else { None };
    let (tell, told) = channel(NEWS_AHEAD);
    let readers: Vec<Vec<u32>> = sources.into_iter().map(|(_, ranks)| ranks).collect();
    let lines = lines::open(&step, &directory, &readers, tell)?;
    let tasks = step.place.tasks();
    let (attached, spoken) = Attached::new();
    attached.note_readers(&readers);
    attached.send(&step);
    let conduct = Conduct {
        step: &step,
        codes: vec![None; tasks.len()],
        tasks,
        lines,
        outputs,
        readers,
        attached,
        failure: None,
        stop: None,
        interrupts: Interrupts::default(),
    };
    let ended = conduct.hold(told, pieces, spoken, signals).await;
    drop((raw, voice));
    ended
}

struct Conduct<'a> {
    step: &'a Step<'a>,
    tasks: Vec<Task>,
    /// The exit codes of tasks, as a shell reports them.
    codes: Vec<Option<u8>>,
    lines: Lines,
    outputs: Outputs,
    /// The tasks that read each source; empty after its end.
    readers: Vec<Vec<u32>>,
    /// Clients that are attached to the step.
    attached: Rc<Attached>,
    /// The first failure of a launcher.
    failure: Option<Failure>,
    stop: Option<Stop>,
    interrupts: Interrupts,
}

impl Conduct<'_> {
    async fn hold(
        mut self,
        mut told: Receiver<(usize, News)>,
        mut pieces: Pieces,
        mut spoken: Receiver<Vec<StepSpeech>>,
        signals: &mut Signals,
    ) -> Result<u8, Failure> {
        let windows = signal(SignalKind::window_change());
        let mut windows = windows.context("failed to watch the window's size")?;
        let mut reads = !self.readers.is_empty();
        let mut words = words(self.step, &self.attached);
        while self.lines.any_open() {
            let has_room = reads && self.lines.ahead() < INPUT_AHEAD_BYTES;
            let may_hear = self.outputs.own().has_room();
            tokio::select! {
                Some((line, news)) = told.recv(), if may_hear => self.hear(line, news)?,
                moved = self.outputs.own().moved() => moved.map_err(|e| stream::unwritten(&e))?,
                signal = signals.next() => self.signalled(signal),
                Some(word) = words.recv() => {
                    self.tell(word);
                    // It is followed by SIGKILL.
                    if word == Signal::SIGTERM {
                        self.stop = Stop::now().next();
                    }
                }
                piece = pieces.recv(), if has_room => match piece {
                    Some((source, piece)) => self.pass_input(source, piece),
                    None => reads = false,
                },
                Some(speech) = spoken.recv(), if self.may_be_told() => self.pass_speech(speech),
                Some(()) = windows.recv(), if self.step.wish.pty => {
                    let size = terminal::window_bytes(terminal::window());
                    self.lines.send_all(&Frame::new(Kind::Window, ALL, size));
                }
                () = due(self.stop.as_ref()) => {
                    if let Some(stop) = self.stop.take() {
                        self.tell(stop.signal);
                        self.stop = stop.next();
                    }
                }
            }
        }
        self.attached.farewell().await;
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
        while !self.outputs.own().is_done() {
            tokio::select! {
                moved = self.outputs.own().moved() => moved.map_err(|e| stream::unwritten(&e))?,
                signal = signals.next() => if signal != Signal::SIGCONT { return Ok(()) },
            }
        }
        Ok(())
    }

    fn hear(&mut self, line: usize, news: News) -> Result<(), Failure> {
        match news {
            News::Frame(frame) => {
                self.lines.note_heard(line, &frame);
                self.frame(line, frame)
            }
            News::Said(bytes) => {
                self.outputs.own().write(true, bytes);
                Ok(())
            }
            News::Over(result) => {
                self.lines.close(line);
                if let Err(failure) = result {
                    // Tasks on other nodes would wait for those on this node.
                    self.failure.get_or_insert(failure);
                    self.stop.get_or_insert_with(Stop::now);
                }
                Ok(())
            }
        }
    }

    fn frame(&mut self, line: usize, frame: Frame) -> Result<(), Failure> {
        let rank = self.lines.rank(line, frame.task);
        match (frame.kind, rank) {
            (kind @ (Kind::Output | Kind::Error), Some(rank)) => {
                self.attached.note(kind, rank, &frame.body);
                let written = self.outputs.write(rank, kind, frame.body);
                written.map_err(|error| stream::unwritten(&error))
            }
            (Kind::Ended, Some(rank)) => {
                let (code, signal) = match frame.body.as_slice() {
                    [code, 0] => (*code, None),
                    [code, signal, ..] => (*code, Some(*signal)),
                    _ => (1, None),
                };
                self.ended(rank, ExitStatus { code, signal });
                Ok(())
            }
            (Kind::Failed, Some(rank)) => {
                let [errno, why @ ..] = frame.body.as_slice() else { return Ok(()) };
                let why = String::from_utf8_lossy(why).into_owned();
                self.outputs.note(&format!("error: {}: task {rank}: {why}", self.node(rank)));
                self.over(rank, not_started(*errno));
                Ok(())
            }
            (Kind::Read, _) => {
                if let Ok(count) = <[u8; 8]>::try_from(frame.body.as_slice()) {
                    self.lines.note_read(line, u64::from_le_bytes(count));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn node(&self, rank: u32) -> String {
        let task = self.tasks.get(rank as usize);
        let node = task.and_then(|task| self.step.place.node(*task));
        node.map(ToString::to_string).unwrap_or_default()
    }

    fn ended(&mut self, rank: u32, exit: ExitStatus) {
        let code = exit.signal.map_or(exit.code, |signal| 128_u8.saturating_add(signal));
        if code != 0 && !self.step.wish.quiet && !self.step.wish.pty {
            let how = match exit.signal.map(|number| Signal::try_from(i32::from(number))) {
                None => format!("Exited with exit code {code}"),
                Some(signal) => {
                    format!("ended by {}", signal.map_or("a signal", Signal::as_str))
                }
            };
            self.outputs.note(&format!("error: {}: task {rank}: {how}", self.node(rank)));
        }
        self.over(rank, code);
    }

    /// Handles the end of a task, which may end the others.
    fn over(&mut self, rank: u32, code: u8) {
        if let Some(known) = self.codes.get_mut(rank as usize) {
            *known = Some(code);
        }
        let fails = code != 0 && self.step.wish.kill_on_bad_exit;
        let patience = self.step.wish.wait_seconds.filter(|seconds| *seconds > 0);
        if self.stop.is_none() {
            self.stop = if fails { Some(Stop::now()) } else { patience.map(Stop::after) };
        }
    }
}

/// The exit code for a program that could not be started. srun uses the errno, and 2 if the program
/// does not exist; kantctl uses the codes of a shell.
fn not_started(errno: u8) -> u8 {
    const NOT_FOUND: u8 = 127;
    const NOT_RUNNABLE: u8 = 126;
    match i32::from(errno) {
        nix::libc::ENOENT | 0 if !speaks_slurm() => NOT_FOUND,
        _ if !speaks_slurm() => NOT_RUNNABLE,
        _ => errno.max(1),
    }
}
