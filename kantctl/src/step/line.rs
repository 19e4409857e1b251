//! The line to one node's starter: a child of ours on the node that this runs on, or a program in
//! the job on another, reached by way of the controller. Never understands what passes over it but
//! where one frame ends and the next begins.

use super::frame::{Frame, Frames};
use crate::failure::Failure;
use crate::output::screen::note;
use crate::server::{Again, POLL_SECONDS, Server, encoded};
use anyhow::Context;
use axum::body::Bytes;
use axum::http::HeaderMap;
use common::id::{Attempt, JobKey, NodeName, TaskNumber};
use common::wire::api::{LaunchAnswer, LaunchRequest, STDOUT_BYTES, TASK_STATE};
use common::wire::node::TaskState;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};

/// How long a controller may be away.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long a node may be out of contact before its tasks are given up: longer than a controller
/// waits before it takes the node for lost.
pub const NODE_PATIENCE: Duration = Duration::from_secs(330);
/// Between two questions to a node that is out of contact.
const LOOK: Duration = Duration::from_secs(1);
/// After so many tries somebody is told that input waits.
const TRIES_UNTOLD: u32 = 5;
/// No more is sent at once.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes read at once from a child.
const READ_BYTES: usize = 64 << 10;

/// What a line tells.
#[derive(Debug)]
pub enum News {
    Frame(Frame),
    /// The starter complains, on its standard error.
    Said(Vec<u8>),
    /// All is over there; why not, if it should not be.
    Over(Result<(), Failure>),
}

/// Where news of a line go: with the number of the line.
#[derive(Debug, Clone)]
pub struct Ear {
    pub number: usize,
    pub tell: Sender<(usize, News)>,
}

impl Ear {
    /// Waits until it can be heard: no more is read than is passed on.
    async fn tell(&self, news: News) {
        // Whoever listened has what they wanted.
        let _ = self.tell.send((self.number, news)).await;
    }

    async fn frames(&self, frames: &mut Frames, bytes: &[u8]) -> Result<(), Failure> {
        frames.push(bytes);
        while let Some(frame) = frames.take().map_err(anyhow::Error::new)? {
            self.tell(News::Frame(frame)).await;
        }
        Ok(())
    }
}

/// Holds the line to a child of ours.
pub async fn local(mut command: Command, sent: UnboundedReceiver<Vec<u8>>, ear: Ear) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let over = talk(command, sent, &ear).await;
    ear.tell(News::Over(over)).await;
}

async fn talk(
    mut command: Command,
    mut sent: UnboundedReceiver<Vec<u8>>,
    ear: &Ear,
) -> Result<(), Failure> {
    let mut child = command.spawn().context("failed to start the tasks' starter")?;
    let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Failure::message("failed to reach the tasks' starter".to_owned()));
    };
    let write = async {
        while let Some(bytes) = sent.recv().await {
            if input.write_all(&bytes).await.is_err() {
                break;
            }
        }
        // It ends when all is over there; until then its input stays open.
        std::future::pending::<()>().await;
    };
    let read = async {
        let (mut frames, mut buffer) = (Frames::default(), vec![0; READ_BYTES]);
        loop {
            match output.read(&mut buffer).await {
                Ok(count @ 1..) => ear.frames(&mut frames, &buffer[..count]).await?,
                Ok(_) | Err(_) => return Ok::<(), Failure>(()),
            }
        }
    };
    tokio::select! {
        result = read => result?,
        () = write => {}
    }
    let status = child.wait().await.context("failed to wait for the tasks' starter")?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::message(format!("the tasks' starter ended with {status}")))
}

/// A starter on another node.
#[derive(Debug, Clone)]
pub struct Remote {
    pub server: Arc<Server>,
    pub key: JobKey,
    /// What to start, and where.
    pub request: LaunchRequest,
}

/// Where a remote starter is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub key: JobKey,
    pub task: TaskNumber,
    pub node: NodeName,
    pub attempt: Attempt,
    pub lease: Duration,
}

impl Spot {
    fn path(&self) -> String {
        format!("/v1/jobs/{}/tasks/{}", self.key, self.task)
    }

    /// What asks for news of it, from so many bytes on.
    #[must_use]
    pub fn watch(&self, from: [u64; 2], wait_seconds: u64) -> String {
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

    fn feed(&self, from: u64) -> String {
        let (path, node) = (self.path(), encoded(self.node.as_str()));
        format!("{path}/input?node={node}&attempt={}&from={from}", self.attempt)
    }
}

impl Remote {
    /// Starts it, and holds the line. `found` is told where it is.
    pub async fn hold(self, sent: UnboundedReceiver<Vec<u8>>, ear: Ear, found: impl Fn(Spot)) {
        let over = self.talk(sent, &ear, found).await;
        ear.tell(News::Over(over)).await;
    }

    async fn talk(
        &self,
        sent: UnboundedReceiver<Vec<u8>>,
        ear: &Ear,
        found: impl Fn(Spot),
    ) -> Result<(), Failure> {
        let (key, task) = (self.key, self.request.task);
        let path = format!("/v1/jobs/{key}/tasks");
        let answer = self.start(&path).await?;
        let lease = self.request.manner.lease.unwrap_or_default();
        let lease = Duration::from_millis(lease.0);
        let spot = Spot { key, task, node: answer.node, attempt: answer.attempt, lease };
        found(spot.clone());
        tokio::select! {
            over = self.watch(&spot, ear) => over,
            failure = self.feed(&spot, sent) => Err(failure),
        }
    }

    /// Once, however often it is asked: again for a while when the node is out of contact.
    async fn start(&self, path: &str) -> Result<LaunchAnswer, Failure> {
        let begun = Instant::now();
        loop {
            match self.server.post(path, &self.request, Again::IfUnanswered).await {
                Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }

    async fn watch(&self, spot: &Spot, ear: &Ear) -> Result<(), Failure> {
        let (mut taken, mut frames) = ([0, 0], Frames::default());
        loop {
            let (headers, bytes) = self.ask(&spot.watch(taken, POLL_SECONDS)).await?;
            let state = state(&headers)?;
            let of_stdout = header(&headers, STDOUT_BYTES).and_then(|text| text.parse().ok());
            let (stdout, stderr) = bytes.split_at(of_stdout.unwrap_or(0).min(bytes.len()));
            taken[0] += stdout.len() as u64;
            taken[1] += stderr.len() as u64;
            ear.frames(&mut frames, stdout).await?;
            if !stderr.is_empty() {
                ear.tell(News::Said(stderr.to_vec())).await;
            }
            match state {
                TaskState::Ended(exit) if bytes.is_empty() => {
                    if exit.is_success() {
                        return Ok(());
                    }
                    return Err(Failure::message(format!("the tasks' starter ended with {exit}")));
                }
                TaskState::Failed(why) if bytes.is_empty() => return Err(Failure::message(why)),
                _ => {}
            }
        }
    }

    /// Again for a while when the node is out of contact, as it is when kantd starts anew.
    async fn ask(&self, path: &str) -> Result<(HeaderMap, Bytes), Failure> {
        let begun = Instant::now();
        loop {
            match self.server.get_bytes_for(path, PATIENCE).await {
                Err(failure) if failure.is_silent_node() && begun.elapsed() < NODE_PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
    }

    /// Passes on what is sent, in pieces as large as may be; ends only with a failure.
    async fn feed(&self, spot: &Spot, mut sent: UnboundedReceiver<Vec<u8>>) -> Failure {
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
                if let Err(failure) = self.put(&spot.feed(from), &bytes).await {
                    return failure;
                }
                from += bytes.len() as u64;
            }
        }
    }

    /// Until it is taken: what cannot be fed now may be in a second. To what is over nothing is
    /// fed any more, and who watches learns of that and ends this.
    async fn put(&self, path: &str, bytes: &Bytes) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut tries = 0_u32;
        loop {
            match self.server.post_bytes(path, bytes, PATIENCE).await {
                Err(failure) if failure.code() == Some("not_fed") => {
                    tries = tries.saturating_add(1);
                    if tries == TRIES_UNTOLD {
                        note(&format!("what it is to read waits: {failure}"));
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

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn state(headers: &HeaderMap) -> Result<TaskState, Failure> {
    let state = header(headers, TASK_STATE).and_then(|text| serde_json::from_str(text).ok());
    state.ok_or_else(|| {
        let text = "failed to understand the controller's answer: is it of the same version?";
        Failure::message(text.to_owned())
    })
}
