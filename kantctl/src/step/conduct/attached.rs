//! Those who attach to a step: they get what its tasks write, as far as they are quick enough, and
//! give them something to read. Never holds the step up, and costs a copy of the last output while
//! nobody is there.

use super::Step;
use crate::step::booking;
use crate::step::frame::Kind;
use crate::step::ring::Ring;
use common::wire::node::{StepInput, StepSpeech, StepStreams};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{sleep, timeout};

/// Between two tries while nobody answers.
const SILENCE: Duration = Duration::from_secs(1);
/// How long the last words may take to get to who listens, after all is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// What is known of those who listen and speak.
#[derive(Debug)]
pub struct Attached {
    ring: RefCell<Ring>,
    listened: Cell<bool>,
    /// Up to this place all was sent.
    sent: Cell<u64>,
    /// No task reads any more.
    unread: Cell<bool>,
    /// There is more to send, or somebody to send it to.
    more: Notify,
    /// Something was sent, or need not be any more.
    moved: Notify,
    speak: Sender<Vec<StepSpeech>>,
}

impl Attached {
    /// Nobody yet. What they say comes by the other end.
    pub fn new() -> (Rc<Self>, Receiver<Vec<StepSpeech>>) {
        let (speak, spoken) = channel(1);
        let attached = Self {
            ring: RefCell::default(),
            listened: Cell::new(false),
            sent: Cell::new(0),
            unread: Cell::new(false),
            more: Notify::new(),
            moved: Notify::new(),
            speak,
        };
        (Rc::new(attached), spoken)
    }

    /// A task wrote something.
    pub fn note(&self, kind: Kind, rank: u32, bytes: &[u8]) {
        self.ring.borrow_mut().push(kind, rank, bytes);
        if self.listened.get() {
            self.more.notify_one();
        }
    }

    /// Whether any task reads.
    pub fn note_readers(&self, readers: &[Vec<u32>]) {
        self.unread.set(readers.iter().all(Vec::is_empty));
    }

    /// What is said to the book.
    pub fn streams(&self) -> StepStreams {
        let input = match (self.unread.get(), self.speak.capacity()) {
            (true, _) => StepInput::Unread,
            (false, 0) => StepInput::Full,
            (false, _) => StepInput::Passed,
        };
        StepStreams { listened: self.listened.get(), input }
    }

    /// What the book says.
    pub fn hear(&self, listened: bool, speech: Vec<StepSpeech>) {
        if listened && !self.listened.get() {
            self.sent.set(self.ring.borrow().shown_from());
        }
        self.listened.set(listened);
        self.more.notify_one();
        if !speech.is_empty() {
            // There was room for it when it was asked for.
            let _ = self.speak.try_send(speech);
        }
    }

    /// Sends what tasks write for as long as the step runs.
    pub fn send(self: &Rc<Self>, step: &Step<'_>) {
        let Some(view) = &step.view else { return };
        let (server, key, number) = (step.server.fresh(), step.place.key, view.number);
        let own = Rc::clone(self);
        tokio::task::spawn_local(async move {
            loop {
                let piece = own.ring.borrow().after(own.sent.get());
                let Some(piece) = piece.filter(|_| own.listened.get()) else {
                    own.moved.notify_one();
                    own.more.notified().await;
                    continue;
                };
                let end = piece.end();
                match booking::say(&server, key, number, piece).await {
                    Ok(true) => own.sent.set(end),
                    Ok(false) => own.listened.set(false),
                    Err(_) => sleep(SILENCE).await,
                }
            }
        });
    }

    /// All is over: waits a little until who listens has it.
    pub async fn farewell(&self) {
        let done = async {
            while self.listened.get() && self.sent.get() < self.ring.borrow().end() {
                self.moved.notified().await;
            }
        };
        // Who is slow misses the end.
        let _ = timeout(FAREWELL, done).await;
    }
}
