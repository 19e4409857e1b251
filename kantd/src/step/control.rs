//! A supervisor's socket: kantd's commands in, phases out, one JSON line each; and how programs do
//! that were started in the job. Whoever connects is told how all is at present, then every change.
//! Never waits for a client: what it has not read yet is kept, up to a bound; one that does not
//! read is dropped and may connect again.

use super::dir::StepDir;
use super::overuse::GpuOveruse;
use common::id::TaskNumber;
use common::job::SignalNumber;
use common::time::Span;
use common::wire::node::{Reached, StepPhase, TaskState};
use nix::poll::PollFlags;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// What kantd asks of a supervisor. Each may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Run, as soon as it is ready.
    Go,
    /// Let the processes stand still, and the time limit with them.
    Suspend,
    /// Let them go on.
    Resume,
    /// Keep to this time limit from now on.
    Limit(Span),
    /// What the job has now lies in the step's directory, under this number or a higher one.
    Resize(u32),
    /// End: SIGTERM, after the grace SIGKILL.
    Stop,
    /// Tell the phase again.
    Status,
    /// Start the program whose order lies in the step's directory under this number.
    Task(TaskNumber),
    /// Send such a program a signal, if it runs.
    Signal { task: TaskNumber, signal: SignalNumber },
    /// Send the job's processes a signal, if they run.
    SignalJob {
        signal: SignalNumber,
        /// To which of them.
        whom: Reached,
    },
    /// End, for having more of a GPU's memory than the step's share.
    Overuse(GpuOveruse),
}

/// What a supervisor tells. A phase has no word for it of its own: so kantd has always read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    Phase(StepPhase),
    /// How a program in it is doing.
    Task {
        task: TaskNumber,
        /// How; `None`: it ended long ago, and is forgotten.
        state: Option<TaskState>,
    },
}

/// The longest line a client may send: far above any command.
const LINE_BYTES_MAX: usize = 4096;

/// So much is kept for a client that is slow: some times what all programs of a step come to. A
/// socket alone holds a few hundred lines, and who connected to a step of a thousand programs on a
/// busy machine would be dropped each time before it has read them all.
const UNREAD_BYTES_MAX: usize = 1 << 20;

struct Client {
    stream: UnixStream,
    /// Of a line that has not ended yet.
    begun: Vec<u8>,
    /// Told, and not taken yet.
    unread: Vec<u8>,
    /// It was not told yet how all is.
    is_new: bool,
}

/// The listening end, and who is connected.
pub struct Control {
    listener: UnixListener,
    clients: Vec<Client>,
}

impl Control {
    /// Listens in the step's directory. The umask must keep others out.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn listen(dir: &StepDir) -> io::Result<Self> {
        match fs::remove_file(dir.control()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let listener = through_dir(dir, |path| UnixListener::bind(path))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, clients: Vec::new() })
    }

    /// When there is something to [`receive`](Self::receive), or room for what was told.
    pub fn descriptors(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let clients = self.clients.iter().map(|client| match client.unread.is_empty() {
            true => (client.stream.as_fd(), PollFlags::POLLIN),
            false => (client.stream.as_fd(), PollFlags::POLLIN | PollFlags::POLLOUT),
        });
        std::iter::once((self.listener.as_fd(), PollFlags::POLLIN)).chain(clients)
    }

    /// Accepts who wants in, takes the commands that have arrived, and tells who is new how all is.
    /// In this order: one that reads too slowly to be told all has been heard all the same.
    pub fn receive(&mut self, how_all_is: impl Fn() -> Vec<Line>) -> Vec<Command> {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                let (begun, unread) = (Vec::new(), Vec::new());
                self.clients.push(Client { stream, begun, unread, is_new: true });
            }
        }
        let mut commands = Vec::new();
        self.clients.retain_mut(|client| {
            let is_new = std::mem::take(&mut client.is_new);
            client.receive(&mut commands)
                && (!is_new || how_all_is().iter().all(|line| client.tell(line)))
                && client.write()
        });
        if commands.contains(&Command::Status) {
            how_all_is().iter().for_each(|line| self.push(line));
        }
        commands
    }

    pub fn push(&mut self, line: &Line) {
        self.clients.retain_mut(|client| client.tell(line) && client.write());
    }
}

impl Client {
    /// False: it is gone, or does not read.
    fn tell(&mut self, line: &Line) -> bool {
        let Ok(line) = serde_json::to_vec(line) else { return false };
        self.unread.extend(line);
        self.unread.push(b'\n');
        self.unread.len() <= UNREAD_BYTES_MAX
    }

    /// As much as it takes now. False: it is gone.
    fn write(&mut self) -> bool {
        while !self.unread.is_empty() {
            match self.stream.write(&self.unread) {
                Ok(0) => return false,
                Ok(count) => drop(self.unread.drain(..count)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return e.kind() == io::ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// False: it is gone, or talks nonsense.
    fn receive(&mut self, commands: &mut Vec<Command>) -> bool {
        let mut bytes = [0; 512];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.begun.extend_from_slice(&bytes[..count]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return e.kind() == io::ErrorKind::WouldBlock,
            }
            while let Some(end) = self.begun.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                match serde_json::from_slice(&line) {
                    Ok(command) => commands.push(command),
                    // Of a younger kantd: to hang up on it would only bring the same word again.
                    Err(_) if is_json(&line) => {}
                    Err(_) => return false,
                }
            }
            if self.begun.len() > LINE_BYTES_MAX {
                return false;
            }
        }
    }
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

/// Reaches the socket by a path short enough for a socket address (man 7 unix: 108 bytes),
/// however deep the spool lies.
pub fn through_dir<T>(dir: &StepDir, with: impl FnOnce(&str) -> io::Result<T>) -> io::Result<T> {
    let open = File::open(dir.path())?;
    let name = dir.control();
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    with(&format!("/proc/self/fd/{}/{name}", open.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(task: u64, why: &str) -> Line {
        let state = Some(TaskState::Failed(why.to_owned()));
        Line::Task { task: TaskNumber(task), state }
    }

    #[test]
    fn one_that_reads_late_is_told_of_a_thousand_programs_and_of_a_thousand_more() {
        use std::io::BufRead;
        const MANY: u64 = 1024;
        let spool = tempfile::tempdir().unwrap();
        let dir = StepDir::at(spool.path());
        let mut control = Control::listen(&dir).unwrap();
        let late = through_dir(&dir, |path| UnixStream::connect(path)).unwrap();
        control.receive(|| (0..MANY).map(|task| line(task, "before")).collect());
        (MANY..2 * MANY).for_each(|task| control.push(&line(task, "since")));
        let mut lines = io::BufReader::new(late).lines();
        for task in 0..2 * MANY {
            // As its loop does when poll says that there is room.
            control.receive(Vec::new);
            let text = lines.next().expect("it was not dropped").unwrap();
            let why = if task < MANY { "before" } else { "since" };
            assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line(task, why));
        }
        assert!(control.descriptors().all(|(_, wants)| wants == PollFlags::POLLIN));
    }

    #[test]
    fn who_says_its_word_and_is_gone_or_never_reads_is_heard() {
        let spool = tempfile::tempdir().unwrap();
        let dir = StepDir::at(spool.path());
        let mut control = Control::listen(&dir).unwrap();
        let connect = || through_dir(&dir, |path| UnixStream::connect(path)).unwrap();
        let mut gone = connect();
        gone.write_all(b"\"go\"\n").unwrap();
        drop(gone);
        let mut deaf = connect();
        deaf.write_all(b"\"stop\"\n").unwrap();
        let much = || (0..4096).map(|task| line(task, &"x".repeat(4096))).collect();
        assert_eq!(control.receive(much), [Command::Go, Command::Stop]);
        assert!(control.clients.is_empty(), "nobody waits for one that does not read");
    }
}
