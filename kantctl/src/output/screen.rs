//! Where output goes: how wide it may be, in which colours and time zone, as text or as JSON.
//! Never panics when a reader is gone or a disk is full; it says so.

use super::harmless::harmless;
use super::table::Table;
use super::time::localized;
use super::wrap::{FACT, PROSE, wrapped};
use super::zone::Zone;
use crate::failure::{Failure, Kind};
use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use common::text::{shown_json, shown_lines};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

#[derive(Debug, Clone)]
pub struct Screen {
    /// Answers as JSON, for programs.
    pub json: bool,
    /// Columns of the terminal; `None`: no terminal, nothing is shortened.
    pub width: Option<usize>,
    /// May stdout have colours?
    pub colour: bool,
    /// The zone times are shown in.
    pub zone: Zone,
}

impl Screen {
    /// Looks at stdout. Colours follow the terminal, NO_COLOR and CLICOLOR_FORCE.
    #[must_use]
    pub fn look(json: bool) -> Self {
        let stdout = io::stdout();
        let columns = || crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
        Self {
            json,
            width: stdout.is_terminal().then(columns).flatten().filter(|width| *width > 0),
            colour: AutoStream::choice(&stdout) != ColorChoice::Never,
            zone: Zone::system(),
        }
    }

    /// Writes text, with colours of ours and no other character that is not seen.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take it.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(harmless(text).as_bytes()).and_then(|()| stdout.flush()).map_err(unwritten)
    }

    /// Writes a record, its long facts broken where the terminal is narrow.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take it.
    pub fn record(&self, text: &str) -> Result<(), Failure> {
        self.print(&wrapped(text, FACT, self.width))
    }

    /// Writes sentences, broken where the terminal is narrow.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take them.
    pub fn prose(&self, text: &str) -> Result<(), Failure> {
        self.print(&wrapped(text, PROSE, self.width))
    }

    /// Writes a line.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take it.
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        self.print(&format!("{text}\n"))
    }

    /// Writes bytes as they are, colours and all: a job's output is not ours to change.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take them.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(unwritten)
    }

    /// Writes CSV: as it is for a program, and as any text on a terminal.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take it.
    pub fn csv(&self, text: &str) -> Result<(), Failure> {
        if io::stdout().is_terminal() { self.print(text) } else { self.bytes(text.as_bytes()) }
    }

    /// Writes an answer as JSON.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take it.
    pub fn answer(&self, answer: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(answer).context("failed to write JSON")?;
        self.line(&shown_json(&text))
    }

    /// Writes a failure as JSON, where answers are: a program that reads stdout learns what failed,
    /// and why, without reading prose. People read it on stderr.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take it.
    pub fn failure(&self, failure: &Failure) -> Result<(), Failure> {
        if failure.kind == Kind::ReaderGone {
            return Ok(());
        }
        self.answer(&serde_json::json!({ "error": failure.to_json() }))
    }

    /// Writes a table, fitted to the terminal.
    ///
    /// # Errors
    /// [`Failure`] when stdout does not take it.
    pub fn table(&self, table: &Table) -> Result<(), Failure> {
        // It has colours only where they are wanted: none need be looked for, and taken out.
        self.bytes(table.render(self.width, self.colour).as_bytes())
    }
}

fn unwritten(error: io::Error) -> Failure {
    let gone = error.kind() == io::ErrorKind::BrokenPipe;
    let kind = if gone { Kind::ReaderGone } else { Kind::Refused };
    Failure::new(kind, anyhow::Error::new(error).context("failed to write to standard output"))
}

/// The name that users called this program by, where it is not its own.
static SPEAKER: OnceLock<&'static str> = OnceLock::new();

/// Says what is said on stderr under this name: a link's, set once and for all.
pub fn speak_as(name: &'static str) {
    // Called twice, the first stands.
    let _ = SPEAKER.set(name);
}

fn speaker() -> &'static str {
    SPEAKER.get().copied().unwrap_or("kantctl")
}

/// Is this called by a name of Slurm's?
#[must_use]
pub fn speaks_slurm() -> bool {
    speaker() != "kantctl"
}

/// Writes what is said on stderr.
type Voice = Box<dyn Fn(Vec<u8>) + Send>;

/// Who writes it instead of whoever says it: a step's writer, which may wait for a slow reader.
static VOICE: Mutex<Option<Voice>> = Mutex::new(None);

/// As long as it lives, a voice writes what is noted on stderr.
#[derive(Debug)]
pub struct Lent(());

impl Drop for Lent {
    fn drop(&mut self) {
        *VOICE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Has this voice write what is noted from now on: nobody who notes something waits for whoever
/// reads it. The last one that was lent writes.
#[must_use]
pub fn lend(voice: impl Fn(Vec<u8>) + Send + 'static) -> Lent {
    *VOICE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(voice));
    Lent(())
}

/// Says something on stderr.
pub fn note(text: &str) {
    say(&shown_lines(text));
}

fn say(text: &str) {
    if let Some(voice) = &*VOICE.lock().unwrap_or_else(PoisonError::into_inner) {
        let plain = strip_str(&folded(&noted(text))).to_string();
        return voice(plain.into_bytes());
    }
    let mut stderr = anstream::stderr().lock();
    // Nobody is left to tell when stderr is gone.
    let _ = stderr.write_all(folded(&noted(text)).as_bytes());
}

/// As wide as the terminal that stderr is; whole where it is none.
fn folded(text: &str) -> String {
    let columns = || crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    wrapped(text, PROSE, io::stderr().is_terminal().then(columns).flatten())
}

/// The line that says so.
#[must_use]
pub fn noted(text: &str) -> String {
    format!("{}: {}\n", speaker(), localized(text, &Zone::system()))
}

/// Says on stderr that something may not be as meant.
pub fn warn(text: &str) {
    use owo_colors::OwoColorize;
    say(&format!("{} {}", "warning:".yellow(), shown_lines(text)));
}

/// Says on stderr what failed, why, and what to do; nothing when it is only that nobody reads.
pub fn complain(failure: &Failure) {
    if failure.kind == Kind::ReaderGone {
        return;
    }
    use owo_colors::OwoColorize;
    let text = localized(&shown_lines(&failure.to_string()), &Zone::system());
    let (what, hint) = match text.rsplit_once("\nhint: ") {
        Some((what, hint)) => (what, Some(hint)),
        None => (text.as_str(), None),
    };
    let mut stderr = anstream::stderr().lock();
    // Nobody is left to tell when stderr is gone.
    let told = format!("{} {what}\n", format!("{}:", speaker()).red());
    let advice = hint.map(|hint| format!("{} {hint}\n", "hint:".cyan())).unwrap_or_default();
    let _ = stderr.write_all(folded(&(told + &advice)).as_bytes());
}
