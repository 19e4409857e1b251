//! The handle of the log for the rest of the controller: requests to its thread, and its status.

use super::ThreadMachine;
use super::message::{Message, Permit, Ticket};
use common::id::ControllerId;
use common::wire::peer::StateSum;
use replica::{Change, Completion, ProposeError, Status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use tokio::sync::{Semaphore, oneshot, watch};

/// The most requests queued for the log; more are refused as busy.
const REQUESTS_MAX: usize = 2048;
/// The most bytes of peer messages queued for the log, in KiB.
const PEER_MESSAGES_KIB_MAX: u32 = 64 << 10;

/// Cheap to clone.
pub struct LogHandle<M: ThreadMachine> {
    messages: Sender<Message<M>>,
    requests: Arc<Semaphore>,
    peer_messages: Arc<Semaphore>,
    status: watch::Receiver<Status>,
    /// Also read by the thread while it reads no messages because the disk is full.
    stopping: Arc<AtomicBool>,
}

impl<M: ThreadMachine> Clone for LogHandle<M> {
    fn clone(&self) -> Self {
        Self {
            messages: self.messages.clone(),
            requests: self.requests.clone(),
            peer_messages: self.peer_messages.clone(),
            status: self.status.clone(),
            stopping: self.stopping.clone(),
        }
    }
}

impl<M: ThreadMachine> LogHandle<M> {
    pub(super) fn new(
        messages: Sender<Message<M>>,
        status: watch::Receiver<Status>,
        stopping: Arc<AtomicBool>,
    ) -> Self {
        let requests = Arc::new(Semaphore::new(REQUESTS_MAX));
        let peer_messages = Arc::new(Semaphore::new(PEER_MESSAGES_KIB_MAX as usize));
        Self { messages, requests, peer_messages, status, stopping }
    }

    /// Appends a command to the log; returns once it is durable and applied.
    ///
    /// # Errors
    /// [`ProposeError`].
    pub async fn propose(&self, command: M::Command) -> Result<M::Answer, ProposeError> {
        match self.ask(|ticket, permit| Message::Propose(command, ticket, permit)).await? {
            Completion::Applied(answer) => Ok(answer),
            Completion::Changed(_) | Completion::Fresh => Err(ProposeError::Stopped),
        }
    }

    /// Waits until a local read of the state reflects everything acknowledged before, by any
    /// controller.
    ///
    /// # Errors
    /// [`ProposeError`]; only the leader can answer.
    pub async fn wait_for_read(&self) -> Result<(), ProposeError> {
        self.ask(Message::Read).await.map(drop)
    }

    /// Changes members; returns once the change is in force, with the id of an added member.
    ///
    /// # Errors
    /// [`ProposeError`]; [`ProposeError::Change`] for an invalid change.
    pub async fn change_members(
        &self,
        changes: Vec<Change>,
    ) -> Result<Option<ControllerId>, ProposeError> {
        match self.ask(|ticket, permit| Message::Change(changes, ticket, permit)).await? {
            Completion::Changed(given) => Ok(given),
            Completion::Applied(_) | Completion::Fresh => Err(ProposeError::Stopped),
        }
    }

    /// Starts a transfer of leadership to a member, or to the most up-to-date one. The status shows
    /// the outcome; false if there is no target or this controller does not lead.
    pub async fn transfer_leadership(&self, to: Option<ControllerId>) -> bool {
        let (answer, answered) = oneshot::channel();
        self.send(Message::Transfer(to, answer)) && answered.await.unwrap_or(false)
    }

    /// The status of this controller's log. Changes that need a reaction are published at once,
    /// counters within a tick.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Delivers a message from another controller; waits while too many are queued. False if the
    /// log has ended.
    pub async fn deliver(&self, message: Vec<u8>) -> bool {
        let kib = u32::try_from(message.len() >> 10).unwrap_or(PEER_MESSAGES_KIB_MAX);
        let weight = (kib + 1).min(PEER_MESSAGES_KIB_MAX);
        match self.peer_messages.clone().acquire_many_owned(weight).await {
            Ok(permit) => self.send(Message::Peer(message, permit)),
            Err(_) => false,
        }
    }

    /// Notes that messages cannot reach this member at present.
    pub fn note_unreachable(&self, id: ControllerId) {
        self.send(Message::Unreachable(id));
    }

    /// Notes whether a message with a snapshot arrived.
    pub fn note_snapshot_carried(&self, to: ControllerId, arrived: bool) {
        self.send(Message::SnapshotCarried(to, arrived));
    }

    /// Notes the checksum of another controller's state.
    pub fn note_checksum(&self, from: ControllerId, sum: StateSum) {
        self.send(Message::Sum(from, sum));
    }

    /// Stops the thread; earlier proposals are still answered.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.send(Message::Wake);
    }

    async fn ask(
        &self,
        message: impl FnOnce(Ticket<M>, Permit) -> Message<M>,
    ) -> Result<Completion<M::Answer>, ProposeError> {
        let permit = self.requests.clone().try_acquire_owned().map_err(|_| ProposeError::Busy)?;
        let (ticket, answered) = oneshot::channel();
        if !self.send(message(ticket, permit)) {
            return Err(ProposeError::Stopped);
        }
        answered.await.unwrap_or(Err(ProposeError::Stopped))
    }

    fn send(&self, message: Message<M>) -> bool {
        self.messages.send(message).is_ok()
    }
}
