//! The connection to a running supervisor: commands go out, phases and program states come back. It
//! does not wait for answers.

use super::StepDriver;
use crate::step::control::{self, Command, Update};
use common::wire::node::StepPhase;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::sleep;

/// Pause before connecting again to a supervisor that is starting or ending.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);

/// How long a program's start is requested again, longer than any requester waits.
const TASK_PATIENCE: Duration = Duration::from_secs(60);

impl StepDriver {
    /// Keeps a connection to a running supervisor until either end closes it.
    pub(super) async fn follow_supervisor(&mut self) {
        let connected =
            control::with_short_socket_path(&self.dir, |path| StdUnixStream::connect(path));
        let stream = connected.and_then(|stream| {
            stream.set_nonblocking(true)?;
            UnixStream::from_std(stream)
        });
        let Ok(stream) = stream else { return sleep(RECONNECT_PAUSE).await };
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        let requested = [(self.go, Command::Go), (self.stop, Command::Stop)];
        let requested =
            requested.into_iter().filter(|(requested, _)| *requested).map(|(_, command)| command);
        // The requester has given up by then, and removed the spec.
        self.tasks.retain(|_, since| since.elapsed() < TASK_PATIENCE);
        let tasks = self.tasks.keys().map(|task| Command::Task(*task));
        for command in
            requested.chain(self.suspension).chain(self.limit).chain(self.size).chain(tasks)
        {
            send_command(&mut writer, command).await;
        }
        self.registry.forget_tasks(self.id);
        loop {
            tokio::select! {
                line = lines.next_line() => {
                    let line = line.ok().flatten().and_then(|l| serde_json::from_str(&l).ok());
                    let Some(line) = line else { break };
                    self.on_update(line).await;
                }
                Some(request) = self.requests.recv() => {
                    if let Some(command) = self.record(request) {
                        send_command(&mut writer, command).await;
                    }
                }
            }
        }
        sleep(RECONNECT_PAUSE).await;
    }

    async fn on_update(&mut self, line: Update) {
        match line {
            Update::Phase(StepPhase::Ended(end)) => self.handle_end(*end).await,
            Update::Phase(phase) => {
                self.registry.set(self.id, phase);
                self.adopting = None;
            }
            Update::Task { task, state } => {
                self.tasks.remove(&task);
                self.registry.set_task(self.id, task, state);
            }
        }
    }
}

/// Sends a command. A supervisor that is gone ignores it; its journal says how the step ended.
async fn send_command(writer: &mut OwnedWriteHalf, command: Command) {
    if let Ok(mut line) = serde_json::to_vec(&command) {
        line.push(b'\n');
        let _ = writer.write_all(&line).await;
    }
}
