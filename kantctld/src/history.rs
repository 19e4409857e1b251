//! Accounting: every run that is over, in this controller's own SQLite file, for as long as the
//! configuration says. Written from applied events by a thread of its own; never in the way of the
//! log, and never the truth about a job that still lives: that is the state.
//!
//! ```text
//! log's thread: apply ──> Feed ──> thread: batches, each one transaction ──> accounting.sqlite
//!                                    │ catches up from the state after a snapshot          │
//! API: flush, then a connection that only reads  <────────────────────────────────────────┘
//! ```
//!
//! A run is written under its job, array task and number, so one that is told twice (the log is
//! read again after a restart) is there once. The schema: docs/operating/accounting.md.

mod catch_up;
mod feed;
mod read;
mod report;
mod row;
mod schema;
mod steps;
mod thread;
mod write;

pub use catch_up::{KEPT_PATH, Kept, keep_up};
pub use feed::{Feed, Inbox, News, feed};
pub use read::{node_changes, runs};
pub use report::report;
pub use schema::{FILE, HistoryError, adopt};
pub use thread::{Keeper, Wanted, start};

use common::time::Time;
use common::wire::api::HistoryRun;
use feed::Told;
use rusqlite::{Connection, OpenFlags};
use state::history::NodeChange;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use tokio::sync::{oneshot, watch};

/// What the rest of the controller holds of its accounting. Cloning is cheap.
#[derive(Clone)]
pub struct History {
    path: Arc<PathBuf>,
    told: Sender<Told>,
    /// Since when it lacks what others may have.
    gap: watch::Receiver<Option<Time>>,
}

impl History {
    /// Returns once all that was applied before is in the file; `false`: it cannot be written now,
    /// and the file is behind.
    pub async fn flush(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.told.send(Told::Flush(answer)).is_ok() && answered.await.unwrap_or(false)
    }

    /// A connection that only reads.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn reader(&self) -> Result<Connection, HistoryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(self.path.as_path(), flags);
        let connection = opened.map_err(|source| HistoryError::at(&self.path, source))?;
        schema::prepare_reader(&connection)
            .map_err(|source| HistoryError::at(&self.path, source))?;
        Ok(connection)
    }

    /// Since when this controller lacks runs that another may have: it was away for longer than
    /// the state remembers. Changes when that does.
    #[must_use]
    pub fn gap(&self) -> watch::Receiver<Option<Time>> {
        self.gap.clone()
    }

    /// Takes in what another controller has kept: runs, and how nodes were.
    pub fn give(&self, runs: Vec<HistoryRun>, nodes: Vec<NodeChange>) {
        // Nobody listens while the controller stops.
        let _ = self.told.send(Told::Given(News { runs, nodes, ..News::default() }));
    }

    /// Nothing is lacking any more.
    pub fn close_gap(&self) {
        let _ = self.told.send(Told::GapClosed);
    }
}

#[cfg(test)]
mod tests;
