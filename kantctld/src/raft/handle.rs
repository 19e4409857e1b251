//! What the rest of the controller holds of the log: ways to ask, and how it stands. Never touches
//! the disk; the thread does.

use super::Driven;
use super::message::{Message, Place, Ticket};
use common::id::ControllerId;
use replica::{Change, ProposeError, Status, Told};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use tokio::sync::{Semaphore, oneshot, watch};

/// The most requests that wait for the log; more are refused as busy.
const ASKS_MAX: usize = 2048;
/// Letters that wait for the log weigh no more than this together, in KiB.
const LETTERS_KIB_MAX: u32 = 64 << 10;

/// What others hold of the log. Cloning is cheap.
pub struct LogHandle<M: Driven> {
    messages: Sender<Message<M>>,
    asks: Arc<Semaphore>,
    letters: Arc<Semaphore>,
    status: watch::Receiver<Status>,
    /// Seen by the thread even where it reads no messages: while it waits for room on the disk.
    stopping: Arc<AtomicBool>,
}

impl<M: Driven> Clone for LogHandle<M> {
    fn clone(&self) -> Self {
        Self {
            messages: self.messages.clone(),
            asks: self.asks.clone(),
            letters: self.letters.clone(),
            status: self.status.clone(),
            stopping: self.stopping.clone(),
        }
    }
}

impl<M: Driven> LogHandle<M> {
    pub(super) fn new(
        messages: Sender<Message<M>>,
        status: watch::Receiver<Status>,
        stopping: Arc<AtomicBool>,
    ) -> Self {
        let asks = Arc::new(Semaphore::new(ASKS_MAX));
        let letters = Arc::new(Semaphore::new(LETTERS_KIB_MAX as usize));
        Self { messages, asks, letters, status, stopping }
    }

    /// Puts a request into the log; returns once it is durable and applied.
    ///
    /// # Errors
    /// [`ProposeError`].
    pub async fn propose(&self, command: M::Command) -> Result<M::Answer, ProposeError> {
        match self.ask(|ticket, place| Message::Propose(command, ticket, place)).await? {
            Told::Applied(answer) => Ok(answer),
            Told::Changed(_) | Told::Fresh => Err(ProposeError::Stopped),
        }
    }

    /// Waits until a look at the state here shows all that was acknowledged, by anybody, before.
    ///
    /// # Errors
    /// [`ProposeError`]; only who leads can say.
    pub async fn read(&self) -> Result<(), ProposeError> {
        self.ask(Message::Read).await.map(drop)
    }

    /// Changes members; returns once that is in force, with the id that was given, if one was.
    ///
    /// # Errors
    /// [`ProposeError`], [`ProposeError::Change`] where it makes no sense.
    pub async fn change(&self, changes: Vec<Change>) -> Result<Option<ControllerId>, ProposeError> {
        match self.ask(|ticket, place| Message::Change(changes, ticket, place)).await? {
            Told::Changed(given) => Ok(given),
            Told::Applied(_) | Told::Fresh => Err(ProposeError::Stopped),
        }
    }

    /// Hands the lead to another, or to the one that lacks least. Whether it came to that, the
    /// status says; false if there is nobody, or this controller does not lead.
    pub async fn transfer(&self, to: Option<ControllerId>) -> bool {
        let (answer, answered) = oneshot::channel();
        self.tell(Message::Transfer(to, answer)) && answered.await.unwrap_or(false)
    }

    /// How this controller stands; changes at once where somebody must act on it, counters within a
    /// tick.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Hands in a letter from another controller; waits while too many wait. False: the log ended.
    pub async fn deliver(&self, letter: Vec<u8>) -> bool {
        let kib = u32::try_from(letter.len() >> 10).unwrap_or(LETTERS_KIB_MAX);
        let weight = (kib + 1).min(LETTERS_KIB_MAX);
        match self.letters.clone().acquire_many_owned(weight).await {
            Ok(place) => self.tell(Message::Letter(letter, place)),
            Err(_) => false,
        }
    }

    /// Letters cannot be carried there at the moment.
    pub fn note_unreachable(&self, id: ControllerId) {
        self.tell(Message::Unreachable(id));
    }

    /// A letter with a snapshot arrived, or will not.
    pub fn note_snapshot_carried(&self, to: ControllerId, arrived: bool) {
        self.tell(Message::SnapshotCarried(to, arrived));
    }

    /// Asks the thread to end; what was proposed before is still answered.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.tell(Message::Wake);
    }

    async fn ask(
        &self,
        message: impl FnOnce(Ticket<M>, Place) -> Message<M>,
    ) -> Result<Told<M::Answer>, ProposeError> {
        let place = self.asks.clone().try_acquire_owned().map_err(|_| ProposeError::Busy)?;
        let (ticket, answered) = oneshot::channel();
        if !self.tell(message(ticket, place)) {
            return Err(ProposeError::Stopped);
        }
        answered.await.unwrap_or(Err(ProposeError::Stopped))
    }

    fn tell(&self, message: Message<M>) -> bool {
        self.messages.send(message).is_ok()
    }
}
