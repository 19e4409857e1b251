//! The journal of a step: one JSON object a line for each event, written before the event is
//! reported. It determines the step's state after a crash of kantd or of the supervisor. Two events
//! are synced and survive a crash of the machine: that the step can run, before any of its
//! processes does, and how it ended, before that is reported. A torn last line counts as never
//! written. The journal of a newer kantd is not read at all, because what looks torn may be a new
//! event. The file is only appended to.

use super::dir;
use common::job::StepEnd;
use common::time::Time;
use common::wire::node::StepPhase;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Raised when an older kantd would misread the journal.
pub const VERSION: u32 = 1;

/// An event of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A supervisor has taken the step over. It is not launched again.
    Preparing {
        pid: i32,
        /// The id of the boot.
        boot: String,
        at: Time,
        /// The journal's version. Its name and place never change.
        version: u32,
    },
    /// It can run at once.
    Ready,
    Running {
        since: Time,
    },
    /// No process and no cgroup is left.
    Ended(Box<StepEnd>),
}

impl Event {
    /// The step's phase after the event.
    #[must_use]
    pub fn phase(&self) -> StepPhase {
        match self {
            Self::Preparing { .. } => StepPhase::Preparing,
            Self::Ready => StepPhase::Ready,
            Self::Running { since } => StepPhase::Running { since: *since, suspended: false },
            Self::Ended(end) => StepPhase::Ended(end.clone()),
        }
    }
}

/// A journal open for appending.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// The end of the last complete line.
    end: u64,
    /// The names of the file and of its directory are synced.
    named: bool,
}

impl Journal {
    /// Opens or makes a journal, and cuts off a torn last line.
    ///
    /// # Errors
    /// When the file cannot be made, read or truncated, or a newer kantd wrote it.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Event>)> {
        let (events, end) = parse(&read_if_there(path)?)?;
        let file = dir::private_file_options().create(true).truncate(false).open(path)?;
        file.set_len(end)?;
        Ok((Self { file, path: path.to_owned(), end, named: false }, events))
    }

    /// Appends an event durably, together with all events before it.
    ///
    /// # Errors
    /// When it could not be made durable; the journal is then unchanged.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let end = self.write(event)?;
        self.file.sync_all()?;
        if !self.named {
            self.sync_name()?;
            self.named = true;
        }
        self.end = end;
        Ok(())
    }

    /// Appends an event without syncing it: after a crash of the machine its loss changes nothing.
    ///
    /// # Errors
    /// When it could not be written; the journal is then unchanged.
    pub fn append_unsynced(&mut self, event: &Event) -> io::Result<()> {
        self.end = self.write(event)?;
        Ok(())
    }

    fn sync_name(&self) -> io::Result<()> {
        let dirs = self.path.ancestors().skip(1).take(2);
        let mut dirs = dirs.filter(|dir| !dir.as_os_str().is_empty());
        match dirs.try_for_each(dir::sync_dir) {
            // The user may traverse the directory but not open it: sync the file system instead.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(nix::unistd::syncfs(&self.file)?)
            }
            synced => synced,
        }
    }

    /// Writes a line and returns its end.
    fn write(&mut self, event: &Event) -> io::Result<u64> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&line)?;
        Ok(self.end + line.len() as u64)
    }
}

/// The events of a journal; none if there is no journal.
///
/// # Errors
/// When it cannot be read, or a newer kantd wrote it.
pub fn read(path: &Path) -> io::Result<Vec<Event>> {
    Ok(parse(&read_if_there(path)?)?.0)
}

fn read_if_there(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        result => result,
    }
}

/// The events of all lines before the first incomplete or unreadable one, and where they end.
fn parse(bytes: &[u8]) -> io::Result<(Vec<Event>, u64)> {
    let (mut events, mut end) = (Vec::new(), 0);
    let version = version_in(bytes).unwrap_or(VERSION);
    if version > VERSION {
        return Err(io::Error::other(format!(
            "its journal has version {version}, and this kantd reads up to version {VERSION}: \
             start the kantd that wrote it, or a newer one"
        )));
    }
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let whole = line.strip_suffix(b"\n").and_then(|text| serde_json::from_slice(text).ok());
        let Some(event) = whole else { break };
        events.push(event);
        end += line.len() as u64;
    }
    Ok((events, end))
}

/// The version in the first line, however the rest of that line looks.
fn version_in(bytes: &[u8]) -> Option<u32> {
    let first = bytes.split(|byte| *byte == b'\n').next()?;
    let first: serde_json::Value = serde_json::from_slice(first).ok()?;
    first["preparing"]["version"].as_u64().map(|version| u32::try_from(version).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::job::{EndCause, ExitStatus, Usage};
    use common::time::Span;

    fn ended() -> Event {
        Event::Ended(Box::new(StepEnd {
            cause: EndCause::Exited,
            exit: ExitStatus { code: 3, signal: None },
            started_at: Some(Time(5)),
            ended_at: Time(9),
            held: Some(Span(6)),
            ran: Some(Span(4)),
            usage: Usage::default(),
            message: Some("line\nbreak".into()),
            steps: Vec::new(),
        }))
    }

    fn events() -> Vec<Event> {
        let preparing = Event::Preparing { pid: 7, boot: "b".into(), at: Time(1), version: 1 };
        vec![preparing, Event::Ready, Event::Running { since: Time(5) }, ended()]
    }

    #[test]
    fn appended_events_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        assert_eq!(read(&path).unwrap(), []);
        let (mut journal, none) = Journal::open(&path).unwrap();
        assert_eq!(none, []);
        events().iter().for_each(|event| journal.append(event).unwrap());
        assert_eq!(read(&path).unwrap(), events());
    }

    #[test]
    fn a_line_torn_at_any_byte_counts_as_never_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut journal, _) = Journal::open(&path).unwrap();
        events().iter().for_each(|event| journal.append(event).unwrap());
        let whole = fs::read(&path).unwrap();
        let last = whole.len() - serde_json::to_vec(&ended()).unwrap().len() - 1;
        for length in last..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(read(&path).unwrap(), events()[..3], "{length} bytes");
            let (mut journal, found) = Journal::open(&path).unwrap();
            assert_eq!(found.len(), 3);
            journal.append(&ended()).unwrap();
            assert_eq!(read(&path).unwrap(), events(), "appended after {length} bytes");
        }
    }

    #[test]
    fn a_newer_kantds_journal_is_neither_read_nor_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let text = "{\"preparing\":{\"version\":2,\"pids\":[7]}}\n{\"news\":1}\n";
        fs::write(&path, text).unwrap();
        for error in [read(&path).unwrap_err(), Journal::open(&path).unwrap_err()] {
            assert!(error.to_string().contains("version 2"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn zeros_left_by_a_power_failure_are_no_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut bytes = serde_json::to_vec(&Event::Ready).unwrap();
        bytes.push(b'\n');
        bytes.extend([0; 64]);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap(), [Event::Ready]);
    }
}
