//! Clients attached to a step: they receive output as fast as they can read, and send input. They
//! never delay the step; without any, the cost is a copy of the recent output.

use super::Step;
use crate::step::frame::Kind;
use crate::step::ledger_client;
use crate::step::recent_output::RecentOutput;
use common::wire::node::{StepInput, StepSpeech, StepStreams};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

/// The pause between attempts while there is no answer.
const SILENCE: Duration = Duration::from_secs(1);
/// How long the end of the output may take to reach attached clients after the step has ended.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// State of the attached clients.
#[derive(Debug)]
pub struct AttachedClients {
    output: RefCell<RecentOutput>,
    listened: Cell<bool>,
    /// Output up to this offset was sent.
    sent: Cell<u64>,
    /// No task reads input any more.
    unread: Cell<bool>,
    /// There is more to send, or a client to send it to.
    more: Notify,
    /// Output was sent, or no longer needs to be.
    moved: Notify,
    input_sender: Sender<Vec<StepSpeech>>,
}

impl AttachedClients {
    /// Without clients. Their input arrives at the receiver.
    pub fn new() -> (Rc<Self>, Receiver<Vec<StepSpeech>>) {
        let (input_sender, attached_input) = channel(1);
        let attached = Self {
            output: RefCell::default(),
            listened: Cell::new(false),
            sent: Cell::new(0),
            unread: Cell::new(false),
            more: Notify::new(),
            moved: Notify::new(),
            input_sender,
        };
        (Rc::new(attached), attached_input)
    }

    /// Records output of a task.
    pub fn record_output(&self, kind: Kind, rank: u32, bytes: &[u8]) {
        self.output.borrow_mut().push(kind, rank, bytes);
        if self.listened.get() {
            self.more.notify_one();
        }
    }

    /// Records whether any task reads input.
    pub fn set_readers(&self, readers: &[Vec<u32>]) {
        self.unread.set(readers.iter().all(Vec::is_empty));
    }

    /// The state to report to the ledger.
    pub fn streams(&self) -> StepStreams {
        let input = match (self.unread.get(), self.input_sender.capacity()) {
            (true, _) => StepInput::Unread,
            (false, 0) => StepInput::Full,
            (false, _) => StepInput::Passed,
        };
        StepStreams { listened: self.listened.get(), input }
    }

    /// Handles a message of the ledger.
    pub fn on_ledger_answer(&self, listened: bool, speech: Vec<StepSpeech>) {
        if listened && !self.listened.get() {
            self.sent.set(self.output.borrow().replay_offset());
        }
        self.listened.set(listened);
        self.more.notify_one();
        if !speech.is_empty() {
            // There was capacity when it was requested.
            let _ = self.input_sender.try_send(speech);
        }
    }

    /// Sends output as long as the step runs.
    pub fn send(self: &Rc<Self>, step: &Step<'_>) {
        let Some(view) = &step.view else { return };
        let (server, key, number) = (step.server.reconnected(), step.placement.key, view.number);
        let own = Rc::clone(self);
        tokio::task::spawn_local(async move {
            loop {
                let piece = own.output.borrow().after(own.sent.get());
                let Some(piece) = piece.filter(|_| own.listened.get()) else {
                    own.moved.notify_one();
                    own.more.notified().await;
                    continue;
                };
                let end = piece.end();
                match ledger_client::publish_output(&server, key, number, piece).await {
                    Ok(true) => own.sent.set(end),
                    Ok(false) => own.listened.set(false),
                    Err(_) => sleep(SILENCE).await,
                }
            }
        });
    }

    /// Waits briefly until attached clients have received all output.
    pub async fn flush(&self) {
        let done = async {
            while self.listened.get() && self.sent.get() < self.output.borrow().end_offset() {
                self.moved.notified().await;
            }
        };
        // A slow client misses the end.
        let _ = timeout(FLUSH_LIMIT, done).await;
    }
}
