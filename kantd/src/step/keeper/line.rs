//! The line to a living supervisor: wishes go there, phases and programs' states come back.
//! Never decides what is wished; never waits for a supervisor that does not answer.

use super::{Keeper, RETRY_PAUSE};
use crate::step::control::{self, Command, Line};
use common::wire::node::StepPhase;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::sleep;

/// Before connecting again to a supervisor that is just starting, or just ending.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);

/// So long a program is asked for again, longer than anybody waits for its start.
const TASK_PATIENCE: Duration = Duration::from_secs(60);

impl Keeper {
    /// Holds the line to a living supervisor, until one end lets go of it.
    pub(super) async fn follow(&mut self) {
        let connected = control::through_dir(&self.dir, |path| StdUnixStream::connect(path));
        let stream = connected.and_then(|stream| {
            stream.set_nonblocking(true)?;
            UnixStream::from_std(stream)
        });
        let Ok(stream) = stream else { return sleep(RECONNECT_PAUSE).await };
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        let wished = [(self.go, Command::Go), (self.stop, Command::Stop)];
        let wished = wished.into_iter().filter(|(wished, _)| *wished).map(|(_, command)| command);
        // Whoever asked has given up by then, and taken the order back.
        self.tasks.retain(|_, since| since.elapsed() < TASK_PATIENCE);
        let tasks = self.tasks.keys().map(|task| Command::Task(*task));
        for command in wished.chain(self.still).chain(self.limit).chain(self.size).chain(tasks) {
            send(&mut writer, command).await;
        }
        self.board.forget_tasks(self.id);
        loop {
            tokio::select! {
                line = lines.next_line() => {
                    let line = line.ok().flatten().and_then(|l| serde_json::from_str(&l).ok());
                    let Some(line) = line else { break };
                    self.told(line).await;
                }
                Some(wish) = self.wishes.recv() => {
                    if let Some(command) = self.note(wish) {
                        send(&mut writer, command).await;
                    }
                }
            }
        }
        // A supervisor of a build that cannot suspend, or start programs, hangs up on the word,
        // each time anew.
        let is_patient = self.still.is_some() || self.limit.is_some() || !self.tasks.is_empty();
        let pause = if is_patient { RETRY_PAUSE } else { RECONNECT_PAUSE };
        sleep(pause).await;
    }

    async fn told(&mut self, line: Line) {
        match line {
            Line::Phase(StepPhase::Ended(end)) => self.ended(*end).await,
            Line::Phase(phase) => {
                self.board.set(self.id, phase);
                self.looking = None;
            }
            Line::Task { task, state } => {
                self.tasks.remove(&task);
                self.board.set_task(self.id, task, state);
            }
        }
    }
}

/// A supervisor that is gone hears nothing; the journal tells what became of it.
async fn send(writer: &mut OwnedWriteHalf, command: Command) {
    if let Ok(mut line) = serde_json::to_vec(&command) {
        line.push(b'\n');
        let _ = writer.write_all(&line).await;
    }
}
