//! A step's journal: one JSON line an event, synced before anybody hears of it. After a crash of
//! kantd, the supervisor or the machine, it says what became of the step.
//! A torn last line counts as never written. Never rewritten, only appended to.

use super::dir;
use common::job::StepEnd;
use common::time::Time;
use common::wire::node::StepPhase;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// What happens to a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A supervisor took the step on. From here on it is never launched again.
    Preparing {
        /// The supervisor.
        pid: i32,
        /// The boot it lives in.
        boot: String,
        /// When.
        at: Time,
    },
    /// It can run at once.
    Ready,
    /// Its processes run.
    Running {
        /// Since when.
        since: Time,
    },
    /// No process and no cgroup is left.
    Ended(Box<StepEnd>),
}

impl Event {
    /// As others see it.
    #[must_use]
    pub fn phase(&self) -> StepPhase {
        match self {
            Self::Preparing { .. } => StepPhase::Preparing,
            Self::Ready => StepPhase::Ready,
            Self::Running { since } => StepPhase::Running { since: *since },
            Self::Ended(end) => StepPhase::Ended(end.clone()),
        }
    }
}

/// A journal open for appending.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// Where the last whole line ends.
    end: u64,
}

impl Journal {
    /// Opens a journal, makes it if need be, and cuts off a torn last line.
    ///
    /// # Errors
    /// When the file cannot be made, read or cut.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Event>)> {
        let (events, end) = parse(&read_if_there(path)?);
        let file = dir::private().create(true).truncate(false).open(path)?;
        file.set_len(end)?;
        path.parent().map_or(Ok(()), dir::sync_dir)?;
        Ok((Self { file, end }, events))
    }

    /// Appends an event, durably.
    ///
    /// # Errors
    /// When it could not be made durable; the journal is then as before.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&line)?;
        self.file.sync_all()?;
        self.end += line.len() as u64;
        Ok(())
    }
}

/// The events of a journal; none if there is no journal.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<Event>> {
    Ok(parse(&read_if_there(path)?).0)
}

fn read_if_there(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        result => result,
    }
}

/// The whole lines, up to the first that is none, and where they end.
fn parse(bytes: &[u8]) -> (Vec<Event>, u64) {
    let (mut events, mut end) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let whole = line.strip_suffix(b"\n").and_then(|text| serde_json::from_slice(text).ok());
        let Some(event) = whole else { break };
        events.push(event);
        end += line.len() as u64;
    }
    (events, end)
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
        }))
    }

    fn story() -> Vec<Event> {
        let preparing = Event::Preparing { pid: 7, boot: "b".into(), at: Time(1) };
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
