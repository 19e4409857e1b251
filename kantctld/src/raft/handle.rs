//! What the rest of the controller holds of the log: a way to propose, and what can go wrong.
//! Never touches the disk; the thread does.

use super::Machine;
use super::storage::StoreError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use tokio::sync::oneshot;

/// A request was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Somebody else leads, or nobody.
    #[error("this controller does not lead: try again in a moment")]
    NotLeader,
    /// More waits already than the log takes in: the disk is full, or far too slow.
    #[error("the controller is busy, its disk may be full: try again in a moment")]
    Busy,
    /// The log is closing or has failed. Whether the request was accepted is unknown; a repeated
    /// submit with the same request key is safe.
    #[error("the controller is stopping: try again in a moment")]
    Stopped,
}

/// The log cannot go on; the process must end.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The store.
    #[error("failed to keep the log")]
    Store(#[from] StoreError),
    /// The consensus library.
    #[error("failed to run consensus")]
    Raft(#[from] raft::Error),
    /// The machine could not read an entry.
    #[error("failed to apply log entry {index}: {reason}")]
    Apply {
        /// Which.
        index: u64,
        /// Why.
        reason: String,
    },
    /// The machine could not be written down.
    #[error("failed to save the state at log entry {index}: {reason}")]
    Save {
        /// The last entry in it.
        index: u64,
        /// Why.
        reason: String,
    },
    /// The thread could not be started.
    #[error("failed to start the log's thread")]
    Thread(#[from] std::io::Error),
}

/// A request on its way.
pub(super) struct Proposal<M: Machine> {
    pub(super) command: M::Command,
    pub(super) answer: oneshot::Sender<Result<M::Answer, ProposeError>>,
}

/// What the thread is told.
pub(super) enum Message<M: Machine> {
    Propose(Proposal<M>),
    Stop,
}

/// What others hold of the log. Cloning is cheap.
pub struct LogHandle<M: Machine> {
    pub(super) messages: SyncSender<Message<M>>,
    /// Seen by the thread even where it reads no messages: while it waits for room on the disk.
    /// The message merely wakes it.
    pub(super) stopping: Arc<AtomicBool>,
}

impl<M: Machine> Clone for LogHandle<M> {
    fn clone(&self) -> Self {
        Self { messages: self.messages.clone(), stopping: self.stopping.clone() }
    }
}

impl<M: Machine> LogHandle<M> {
    /// Puts a request into the log; returns once it is durable and applied.
    ///
    /// # Errors
    /// [`ProposeError`].
    pub async fn propose(&self, command: M::Command) -> Result<M::Answer, ProposeError> {
        let (answer, answered) = oneshot::channel();
        let message = Message::Propose(Proposal { command, answer });
        self.messages.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => ProposeError::Busy,
            TrySendError::Disconnected(_) => ProposeError::Stopped,
        })?;
        answered.await.unwrap_or(Err(ProposeError::Stopped))
    }

    /// Asks the thread to end; what was proposed before is still answered.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Only to wake it: a full inbox does that as well.
        let _ = self.messages.try_send(Message::Stop);
    }
}
