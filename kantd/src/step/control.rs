//! A supervisor's control socket: kantd's commands in; step phases and program states out, one JSON
//! object a line. A new client gets the current state first, then every change. The supervisor
//! never blocks on a client: unsent output is buffered up to a bound; a client that exceeds it is
//! disconnected and may connect again.

use super::dir::StepDir;
use super::liveness::LivenessFailure;
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

/// A command from kantd to a supervisor. Each is idempotent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Run as soon as the step is ready.
    Go,
    /// Suspend the processes, and the time limit with them.
    Suspend,
    Resume,
    /// Apply this time limit.
    Limit(Span),
    /// Apply the job's new size, in the step's directory under this number or a higher one.
    Resize(u32),
    /// End the step: SIGTERM, then SIGKILL after the grace period.
    Stop,
    /// Send the current state again.
    Status,
    /// Start the program whose spec lies in the step's directory under this number.
    Task(TaskNumber),
    /// Send such a program a signal, if it runs.
    Signal {
        task: TaskNumber,
        signal: SignalNumber,
    },
    /// Send the job's processes a signal, if they run.
    SignalJob {
        signal: SignalNumber,
        target: Reached,
    },
    /// End the step because it uses more of a GPU's memory than its share.
    Overuse(GpuOveruse),
    /// End a replica of a service, which is not live.
    NotLive(LivenessFailure),
}

/// A line from a supervisor to kantd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Update {
    Phase(StepPhase),
    Task {
        task: TaskNumber,
        /// `None` if the program ended long ago and is forgotten.
        state: Option<TaskState>,
    },
}

/// The longest command line accepted, far above any real one.
const LINE_BYTES_MAX: usize = 4096;

/// Bytes buffered for a slow client: several times the states of all programs of a step. A socket
/// buffer alone holds a few hundred lines, so a client of a step with a thousand programs on a busy
/// machine would be disconnected each time before it has read them all.
const UNREAD_BYTES_MAX: usize = 1 << 20;

struct Client {
    stream: UnixStream,
    /// An incomplete line.
    begun: Vec<u8>,
    /// Output that the socket has not accepted yet.
    unread: Vec<u8>,
    /// The current state has not been queued yet.
    is_new: bool,
}

/// The listening socket and its clients.
pub struct Control {
    listener: UnixListener,
    clients: Vec<Client>,
}

impl Control {
    /// Listens in the step's directory. The umask must keep other users out.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub fn listen(dir: &StepDir) -> io::Result<Self> {
        match fs::remove_file(dir.control_socket_path()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let listener = with_short_socket_path(dir, |path| UnixListener::bind(path))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, clients: Vec::new() })
    }

    /// Descriptors to poll: readable for [`receive`](Self::receive), writable for buffered output.
    pub fn descriptors(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let clients = self.clients.iter().map(|client| match client.unread.is_empty() {
            true => (client.stream.as_fd(), PollFlags::POLLIN),
            false => (client.stream.as_fd(), PollFlags::POLLIN | PollFlags::POLLOUT),
        });
        std::iter::once((self.listener.as_fd(), PollFlags::POLLIN)).chain(clients)
    }

    /// Accepts clients, reads their commands, and sends new clients the current state. Commands are
    /// read first, so that those of a client that is then disconnected for reading slowly count.
    pub fn receive(&mut self, current_state: impl Fn() -> Vec<Update>) -> Vec<Command> {
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
                && (!is_new || current_state().iter().all(|line| client.queue(line)))
                && client.write()
        });
        if commands.contains(&Command::Status) {
            current_state().iter().for_each(|line| self.push(line));
        }
        commands
    }

    pub fn push(&mut self, line: &Update) {
        self.clients.retain_mut(|client| client.queue(line) && client.write());
    }
}

impl Client {
    /// Queues a line; false if the client's buffer is full.
    fn queue(&mut self, line: &Update) -> bool {
        let Ok(line) = serde_json::to_vec(line) else { return false };
        self.unread.extend(line);
        self.unread.push(b'\n');
        self.unread.len() <= UNREAD_BYTES_MAX
    }

    /// Writes what the socket accepts now; false if the client is gone.
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

    /// Reads commands; false if the client is gone or sends garbage.
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
                    // An unknown command of a newer kantd: it would only repeat it after a hang-up.
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

/// Gives `with` a path to the socket that fits into a socket address (man 7 unix: 108 bytes),
/// however long the spool's path is.
pub fn with_short_socket_path<T>(
    dir: &StepDir,
    with: impl FnOnce(&str) -> io::Result<T>,
) -> io::Result<T> {
    let open = File::open(dir.path())?;
    let name = dir.control_socket_path();
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    with(&format!("/proc/self/fd/{}/{name}", open.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(task: u64, why: &str) -> Update {
        let state = Some(TaskState::Failed(why.to_owned()));
        Update::Task { task: TaskNumber(task), state }
    }

    #[test]
    fn a_client_that_reads_late_gets_the_states_of_thousands_of_programs() {
        use std::io::BufRead;
        const MANY: u64 = 1024;
        let spool = tempfile::tempdir().unwrap();
        let dir = StepDir::at(spool.path());
        let mut control = Control::listen(&dir).unwrap();
        let late = with_short_socket_path(&dir, |path| UnixStream::connect(path)).unwrap();
        control.receive(|| (0..MANY).map(|task| line(task, "before")).collect());
        (MANY..2 * MANY).for_each(|task| control.push(&line(task, "since")));
        let mut lines = io::BufReader::new(late).lines();
        for task in 0..2 * MANY {
            // The supervisor's loop calls this when poll reports the socket writable.
            control.receive(Vec::new);
            let text = lines.next().expect("it was not dropped").unwrap();
            let why = if task < MANY { "before" } else { "since" };
            assert_eq!(serde_json::from_str::<Update>(&text).unwrap(), line(task, why));
        }
        assert!(control.descriptors().all(|(_, wants)| wants == PollFlags::POLLIN));
    }

    #[test]
    fn commands_of_a_client_that_hangs_up_or_never_reads_count() {
        let spool = tempfile::tempdir().unwrap();
        let dir = StepDir::at(spool.path());
        let mut control = Control::listen(&dir).unwrap();
        let connect = || with_short_socket_path(&dir, |path| UnixStream::connect(path)).unwrap();
        let mut gone = connect();
        gone.write_all(b"\"go\"\n").unwrap();
        drop(gone);
        let mut deaf = connect();
        deaf.write_all(b"\"stop\"\n").unwrap();
        let much = || (0..4096).map(|task| line(task, &"x".repeat(4096))).collect();
        assert_eq!(control.receive(much), [Command::Go, Command::Stop]);
        assert!(control.clients.is_empty(), "a client that does not read is disconnected");
    }
}
