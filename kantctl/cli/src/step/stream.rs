//! Destinations of the tasks' output, stdout and stderr with optional labels or files, and sources
//! of their input. Lines are buffered up to a limit.

use super::attach::TaskFilter;
use super::frame::Kind;
use super::placement::{StepPlacement, TaskPosition};
use super::step_options::StepOptions;
use super::writer::Writer;
use crate::failure::Failure;
use crate::output::screen::note_line;
use anyhow::Context;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, channel};

/// The longest part of a line that is buffered for labels.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 32 << 10;
/// Pieces that are read ahead.
const PIECES_AHEAD: usize = 4;

/// The destination of one stream of a task.
#[derive(Debug, Clone)]
enum Sink {
    /// The same stream of this process.
    Own,
    File(Arc<File>),
    Nothing,
}

#[derive(Debug)]
pub struct Outputs {
    /// For each task by rank: stdout and stderr.
    sinks: Vec<[Sink; 2]>,
    /// Width of the number in labels; `None` for no labels.
    width: Option<usize>,
    /// Incomplete lines.
    begun: BTreeMap<(u32, bool), Vec<u8>>,
    own: Writer,
}

impl Outputs {
    pub const fn own_writer(&self) -> &Writer {
        &self.own
    }

    /// Prints a message on stderr, after the output so far.
    pub fn note(&self, text: &str) {
        self.own.write(true, note_line(text).into_bytes());
    }

    /// Outputs to this process's streams, for all tasks or one of them.
    #[must_use]
    pub fn to_own_streams(tasks: u32, label: bool, [output, error]: [TaskFilter; 2]) -> Self {
        let sink = |which: TaskFilter, rank: u32| match which {
            TaskFilter::All => Sink::Own,
            TaskFilter::One(task) if task == rank => Sink::Own,
            TaskFilter::One(_) | TaskFilter::Nothing => Sink::Nothing,
        };
        let sinks = (0..tasks).map(|rank| [sink(output, rank), sink(error, rank)]).collect();
        let width = label.then(|| tasks.saturating_sub(1).to_string().len());
        Self { sinks, width, begun: BTreeMap::new(), own: Writer::start() }
    }

    /// Opens the files of a step, relative to `directory`. A file that several tasks share is
    /// truncated only once.
    ///
    /// # Errors
    /// [`Failure`] when a file cannot be opened.
    pub fn open(
        options: &StepOptions,
        placement: &StepPlacement,
        directory: &Path,
    ) -> Result<Self, Failure> {
        let directory = directory.to_string_lossy().into_owned();
        let mut opened: BTreeMap<PathBuf, Arc<File>> = BTreeMap::new();
        let tasks = placement.tasks();
        let mut sinks = Vec::with_capacity(tasks.len());
        for task in &tasks {
            let mut sink = |pattern: Option<&String>| -> Result<Sink, Failure> {
                let pattern = pattern.map(String::as_str);
                let pattern = pattern.filter(|p| *p != "all" && *p != "-");
                let Some(pattern) = pattern else { return Ok(Sink::Own) };
                if pattern == "none" {
                    return Ok(Sink::Nothing);
                }
                if is_number(pattern) {
                    let this = pattern.parse() == Ok(task.rank);
                    return Ok(if this { Sink::Own } else { Sink::Nothing });
                }
                let path = placement.path(pattern, *task, &directory);
                let file = match opened.get(&path) {
                    Some(file) => Arc::clone(file),
                    None => open(&path, options.append)?,
                };
                opened.insert(path, Arc::clone(&file));
                Ok(Sink::File(file))
            };
            // Errors go where the output goes (man srun, --error).
            let with_output = options.output.as_ref().filter(|pattern| !is_number(pattern));
            let error = options.error.as_ref().or(with_output);
            sinks.push([sink(options.output.as_ref())?, sink(error)?]);
        }
        let width = options.label.then(|| tasks.len().saturating_sub(1).to_string().len());
        Ok(Self { sinks, width, begun: BTreeMap::new(), own: Writer::start() })
    }

    /// Writes output of a task.
    ///
    /// # Errors
    /// If a file cannot be written; errors of stdout and stderr are returned by the writer.
    pub fn write(&mut self, rank: u32, kind: Kind, bytes: Vec<u8>) -> io::Result<()> {
        let is_error = kind == Kind::Error;
        match self.sinks.get(rank as usize).map(|sinks| &sinks[usize::from(is_error)]) {
            Some(Sink::Own) => match self.width {
                None => self.own.write(is_error, bytes),
                Some(width) => self.label(rank, is_error, width, &bytes),
            },
            Some(Sink::File(file)) => return (&**file).write_all(&bytes),
            Some(Sink::Nothing) | None => {}
        }
        Ok(())
    }

    fn label(&mut self, rank: u32, is_error: bool, width: usize, bytes: &[u8]) {
        let begun = self.begun.entry((rank, is_error)).or_default();
        begun.extend_from_slice(bytes);
        let mut shown = Vec::new();
        while let Some(end) = begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = begun.drain(..=end).collect();
            labelled(&mut shown, rank, width, &line);
        }
        if begun.len() >= LINE_BYTES_MAX {
            let line = std::mem::take(begun);
            labelled(&mut shown, rank, width, &line);
        }
        self.own.write(is_error, shown);
    }

    /// Ends the output: incomplete lines are printed.
    pub fn end(&mut self) {
        let width = self.width.unwrap_or_default();
        for ((rank, is_error), line) in std::mem::take(&mut self.begun) {
            let mut shown = Vec::new();
            if !line.is_empty() {
                labelled(&mut shown, rank, width, &line);
            }
            self.own.write(is_error, shown);
        }
    }
}

fn open(path: &Path, append: bool) -> Result<Arc<File>, Failure> {
    let failed = || format!("failed to open {}", path.display());
    if !append {
        File::create(path).with_context(failed)?;
    }
    let file = OpenOptions::new().append(true).create(true).open(path);
    Ok(Arc::new(file.with_context(failed)?))
}

fn labelled(shown: &mut Vec<u8>, rank: u32, width: usize, line: &[u8]) {
    shown.extend(format!("{rank:>width$}: ").into_bytes());
    shown.extend_from_slice(line);
    if shown.last() != Some(&b'\n') {
        shown.push(b'\n');
    }
}

/// The failure for output that cannot be written.
#[must_use]
pub fn write_failure(error: &io::Error) -> Failure {
    let gone = error.kind() == io::ErrorKind::BrokenPipe;
    let kind = if gone { crate::failure::Kind::ReaderGone } else { crate::failure::Kind::Refused };
    Failure::new(kind, anyhow::anyhow!("failed to write what a task wrote: {error}"))
}

/// Whether the pattern is a task number: `-o 3` shows only task 3.
fn is_number(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| byte.is_ascii_digit())
}

/// A source of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The input of this process.
    Own,
    File(PathBuf),
}

/// The sources of input, each with the ranks of the tasks that read it.
#[must_use]
pub fn sources(
    options: &StepOptions,
    placement: &StepPlacement,
    directory: &Path,
) -> Vec<(Source, Vec<u32>)> {
    let tasks = placement.tasks();
    let of = |task: &TaskPosition| match options.input.as_deref() {
        None | Some("all") => Some(Source::Own),
        Some("none") => None,
        Some(number) if is_number(number) => {
            (number.parse() == Ok(task.rank)).then_some(Source::Own)
        }
        Some(file) => Some(Source::File(placement.path(file, *task, &directory.to_string_lossy()))),
    };
    let mut sources: Vec<(Source, Vec<u32>)> = Vec::new();
    for task in &tasks {
        let Some(source) = of(task) else { continue };
        match sources.iter_mut().find(|(known, _)| *known == source) {
            Some((_, ranks)) => ranks.push(task.rank),
            None => sources.push((source, vec![task.rank])),
        }
    }
    sources
}

/// Pieces of input, with the index of their source; an empty piece is the end.
pub type Pieces = Receiver<(usize, Vec<u8>)>;

/// Reads all sources, each in a thread of its own, because a read that waits for the user cannot be
/// cancelled.
///
/// # Errors
/// [`Failure`] when a file cannot be opened.
pub fn read(sources: &[(Source, Vec<u32>)]) -> Result<Pieces, Failure> {
    let (sender, pieces) = channel(PIECES_AHEAD);
    for (number, (source, _)) in sources.iter().enumerate() {
        let mut stream: Box<dyn Read + Send> = match source {
            Source::Own => Box::new(std::io::stdin()),
            Source::File(path) => {
                let file = File::open(path);
                let failed = || format!("failed to open {}", path.display());
                Box::new(file.with_context(failed)?)
            }
        };
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; PIECE_BYTES];
            loop {
                let count = match stream.read(&mut buffer) {
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => 0,
                };
                let piece = buffer.get(..count).unwrap_or_default().to_vec();
                if sender.blocking_send((number, piece)).is_err() || count == 0 {
                    return;
                }
            }
        });
    }
    Ok(pieces)
}
