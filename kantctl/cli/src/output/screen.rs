//! The output streams: stdout with its width, colours, time zone and format, and messages on
//! stderr. A closed pipe or a full disk is an error, not a panic.

use super::escape::escape_invisible;
use super::table::Table;
use super::time::localized;
use super::wrap::{FACT, PROSE, wrapped};
use super::zone::Zone;
use crate::failure::{Failure, Kind};
use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use common::sync::Mutex;
use common::text::{escape_hidden_json, escape_hidden_lines};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

#[derive(Debug, Clone)]
pub struct Screen {
    /// Print answers as JSON.
    pub json: bool,
    /// The terminal's columns; `None`: stdout is not a terminal, nothing is shortened.
    pub width: Option<usize>,
    /// Whether stdout may have colours.
    pub colour: bool,
    /// The time zone of shown times.
    pub zone: Zone,
}

impl Screen {
    /// Detects the properties of stdout. Colours depend on the terminal, NO_COLOR and
    /// CLICOLOR_FORCE.
    #[must_use]
    pub fn detect(json: bool) -> Self {
        let stdout = io::stdout();
        let columns = || crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
        Self {
            json,
            width: stdout.is_terminal().then(columns).flatten().filter(|width| *width > 0),
            colour: AutoStream::choice(&stdout) != ColorChoice::Never,
            zone: Zone::system(),
        }
    }

    /// Writes text. Invisible characters other than colour sequences are escaped.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        stdout
            .write_all(escape_invisible(text).as_bytes())
            .and_then(|()| stdout.flush())
            .map_err(write_error)
    }

    /// Writes a record, with long lines wrapped to the terminal.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_record(&self, text: &str) -> Result<(), Failure> {
        self.print(&wrapped(text, FACT, self.width))
    }

    /// Writes sentences, wrapped to the terminal.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_prose(&self, text: &str) -> Result<(), Failure> {
        self.print(&wrapped(text, PROSE, self.width))
    }

    /// Writes a line.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_line(&self, text: &str) -> Result<(), Failure> {
        self.print(&format!("{text}\n"))
    }

    /// Writes bytes unchanged: the output of a job must not be altered.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(write_error)
    }

    /// Writes CSV: unchanged for a program, escaped like other text on a terminal.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_csv(&self, text: &str) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            self.print(text)
        } else {
            self.print_bytes(text.as_bytes())
        }
    }

    /// Writes an answer as JSON.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_answer_json(&self, answer: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(answer).context("failed to write JSON")?;
        self.print_line(&escape_hidden_json(&text))
    }

    /// Writes a failure as JSON to stdout, so that a program learns what failed without parsing the
    /// message on stderr.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_failure_json(&self, failure: &Failure) -> Result<(), Failure> {
        if failure.kind == Kind::ReaderGone {
            return Ok(());
        }
        self.print_answer_json(&serde_json::json!({ "error": failure.to_json() }))
    }

    /// Writes a table, fitted to the terminal.
    ///
    /// # Errors
    /// [`Failure`] when writing to stdout fails.
    pub fn print_table(&self, table: &Table) -> Result<(), Failure> {
        // The table is rendered without colours if they are not wanted: there are none to strip.
        self.print_bytes(table.render(self.width, self.colour).as_bytes())
    }
}

fn write_error(error: io::Error) -> Failure {
    let gone = error.kind() == io::ErrorKind::BrokenPipe;
    let kind = if gone { Kind::ReaderGone } else { Kind::Refused };
    Failure::new(kind, anyhow::Error::new(error).context("failed to write to standard output"))
}

/// The Slurm name that the program was called by, if it was.
static PROGRAM_NAME: OnceLock<&'static str> = OnceLock::new();

/// Sets the name that prefixes messages on stderr.
pub fn set_program_name(name: &'static str) {
    // A second call has no effect.
    let _ = PROGRAM_NAME.set(name);
}

fn program_name() -> &'static str {
    PROGRAM_NAME.get().copied().unwrap_or("kantctl")
}

/// Whether the program was called by the name of a Slurm command.
#[must_use]
pub fn is_slurm_command() -> bool {
    program_name() != "kantctl"
}

type StderrWriter = Box<dyn Fn(Vec<u8>) + Send>;

/// The writer that messages go to instead of stderr: that of a step, which may have to wait for a
/// slow reader.
static STDERR_WRITER: Mutex<Option<StderrWriter>> = Mutex::new(None);

/// Redirects messages to a writer until it is dropped.
#[derive(Debug)]
pub struct StderrRedirect(());

impl Drop for StderrRedirect {
    fn drop(&mut self) {
        *STDERR_WRITER.lock() = None;
    }
}

/// Redirects messages to `writer`, so that printing a message does not wait for the reader of
/// stderr. The latest redirect is in effect.
#[must_use]
pub fn redirect_stderr(writer: impl Fn(Vec<u8>) + Send + 'static) -> StderrRedirect {
    *STDERR_WRITER.lock() = Some(Box::new(writer));
    StderrRedirect(())
}

/// Prints a message on stderr.
pub fn note(text: &str) {
    write_stderr(&escape_hidden_lines(text));
}

fn write_stderr(text: &str) {
    if let Some(writer) = &*STDERR_WRITER.lock() {
        let plain = strip_str(&wrap_for_stderr(&note_line(text))).to_string();
        return writer(plain.into_bytes());
    }
    let mut stderr = anstream::stderr().lock();
    // With stderr closed, there is nowhere to report the error.
    let _ = stderr.write_all(wrap_for_stderr(&note_line(text)).as_bytes());
}

/// Wraps text to the terminal of stderr, if it is one.
fn wrap_for_stderr(text: &str) -> String {
    let columns = || crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    wrapped(text, PROSE, io::stderr().is_terminal().then(columns).flatten())
}

/// The line that [`note`] prints.
#[must_use]
pub fn note_line(text: &str) -> String {
    format!("{}: {}\n", program_name(), localized(text, &Zone::system()))
}

/// Prints a warning on stderr.
pub fn warn(text: &str) {
    use owo_colors::OwoColorize;
    write_stderr(&format!("{} {}", "warning:".yellow(), escape_hidden_lines(text)));
}

/// Prints a failure on stderr with its cause and hint; nothing if stdout's reader has gone.
pub fn print_failure(failure: &Failure) {
    if failure.kind == Kind::ReaderGone {
        return;
    }
    use owo_colors::OwoColorize;
    let text = localized(&escape_hidden_lines(&failure.to_string()), &Zone::system());
    let (what, hint) = match text.rsplit_once("\nhint: ") {
        Some((what, hint)) => (what, Some(hint)),
        None => (text.as_str(), None),
    };
    let mut stderr = anstream::stderr().lock();
    // With stderr closed, there is nowhere to report the error.
    let line = format!("{} {what}\n", format!("{}:", program_name()).red());
    let advice = hint.map(|hint| format!("{} {hint}\n", "hint:".cyan())).unwrap_or_default();
    let _ = stderr.write_all(wrap_for_stderr(&(line + &advice)).as_bytes());
}
