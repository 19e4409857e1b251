//! The connection to a launcher: a child process on this node, or a program in the job on another
//! node, reached through the controller. It only splits the stream into frames.

use super::answer_headers::{header, task_state};
use super::frame::{Frame, Frames};
use crate::failure::Failure;
use crate::output::screen::note;
use crate::server::{POLL_SECONDS, Retry, Server, encoded};
use anyhow::Context;
use common::id::{Attempt, JobKey, NodeName, TaskNumber};
use common::wire::api::{LaunchAnswer, LaunchRequest, STDOUT_BYTES};
use common::wire::node::TaskState;
use net::Bytes;
use net::http::HeaderMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};

/// How long a controller may be unreachable.
const PATIENCE: Duration = Duration::from_secs(600);
/// When tasks on a silent node are given up: after a controller would declare the node lost.
pub const NODE_PATIENCE: Duration = Duration::from_secs(330);
/// The pause between two requests to a node that is out of contact.
const LOOK: Duration = Duration::from_secs(1);
/// After this many attempts the user is informed that input is delayed.
const SILENT_TRIES: u32 = 5;
/// The most bytes sent in one request.
const PIECE_BYTES: usize = 256 << 10;
/// The most bytes read from a child at once.
const READ_BYTES: usize = 64 << 10;

/// An event on a connection.
#[derive(Debug)]
pub enum Event {
    Frame(Frame),
    /// Output of the launcher itself on stderr.
    Stderr(Vec<u8>),
    /// The connection has ended, with the reason if it failed.
    Closed(Result<(), Failure>),
}

/// The destination of events, with the number of the connection.
#[derive(Debug, Clone)]
pub struct EventSender {
    pub number: usize,
    pub sender: Sender<(usize, Event)>,
}

impl EventSender {
    /// Waits until the event is accepted, so that no more is read than is processed.
    async fn send(&self, event: Event) {
        // The receiver may be gone.
        let _ = self.sender.send((self.number, event)).await;
    }

    async fn send_frames(&self, frames: &mut Frames, bytes: &[u8]) -> Result<(), Failure> {
        frames.push(bytes);
        while let Some(frame) = frames.take().map_err(anyhow::Error::new)? {
            self.send(Event::Frame(frame)).await;
        }
        Ok(())
    }
}

/// Runs the connection to a child process.
pub async fn run_local(
    mut command: Command,
    sent: UnboundedReceiver<Vec<u8>>,
    events: EventSender,
) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let over = exchange(command, sent, &events).await;
    events.send(Event::Closed(over)).await;
}

async fn exchange(
    mut command: Command,
    mut sent: UnboundedReceiver<Vec<u8>>,
    events: &EventSender,
) -> Result<(), Failure> {
    let mut child = command.spawn().context("failed to start the launcher of the tasks")?;
    let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Failure::from_message(
            "failed to connect to the launcher of the tasks".to_owned(),
        ));
    };
    let write = async {
        while let Some(bytes) = sent.recv().await {
            if input.write_all(&bytes).await.is_err() {
                break;
            }
        }
        // The launcher ends by itself when its tasks have ended; until then its input stays open.
        std::future::pending::<()>().await;
    };
    let read = async {
        let (mut frames, mut buffer) = (Frames::default(), vec![0; READ_BYTES]);
        loop {
            match output.read(&mut buffer).await {
                Ok(count @ 1..) => events.send_frames(&mut frames, &buffer[..count]).await?,
                Ok(_) | Err(_) => return Ok::<(), Failure>(()),
            }
        }
    };
    tokio::select! {
        result = read => result?,
        () = write => {}
    }
    let status = child.wait().await.context("failed to wait for the launcher of the tasks")?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::from_message(format!("the tasks' launcher ended with {status}")))
}

/// A launcher on another node.
#[derive(Debug, Clone)]
pub struct RemoteLauncher {
    pub server: Arc<Server>,
    pub key: JobKey,
    pub request: LaunchRequest,
}

/// The address of a remote launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LauncherAddress {
    pub key: JobKey,
    pub task: TaskNumber,
    pub node: NodeName,
    pub attempt: Attempt,
    pub lease: Duration,
}

impl LauncherAddress {
    fn path(&self) -> String {
        format!("/v1/jobs/{}/tasks/{}", self.key, self.task)
    }

    /// The path to request its output from these offsets on.
    #[must_use]
    pub fn output_path(&self, from: [u64; 2], wait_seconds: u64) -> String {
        let [stdout, stderr] = from;
        format!(
            "{}?node={}&attempt={}&stdout_from={stdout}&stderr_from={stderr}\
             &wait_seconds={wait_seconds}&lease_seconds={}",
            self.path(),
            encoded(self.node.as_str()),
            self.attempt,
            self.lease.as_secs()
        )
    }

    fn input_path(&self, from: u64) -> String {
        let (path, node) = (self.path(), encoded(self.node.as_str()));
        format!("{path}/input?node={node}&attempt={}&from={from}", self.attempt)
    }
}

impl RemoteLauncher {
    /// Starts the launcher, and runs the connection. `found` receives its address.
    pub async fn run(
        self,
        sent: UnboundedReceiver<Vec<u8>>,
        events: EventSender,
        found: impl Fn(LauncherAddress),
    ) {
        let over = self.exchange(sent, &events, found).await;
        events.send(Event::Closed(over)).await;
    }

    async fn exchange(
        &self,
        sent: UnboundedReceiver<Vec<u8>>,
        events: &EventSender,
        found: impl Fn(LauncherAddress),
    ) -> Result<(), Failure> {
        let (key, task) = (self.key, self.request.task);
        let path = format!("/v1/jobs/{key}/tasks");
        let LaunchAnswer { node, attempt } = self.start(&path).await?;
        let lease = Duration::from_millis(self.request.manner.lease.unwrap_or_default().0);
        let address = LauncherAddress { key, task, node, attempt, lease };
        found(address.clone());
        tokio::select! {
            over = self.watch(&address, events) => over,
            failure = self.forward(&address, sent) => Err(failure),
        }
    }

    /// Starts it only once, with retries while the node is out of contact.
    async fn start(&self, path: &str) -> Result<LaunchAnswer, Failure> {
        let begun = Instant::now();
        loop {
            match self.server.post(path, &self.request, Retry::IfUnanswered).await {
                Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }

    async fn watch(&self, address: &LauncherAddress, events: &EventSender) -> Result<(), Failure> {
        let (mut taken, mut frames) = ([0, 0], Frames::default());
        loop {
            let (headers, bytes) = self.fetch(&address.output_path(taken, POLL_SECONDS)).await?;
            let state = task_state(&headers)?;
            let of_stdout = header(&headers, STDOUT_BYTES).and_then(|text| text.parse().ok());
            let (stdout, stderr) = bytes.split_at(of_stdout.unwrap_or(0).min(bytes.len()));
            taken[0] += stdout.len() as u64;
            taken[1] += stderr.len() as u64;
            events.send_frames(&mut frames, stdout).await?;
            if !stderr.is_empty() {
                events.send(Event::Stderr(stderr.to_vec())).await;
            }
            match state {
                TaskState::Ended(exit) if bytes.is_empty() => {
                    if exit.is_success() {
                        return Ok(());
                    }
                    return Err(Failure::from_message(format!(
                        "the tasks' launcher ended with {exit}"
                    )));
                }
                TaskState::Failed(why) if bytes.is_empty() => {
                    return Err(Failure::from_message(why));
                }
                _ => {}
            }
        }
    }

    /// Retries while the node is out of contact, as during a restart of kantd.
    async fn fetch(&self, path: &str) -> Result<(HeaderMap, Bytes), Failure> {
        let begun = Instant::now();
        loop {
            match self.server.get_bytes_retrying(path, PATIENCE).await {
                Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }

    /// Forwards bytes in pieces as large as possible; returns only on failure.
    async fn forward(
        &self,
        address: &LauncherAddress,
        mut sent: UnboundedReceiver<Vec<u8>>,
    ) -> Failure {
        let mut from = 0_u64;
        loop {
            let Some(mut piece) = sent.recv().await else { return std::future::pending().await };
            while piece.len() < PIECE_BYTES
                && let Ok(more) = sent.try_recv()
            {
                piece.extend(more);
            }
            let mut rest = Bytes::from(piece);
            while !rest.is_empty() {
                let bytes = rest.split_to(rest.len().min(PIECE_BYTES));
                if let Err(failure) = self.deliver(&address.input_path(from), &bytes).await {
                    return failure;
                }
                from += bytes.len() as u64;
            }
        }
    }

    /// Retries until the bytes are accepted. When the program has ended, the watcher notices that
    /// and ends this loop.
    async fn deliver(&self, path: &str, bytes: &Bytes) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut tries = 0_u32;
        loop {
            match self.server.post_bytes(path, bytes, PATIENCE).await {
                Err(failure) if failure.error_code() == Some("not_fed") => {
                    tries = tries.saturating_add(1);
                    if tries == SILENT_TRIES {
                        note(&format!("its input is delayed: {failure}"));
                    }
                    tokio::time::sleep(LOOK).await;
                }
                Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }
}
