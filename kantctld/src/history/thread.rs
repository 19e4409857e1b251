//! The accounting thread: collects records into batches and writes each batch in one transaction.
//! After an error it logs it, keeps the records, and tries again.

use super::feed::{HistoryMessage, Inbox};
use super::schema::{self, FILE, HistoryError};
use super::write::{File, Position};
use super::{History, feed};
use crate::shared_state::SharedState;
use common::id::{ClusterId, LogIndex};
use common::time::{Span, Time};
use query::history::NodeChange;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// How long records are collected for one transaction, and its fsync.
const COLLECT_FOR: Duration = Duration::from_millis(200);
/// The most runs in one transaction.
const BATCH_RUNS: usize = 4096;
/// How long to wait for records before other work is checked.
const IDLE: Duration = Duration::from_secs(1);
/// The pause before a failed write is repeated.
const RETRY: Duration = Duration::from_secs(2);
/// How often a lasting failure is logged.
const LOG_PERIOD: Duration = Duration::from_secs(300);
/// How often the position is saved without new records.
const POSITION_PERIOD: Duration = Duration::from_secs(60);
/// How often old records are deleted.
const PURGE_PERIOD: Duration = Duration::from_secs(3600);
/// The most runs kept in memory while the file cannot be written.
const UNWRITTEN_RUNS_MAX: usize = 1 << 18;

/// The options of the accounting.
pub struct HistoryOptions<'a> {
    /// The directory of the file.
    pub state_dir: &'a Path,
    pub cluster: ClusterId,
    /// How long runs are kept; `None` for ever.
    pub kept: Option<Span>,
    /// The state to catch up from.
    pub state: SharedState,
}

pub struct HistoryThread {
    thread: JoinHandle<()>,
    sender: Sender<HistoryMessage>,
}

impl HistoryThread {
    /// Writes what is queued, and ends; blocks until then.
    pub fn stop(self) {
        // An error means that the thread has ended.
        let _ = self.sender.send(HistoryMessage::Stop);
        if self.thread.join().is_err() {
            tracing::error!("accounting's thread ended unexpectedly: please report this");
        }
    }
}

/// Starts the thread, which opens the file, and retries if that fails.
///
/// # Errors
/// If the thread cannot be started.
pub fn start(inbox: Inbox, wanted: HistoryOptions<'_>) -> io::Result<(History, HistoryThread)> {
    let path = wanted.state_dir.join(FILE);
    let (gap, gap_seen) = watch::channel(None);
    let sender = inbox.sender.clone();
    let history = History { path: Arc::new(path.clone()), sender: sender.clone(), gap: gap_seen };
    let HistoryOptions { cluster, kept, state, .. } = wanted;
    let now = Instant::now();
    let thread = Thread {
        inbox,
        path,
        cluster,
        kept,
        state,
        gap,
        file: None,
        records: feed::HistoryRecords::default(),
        received_nodes: Vec::new(),
        was_open: false,
        flushes: Vec::new(),
        restored: None,
        left_out: false,
        gap_closed: false,
        position: None,
        not_before: now,
        logged_at: None,
        noted: now,
        purged: None,
    };
    let spawned = std::thread::Builder::new().name("accounting".to_owned());
    let thread = spawned.spawn(move || thread.run())?;
    Ok((history, HistoryThread { thread, sender }))
}

struct Thread {
    inbox: Inbox,
    path: PathBuf,
    cluster: ClusterId,
    kept: Option<Span>,
    state: SharedState,
    gap: watch::Sender<Option<Time>>,
    file: Option<File>,
    /// Whether it was open before; if it is new then, earlier records are missing.
    was_open: bool,
    /// Received and not written yet.
    records: feed::HistoryRecords,
    /// Node changes of another controller.
    received_nodes: Vec<NodeChange>,
    flushes: Vec<oneshot::Sender<bool>>,
    restored: Option<LogIndex>,
    left_out: bool,
    gap_closed: bool,
    /// The position in the log once `news` is written.
    position: Option<Position>,
    not_before: Instant,
    logged_at: Option<Instant>,
    noted: Instant,
    purged: Option<Instant>,
}

impl Thread {
    fn run(mut self) {
        loop {
            let stops = self.receive();
            let done =
                if Instant::now() < self.not_before && !stops { None } else { Some(self.write()) };
            let written = match done {
                Some(Ok(())) => true,
                Some(Err(error)) => {
                    self.note_failure(&error);
                    false
                }
                None => false,
            };
            for flush in self.flushes.drain(..) {
                // The caller may be gone.
                let _ = flush.send(written);
            }
            if stops {
                return;
            }
        }
    }

    /// Collects messages; true if the thread is to end.
    fn receive(&mut self) -> bool {
        // Records of entries up to this one are in the inbox by now.
        let position = self.position();
        let mut next = match self.inbox.receiver.recv_timeout(IDLE) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return true,
        };
        let until = Instant::now() + COLLECT_FOR;
        while let Some(message) = next {
            match message {
                HistoryMessage::Records(records) => {
                    let runs = records.runs_len();
                    self.inbox.progress.waiting.fetch_sub(runs, Ordering::Relaxed);
                    self.records.extend(records);
                }
                HistoryMessage::Restored(index) => self.restored = Some(index),
                HistoryMessage::Received(kept) => {
                    self.records.runs.extend(kept.runs);
                    self.received_nodes.extend(kept.nodes);
                }
                HistoryMessage::GapClosed => self.gap_closed = true,
                HistoryMessage::Flush(answer) => self.flushes.push(answer),
                HistoryMessage::Stop => {
                    // The log has ended, so nothing follows.
                    self.position = Some(self.position());
                    return true;
                }
            }
            if self.records.runs.len() >= BATCH_RUNS {
                // More may be queued, so the position after this batch is not known.
                return false;
            }
            let hurries = !self.flushes.is_empty();
            let wait = if hurries {
                Duration::ZERO
            } else {
                until.saturating_duration_since(Instant::now())
            };
            next = self.inbox.receiver.recv_timeout(wait).ok();
        }
        self.position = Some(position);
        false
    }

    fn position(&self) -> Position {
        let applied = LogIndex(self.inbox.progress.applied.load(Ordering::SeqCst));
        Position { applied, at: self.state.read().now() }
    }

    fn write(&mut self) -> Result<(), HistoryError> {
        self.left_out |= self.inbox.progress.left_out.swap(false, Ordering::SeqCst);
        if self.file.is_none() {
            let file = File::open(&self.path, self.cluster)?;
            if self.was_open && file.is_new()? {
                // The previous file was damaged or removed, and its records are gone.
                self.restored.get_or_insert(self.position().applied);
            }
            self.was_open = true;
            self.gap.send_replace(file.gap()?);
            self.file = Some(file);
        }
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        if let Some(index) = self.restored {
            file.catch_up_after(index, &self.state.read().clone())?;
            self.gap.send_replace(file.gap()?);
            self.restored = None;
        }
        if self.left_out {
            tracing::warn!("accounting fell behind: catching up from the state");
            file.catch_up(&self.state.read().clone())?;
            self.left_out = false;
        }
        if !self.received_nodes.is_empty() {
            file.add_received_nodes(&self.received_nodes)?;
            self.received_nodes.clear();
        }
        if self.gap_closed {
            file.close_gap()?;
            self.gap.send_replace(None);
            self.gap_closed = false;
        }
        if !self.records.is_empty() || self.noted.elapsed() >= POSITION_PERIOD {
            file.write(&self.records, self.position.take())?;
            self.records = feed::HistoryRecords::default();
            self.noted = Instant::now();
        }
        if let Some(kept) = self.kept
            && self.purged.is_none_or(|purged| purged.elapsed() >= PURGE_PERIOD)
            && file.purge(self.state.read().now() - kept)?
        {
            self.purged = Some(Instant::now());
        }
        self.logged_at = None;
        Ok(())
    }

    fn note_failure(&mut self, error: &HistoryError) {
        // Reopen: the cause may be fixed by then. A damaged file may still have readable pages.
        self.file = None;
        if schema::is_damage(error)
            && let Err(error) = schema::move_aside(&self.path, schema::DAMAGED)
        {
            tracing::error!("{error}");
        }
        self.not_before = Instant::now() + RETRY;
        if self.logged_at.is_none_or(|at| at.elapsed() >= LOG_PERIOD) {
            self.logged_at = Some(Instant::now());
            tracing::error!("{error}; records are kept in memory, and the write is repeated");
        }
        if self.records.runs.len() > UNWRITTEN_RUNS_MAX {
            self.records = feed::HistoryRecords::default();
            self.left_out = true;
        }
    }
}

impl Drop for Thread {
    /// Saves the position on exit, so that a restart need not catch up.
    fn drop(&mut self) {
        if let Some(file) = &mut self.file
            && self.records.is_empty()
            && let Some(position) = self.position.take()
            && let Err(error) = file.write(&feed::HistoryRecords::default(), Some(position))
        {
            tracing::warn!("{error}");
        }
    }
}
