//! The channel from the log's thread to the accounting thread. It does not block: if too much is
//! queued, records are left out, and restored from the state later.

use common::id::LogIndex;
use common::wire::api::HistoryRun;
use query::history::{self, EndedRun, EndedSteps, NodeChange};
use state::{Event, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// The most runs queued to be written: a few hundred MB.
const WAITING_MAX: usize = 1 << 18;

pub(super) enum HistoryMessage {
    /// Finished runs, and changes of nodes.
    Records(HistoryRecords),
    /// The state was restored from a snapshot at this index; earlier events may be missing.
    Restored(LogIndex),
    /// Records of another controller.
    Received(HistoryRecords),
    /// The gap was filled.
    GapClosed,
    /// Answers when everything sent before is in the file.
    Flush(oneshot::Sender<bool>),
    /// Write what is queued, and end.
    Stop,
}

/// The records of one or several commands.
#[derive(Default)]
pub struct HistoryRecords {
    pub(super) runs: Vec<HistoryRun>,
    /// Runs whose records are made on the accounting thread.
    pub(super) ended: Vec<EndedRun>,
    pub(super) nodes: Vec<NodeChange>,
    pub(super) steps: Vec<EndedSteps>,
}

impl HistoryRecords {
    /// Adds the records of these events, given the state right after them.
    pub fn add(&mut self, state: &State, events: &[Event]) {
        self.ended.extend(history::ended_runs(state, events));
        self.nodes.extend(history::changed_nodes(state, events));
        self.steps.extend(history::ended_steps(events));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs_len() == 0 && self.nodes.is_empty() && self.steps.is_empty()
    }

    pub(super) const fn runs_len(&self) -> usize {
        self.runs.len() + self.ended.len()
    }

    /// Adds later records, with a record of each ended run.
    pub(super) fn extend(&mut self, later: Self) {
        self.runs.extend(later.runs);
        self.runs.extend(later.ended.iter().map(EndedRun::record));
        self.nodes.extend(later.nodes);
        self.steps.extend(later.steps);
    }
}

/// Counters shared by both sides.
#[derive(Default)]
pub(super) struct FeedProgress {
    /// The last entry whose records were sent.
    pub(super) applied: AtomicU64,
    /// The number of runs sent and not received yet.
    pub(super) waiting: AtomicUsize,
    /// Some records were left out.
    pub(super) left_out: AtomicBool,
}

#[derive(Clone)]
pub struct Feed {
    sender: Sender<HistoryMessage>,
    progress: Arc<FeedProgress>,
}

pub struct Inbox {
    pub(super) receiver: Receiver<HistoryMessage>,
    pub(super) sender: Sender<HistoryMessage>,
    pub(super) progress: Arc<FeedProgress>,
}

#[must_use]
pub fn feed_channel() -> (Feed, Inbox) {
    let (sender, receiver) = channel();
    let progress = Arc::new(FeedProgress::default());
    (
        Feed { sender: sender.clone(), progress: progress.clone() },
        Inbox { receiver, sender, progress },
    )
}

impl Feed {
    /// Sends the records of an applied entry.
    pub fn send_applied(&self, index: LogIndex, records: HistoryRecords) {
        let FeedProgress { applied, waiting, left_out } = self.progress.as_ref();
        if waiting.load(Ordering::Relaxed) > WAITING_MAX {
            if !records.is_empty() {
                left_out.store(true, Ordering::SeqCst);
            }
        } else if !records.is_empty() {
            waiting.fetch_add(records.runs_len(), Ordering::Relaxed);
            // The receiver is gone while the controller stops, and in other modules' tests.
            let _ = self.sender.send(HistoryMessage::Records(records));
        }
        applied.store(index.0, Ordering::SeqCst);
    }

    /// Notes that the state was restored from a snapshot.
    pub fn note_restored(&self, index: LogIndex) {
        let _ = self.sender.send(HistoryMessage::Restored(index));
        self.progress.applied.store(index.0, Ordering::SeqCst);
    }
}
