//! Accounting's own thread: gathers what it is told into batches, and has each written in one
//! transaction. Never ends for an error: it says so, keeps what waits, and tries again.

use super::feed::{Inbox, Told};
use super::schema::{self, FILE, HistoryError};
use super::write::{File, Mark};
use super::{History, feed};
use crate::machine::SharedState;
use common::id::{ClusterId, LogIndex};
use common::time::{Span, Time};
use state::history::NodeChange;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// What comes within this time shares a transaction, and its sync.
const GATHER: Duration = Duration::from_millis(200);
/// The most runs in one transaction.
const BATCH_RUNS: usize = 4096;
/// How often it looks up while nothing comes.
const IDLE: Duration = Duration::from_secs(1);
/// Between two tries where the file cannot be written.
const RETRY: Duration = Duration::from_secs(2);
/// How often it says so.
const COMPLAINT: Duration = Duration::from_secs(300);
/// How often it notes how far it came, though nothing was to be written.
const NOTE: Duration = Duration::from_secs(60);
/// How often it drops what is too old.
const PURGE: Duration = Duration::from_secs(3600);
/// So many runs wait at most while the file cannot be written.
const KEPT_MAX: usize = 1 << 18;

/// What accounting is to know.
pub struct Wanted<'a> {
    /// Where the file is.
    pub state_dir: &'a Path,
    pub cluster: ClusterId,
    /// How long runs are kept; `None`: for ever.
    pub kept: Option<Span>,
    /// Where to catch up from.
    pub state: SharedState,
}

pub struct Keeper {
    thread: JoinHandle<()>,
    tell: Sender<Told>,
}

impl Keeper {
    /// Writes what waits, and ends; blocks meanwhile.
    pub fn stop(self) {
        // An error: it has ended.
        let _ = self.tell.send(Told::Stop);
        if self.thread.join().is_err() {
            tracing::error!("accounting's thread ended unexpectedly: please report this");
        }
    }
}

/// Starts the thread; the file is opened there, and again until that works.
///
/// # Errors
/// When there can be no thread.
pub fn start(inbox: Inbox, wanted: Wanted<'_>) -> io::Result<(History, Keeper)> {
    let path = wanted.state_dir.join(FILE);
    let (gap, gap_seen) = watch::channel(None);
    let tell = inbox.tell.clone();
    let history = History { path: Arc::new(path.clone()), told: tell.clone(), gap: gap_seen };
    let Wanted { cluster, kept, state, .. } = wanted;
    let now = Instant::now();
    let thread = Thread {
        inbox,
        path,
        cluster,
        kept,
        state,
        gap,
        file: None,
        news: feed::News::default(),
        given: Vec::new(),
        was_open: false,
        flushes: Vec::new(),
        restored: None,
        left_out: false,
        gap_closed: false,
        mark: None,
        not_before: now,
        complained: None,
        noted: now,
        purged: None,
    };
    let spawned = std::thread::Builder::new().name("accounting".to_owned());
    let thread = spawned.spawn(move || thread.run())?;
    Ok((history, Keeper { thread, tell }))
}

struct Thread {
    inbox: Inbox,
    path: PathBuf,
    cluster: ClusterId,
    kept: Option<Span>,
    state: SharedState,
    gap: watch::Sender<Option<Time>>,
    file: Option<File>,
    /// It was open before: what came until now may be in a file that is gone.
    was_open: bool,
    /// Told, and not written yet.
    news: feed::News,
    /// How nodes were, as another controller kept it.
    given: Vec<NodeChange>,
    flushes: Vec<oneshot::Sender<bool>>,
    restored: Option<LogIndex>,
    left_out: bool,
    gap_closed: bool,
    /// How far the file is, once `news` is in it.
    mark: Option<Mark>,
    not_before: Instant,
    complained: Option<Instant>,
    noted: Instant,
    purged: Option<Instant>,
}

impl Thread {
    fn run(mut self) {
        loop {
            let stops = self.take_in();
            let done =
                if Instant::now() < self.not_before && !stops { None } else { Some(self.write()) };
            let written = match done {
                Some(Ok(())) => true,
                Some(Err(error)) => {
                    self.complain(&error);
                    false
                }
                None => false,
            };
            for flush in self.flushes.drain(..) {
                // Whoever asked may have gone away.
                let _ = flush.send(written);
            }
            if stops {
                return;
            }
        }
    }

    /// Gathers what is told; true: it is to end.
    fn take_in(&mut self) -> bool {
        // All that is told of entries up to this one is in the inbox by now.
        let mark = self.level();
        let mut next = match self.inbox.told.recv_timeout(IDLE) {
            Ok(told) => Some(told),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return true,
        };
        let until = Instant::now() + GATHER;
        while let Some(told) = next {
            match told {
                Told::Over(news) => {
                    let runs = news.runs.len();
                    self.inbox.level.waiting.fetch_sub(runs, Ordering::Relaxed);
                    self.news.extend(news);
                }
                Told::Restored(index) => self.restored = Some(index),
                Told::Given(kept) => {
                    self.news.runs.extend(kept.runs);
                    self.given.extend(kept.nodes);
                }
                Told::GapClosed => self.gap_closed = true,
                Told::Flush(answer) => self.flushes.push(answer),
                Told::Stop => {
                    // The log has ended: nothing comes after this.
                    self.mark = Some(self.level());
                    return true;
                }
            }
            if self.news.runs.len() >= BATCH_RUNS {
                // More may wait: how far the file is then is not known.
                return false;
            }
            let hurries = !self.flushes.is_empty();
            let wait = if hurries {
                Duration::ZERO
            } else {
                until.saturating_duration_since(Instant::now())
            };
            next = self.inbox.told.recv_timeout(wait).ok();
        }
        self.mark = Some(mark);
        false
    }

    fn level(&self) -> Mark {
        let applied = LogIndex(self.inbox.level.applied.load(Ordering::SeqCst));
        Mark { applied, at: self.state.read().now() }
    }

    fn write(&mut self) -> Result<(), HistoryError> {
        self.left_out |= self.inbox.level.left_out.swap(false, Ordering::SeqCst);
        if self.file.is_none() {
            let file = File::open(&self.path, self.cluster)?;
            if self.was_open && file.is_new()? {
                // The one before it was damaged, or somebody took it away, and what it had is gone.
                self.restored.get_or_insert(self.level().applied);
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
        if !self.given.is_empty() {
            file.take_nodes(&self.given)?;
            self.given.clear();
        }
        if self.gap_closed {
            file.close_gap()?;
            self.gap.send_replace(None);
            self.gap_closed = false;
        }
        if !self.news.is_empty() || self.noted.elapsed() >= NOTE {
            file.write(&self.news, self.mark.take())?;
            self.news = feed::News::default();
            self.noted = Instant::now();
        }
        if let Some(kept) = self.kept
            && self.purged.is_none_or(|purged| purged.elapsed() >= PURGE)
            && file.purge(self.state.read().now() - kept)?
        {
            self.purged = Some(Instant::now());
        }
        self.complained = None;
        Ok(())
    }

    fn complain(&mut self, error: &HistoryError) {
        // Whatever is wrong with it may be mended by then; of what is damaged a page may read well.
        self.file = None;
        if schema::is_damage(error)
            && let Err(error) = schema::move_aside(&self.path, schema::DAMAGED)
        {
            tracing::error!("{error}");
        }
        self.not_before = Instant::now() + RETRY;
        if self.complained.is_none_or(|at| at.elapsed() >= COMPLAINT) {
            self.complained = Some(Instant::now());
            tracing::error!("{error}; what is over is kept in memory, and tried again");
        }
        if self.news.runs.len() > KEPT_MAX {
            self.news = feed::News::default();
            self.left_out = true;
        }
    }
}

impl Drop for Thread {
    /// On its way out it notes how far it came, so that a restart need not catch up.
    fn drop(&mut self) {
        if let Some(file) = &mut self.file
            && self.news.is_empty()
            && let Some(mark) = self.mark.take()
            && let Err(error) = file.write(&feed::News::default(), Some(mark))
        {
            tracing::warn!("{error}");
        }
    }
}
