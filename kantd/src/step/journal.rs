//! A step's journal: one JSON line an event, written before anybody hears of it. After a crash of
//! kantd or the supervisor it says what became of the step; after one of the machine, whatever had
//! to be synced: that the step can run, before anything of it does, and how it ended, before
//! anybody is told.
//! A torn last line counts as never written; a journal of a younger kantd is not read at all, for
//! what looks torn in it may be news. Never rewritten, only appended to.

use super::dir;
use common::job::StepEnd;
use common::time::Time;
use common::wire::node::StepPhase;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Raised when a kantd of the last release would take a journal for another one than it is.
pub const VERSION: u32 = 1;

/// What happens to a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A supervisor took the step on. From here on it is never launched again.
    Preparing {
        pid: i32,
        /// The boot it lives in.
        boot: String,
        at: Time,
        /// Of the journal. Its name and place never change.
        #[serde(default = "first_version")]
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

const fn first_version() -> u32 {
    1
}

impl Event {
    /// As others see it.
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
    /// Where the last whole line ends.
    end: u64,
    /// Its name, and that of its directory, outlive a power cut.
    named: bool,
}

impl Journal {
    /// Opens a journal, makes it if need be, and cuts off a torn last line.
    ///
    /// # Errors
    /// When the file cannot be made, read or cut, or a younger kantd wrote it.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Event>)> {
        let (events, end) = parse(&read_if_there(path)?)?;
        let file = dir::private().create(true).truncate(false).open(path)?;
        file.set_len(end)?;
        Ok((Self { file, path: path.to_owned(), end, named: false }, events))
    }

    /// Appends an event, durably, and with it all before it.
    ///
    /// # Errors
    /// When it could not be made durable; the journal is then as before.
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

    /// Appends an event that the machine's end may take: whoever reads the journal after that does
    /// the same without it.
    ///
    /// # Errors
    /// When it could not be written; the journal is then as before.
    pub fn note(&mut self, event: &Event) -> io::Result<()> {
        self.end = self.write(event)?;
        Ok(())
    }

    fn sync_name(&self) -> io::Result<()> {
        let dirs = self.path.ancestors().skip(1).take(2);
        let mut dirs = dirs.filter(|dir| !dir.as_os_str().is_empty());
        match dirs.try_for_each(dir::sync_dir) {
            // A directory that this user may pass and not read: then all of its file system.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(nix::unistd::syncfs(&self.file)?)
            }
            synced => synced,
        }
    }

    /// Writes a line; answers where it ends.
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
/// When it cannot be read, or a younger kantd wrote it.
pub fn read(path: &Path) -> io::Result<Vec<Event>> {
    Ok(parse(&read_if_there(path)?)?.0)
}

fn read_if_there(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        result => result,
    }
}

/// The whole lines, up to the first that is none, and where they end.
fn parse(bytes: &[u8]) -> io::Result<(Vec<Event>, u64)> {
    let (mut events, mut end) = (Vec::new(), 0);
    let version = version(bytes).unwrap_or(VERSION);
    if version > VERSION {
        return Err(io::Error::other(format!(
            "its journal has version {version}, and this kantd reads up to {VERSION}: start the \
             kantd that wrote it, or a younger one"
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

/// As the first line says it, whatever else that line has become.
fn version(bytes: &[u8]) -> Option<u32> {
    let first = bytes.split(|byte| *byte == b'\n').next()?;
    let first: serde_json::Value = serde_json::from_slice(first).ok()?;
    first["preparing"]["version"].as_u64().map(|version| u32::try_from(version).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::job::{EndCause, ExitStatus, Usage};

    fn ended() -> Event {
        Event::Ended(Box::new(StepEnd {
            cause: EndCause::Exited,
            exit: ExitStatus { code: 3, signal: None },
            started_at: Some(Time(5)),
            ended_at: Time(9),
            usage: Usage::default(),
            message: Some("line\nbreak".into()),
            steps: Vec::new(),
        }))
    }

    fn story() -> Vec<Event> {
        let preparing = Event::Preparing { pid: 7, boot: "b".into(), at: Time(1), version: 1 };
        vec![preparing, Event::Ready, Event::Running { since: Time(5) }, ended()]
    }

    #[test]
    fn what_was_appended_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        assert_eq!(read(&path).unwrap(), []);
        let (mut journal, none) = Journal::open(&path).unwrap();
        assert_eq!(none, []);
        story().iter().for_each(|event| journal.append(event).unwrap());
        assert_eq!(read(&path).unwrap(), story());
    }

    #[test]
    fn a_line_torn_at_any_byte_counts_as_never_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut journal, _) = Journal::open(&path).unwrap();
        story().iter().for_each(|event| journal.append(event).unwrap());
        let whole = fs::read(&path).unwrap();
        let last = whole.len() - serde_json::to_vec(&ended()).unwrap().len() - 1;
        for length in last..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(read(&path).unwrap(), story()[..3], "{length} bytes");
            let (mut journal, events) = Journal::open(&path).unwrap();
            assert_eq!(events.len(), 3);
            journal.append(&ended()).unwrap();
            assert_eq!(read(&path).unwrap(), story(), "appended after {length} bytes");
        }
    }

    #[test]
    fn a_journal_from_before_versions_is_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        fs::write(&path, "{\"preparing\":{\"pid\":7,\"boot\":\"b\",\"at\":1}}\n").unwrap();
        assert_eq!(read(&path).unwrap(), story()[..1]);
    }

    #[test]
    fn a_younger_kantds_journal_is_neither_read_nor_cut() {
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
    fn zeros_that_a_power_cut_left_are_no_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut bytes = serde_json::to_vec(&Event::Ready).unwrap();
        bytes.push(b'\n');
        bytes.extend([0; 64]);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path).unwrap(), [Event::Ready]);
    }
}
