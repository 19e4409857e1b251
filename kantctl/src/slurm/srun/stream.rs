//! What tasks read and write: srun's own streams, with a label before each line where that is
//! wanted, or files. Never keeps more of a line than a buffer holds.

use super::Args;
use super::place::{Place, Task};
use crate::failure::Failure;
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{PipeWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Letters of a line that are passed on before its end has come.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// Where the output of tasks goes.
#[derive(Debug)]
pub struct Outputs<'a> {
    args: &'a Args,
    place: &'a Place,
    directory: String,
    opened: BTreeSet<PathBuf>,
}

impl<'a> Outputs<'a> {
    /// For this step, whose files are named from `directory`.
    #[must_use]
    pub fn new(args: &'a Args, place: &'a Place, directory: &Path) -> Self {
        let directory = directory.to_string_lossy().into_owned();
        Self { args, place, directory, opened: BTreeSet::new() }
    }

    /// Standard output and error of a task.
    ///
    /// # Errors
    /// [`Failure`] when a file cannot be opened.
    pub fn of(&mut self, task: Task) -> Result<(Stdio, Stdio), Failure> {
        let output = self.one(self.args.output.as_deref(), task)?;
        let error = match (&self.args.error, &self.args.output) {
            (Some(pattern), _) => self.one(Some(pattern.as_str()), task)?,
            // Errors go where the output goes (man srun, --error).
            (None, Some(pattern)) if !is_number(pattern) => {
                self.one(Some(pattern.as_str()), task)?
            }
            (None, _) => None,
        };
        let usual = || if self.args.label { Stdio::piped() } else { Stdio::inherit() };
        Ok((output.unwrap_or_else(usual), error.unwrap_or_else(usual)))
    }

    /// A stream by its pattern; `None`: srun's own.
    fn one(&mut self, pattern: Option<&str>, task: Task) -> Result<Option<Stdio>, Failure> {
        let Some(pattern) = pattern.filter(|pattern| *pattern != "all") else { return Ok(None) };
        if pattern == "none" {
            return Ok(Some(Stdio::null()));
        }
        if is_number(pattern) {
            let this = pattern.parse() == Ok(task.rank);
            return Ok((!this).then(Stdio::null));
        }
        let path = self.place.path(pattern, task, &self.directory);
        self.open(path).map(Stdio::from).map(Some)
    }

    /// A file that several tasks may share is emptied once, by the first.
    fn open(&mut self, path: PathBuf) -> Result<File, Failure> {
        let append = self.args.open_mode.as_deref() == Some("append");
        let fresh = self.opened.insert(path.clone()) && !append;
        let failed = || format!("failed to open {}", path.display());
        if fresh {
            File::create(&path).with_context(failed)?;
        }
        Ok(OpenOptions::new().append(true).create(true).open(&path).with_context(failed)?)
    }
}

/// `-o 3`: the third task's alone.
fn is_number(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a task reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// What srun reads, by itself.
    Inherited,
    /// What srun reads, as all others do.
    Copied,
    /// Nothing.
    Nothing,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// Of a task; `terminal`: srun's own input is one, which tasks cannot share.
    #[must_use]
    pub fn of(args: &Args, place: &Place, task: Task, directory: &Path, terminal: bool) -> Self {
        match args.input.as_deref() {
            // What is started on another node reads nothing.
            _ if *place.node(task) != place.here => Self::Nothing,
            None | Some("all") if place.count() == 1 => Self::Inherited,
            None | Some("all") if terminal => Self::Nothing,
            None | Some("all") => Self::Copied,
            Some("none") => Self::Nothing,
            Some(number) if is_number(number) => {
                if number.parse() == Ok(task.rank) {
                    Self::Inherited
                } else {
                    Self::Nothing
                }
            }
            Some(file) => Self::File(place.path(file, task, &directory.to_string_lossy())),
        }
    }

    /// For a child, and where to write what it is to read, if srun does.
    ///
    /// # Errors
    /// [`Failure`] when the file cannot be opened.
    pub fn open(&self) -> Result<(Stdio, Option<PipeWriter>), Failure> {
        Ok(match self {
            Self::Inherited => (Stdio::inherit(), None),
            Self::Copied => {
                let (reader, writer) = std::io::pipe().context("failed to make a pipe")?;
                (Stdio::from(reader), Some(writer))
            }
            Self::Nothing => (Stdio::null(), None),
            Self::File(path) => {
                let file = File::open(path);
                let file = file.with_context(|| format!("failed to open {}", path.display()))?;
                (Stdio::from(file), None)
            }
        })
    }
}

/// Copies srun's input to all that still read. In a thread of its own, which ends with srun: a read
/// that waits for a user cannot be called off.
pub fn copy_input(mut tasks: Vec<PipeWriter>) {
    let copy = move || {
        let mut input = std::io::stdin().lock();
        let mut buffer = vec![0; 64 * 1024];
        while !tasks.is_empty() {
            let Ok(count @ 1..) = input.read(&mut buffer) else { return };
            // One that has closed its input is not written to again.
            tasks.retain_mut(|task| task.write_all(&buffer[..count]).is_ok());
        }
    };
    std::thread::spawn(copy);
}

/// Copies lines with a task's number before each; `width` is the number's.
pub async fn label(stream: impl AsyncRead + Unpin, task: u32, width: usize, is_error: bool) {
    let mut lines = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(1..)) {
            return;
        }
        let mut shown = format!("{task:>width$}: ").into_bytes();
        shown.extend_from_slice(&line);
        if shown.last() != Some(&b'\n') {
            shown.push(b'\n');
        }
        // Whoever read it is gone: the task may go on all the same.
        let _ = if is_error {
            std::io::stderr().lock().write_all(&shown)
        } else {
            let mut out = std::io::stdout().lock();
            out.write_all(&shown).and_then(|()| out.flush())
        };
    }
}
