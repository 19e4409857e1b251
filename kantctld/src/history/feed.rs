//! From the log's thread to accounting's: what is over, entry by entry. Never waits: where far too
//! much waits to be written, it is left out, and caught up with from the state later.

use common::id::LogIndex;
use common::wire::api::HistoryRun;
use state::history::{self, EndedSteps, NodeChange};
use state::{Event, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// So many runs may wait to be written: some hundred MB.
const WAITING_MAX: usize = 1 << 18;

/// What the thread is told.
pub(super) enum Told {
    /// Runs that are over, and nodes that are otherwise.
    Over(News),
    /// The state came from a snapshot at this index: events before it may never have been told.
    Restored(LogIndex),
    /// What another controller kept.
    Given(News),
    /// What was lacking is there.
    GapClosed,
    /// Says when everything told before is in the file.
    Flush(oneshot::Sender<bool>),
    /// Write what waits, and end.
    Stop,
}

/// What one or several commands brought.
#[derive(Default)]
pub struct News {
    pub(super) runs: Vec<HistoryRun>,
    pub(super) nodes: Vec<NodeChange>,
    pub(super) steps: Vec<EndedSteps>,
}

impl News {
    /// Takes up what these events tell, from the state right after them.
    pub fn add(&mut self, state: &State, events: &[Event]) {
        self.runs.extend(history::ended(state, events));
        self.nodes.extend(history::changed_nodes(state, events));
        self.steps.extend(history::ended_steps(events));
    }

    /// Nothing of it is to be written.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.nodes.is_empty() && self.steps.is_empty()
    }

    /// Takes up what came later.
    pub(super) fn extend(&mut self, later: Self) {
        self.runs.extend(later.runs);
        self.nodes.extend(later.nodes);
        self.steps.extend(later.steps);
    }
}

/// What both sides look at.
#[derive(Default)]
pub(super) struct Level {
    /// The last entry of which everything was told.
    pub(super) applied: AtomicU64,
    /// Runs told and not taken in yet.
    pub(super) waiting: AtomicUsize,
    /// Something was left out.
    pub(super) left_out: AtomicBool,
}

#[derive(Clone)]
pub struct Feed {
    told: Sender<Told>,
    level: Arc<Level>,
}

pub struct Inbox {
    pub(super) told: Receiver<Told>,
    pub(super) tell: Sender<Told>,
    pub(super) level: Arc<Level>,
}

#[must_use]
pub fn feed() -> (Feed, Inbox) {
    let (tell, told) = channel();
    let level = Arc::new(Level::default());
    (Feed { told: tell.clone(), level: level.clone() }, Inbox { told, tell, level })
}

impl Feed {
    /// An entry was applied.
    pub fn applied(&self, index: LogIndex, news: News) {
        let Level { applied, waiting, left_out } = self.level.as_ref();
        if waiting.load(Ordering::Relaxed) > WAITING_MAX {
            if !news.is_empty() {
                left_out.store(true, Ordering::SeqCst);
            }
        } else if !news.is_empty() {
            waiting.fetch_add(news.runs.len(), Ordering::Relaxed);
            // Nobody listens while the controller stops, or in tests of other parts.
            let _ = self.told.send(Told::Over(news));
        }
        applied.store(index.0, Ordering::SeqCst);
    }

    /// The state came from a snapshot.
    pub fn restored(&self, index: LogIndex) {
        let _ = self.told.send(Told::Restored(index));
        self.level.applied.store(index.0, Ordering::SeqCst);
    }
}
