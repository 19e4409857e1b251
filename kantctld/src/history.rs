//! Accounting: all finished runs, in this controller's own SQLite file, kept as long as configured.
//! A thread of its own writes it from applied events, so that the log does not wait. Live jobs are
//! in the state, not here.
//!
//! ```text
//! log's thread: apply ──> Feed ──> thread: batches, each one transaction ──> accounting.sqlite
//!                                    │ catches up from the state after a snapshot          │
//! API: flush, then a connection that only reads  <────────────────────────────────────────┘
//! ```
//!
//! A run has its job, array task and number as key, so one that is written twice (the log is
//! replayed after a restart) is stored once. The schema: docs/operating/accounting.md.

mod estimates;
mod feed;
mod group;
mod read;
mod report;
mod row;
mod schema;
mod steps;
mod thread;
mod write;

pub use estimates::estimates;
pub use feed::{Feed, HistoryRecords, Inbox, feed_channel};
pub use read::{node_changes, query_runs};
pub use report::report;
pub use schema::{FILE, HistoryError, adopt_after_restore};
pub use thread::{HistoryOptions, HistoryThread, start};

use common::time::Time;
use common::wire::api::HistoryRun;
use feed::HistoryMessage;
use query::history::NodeChange;
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use tokio::sync::{oneshot, watch};

/// The handle of the accounting. Cheap to clone.
#[derive(Clone)]
pub struct History {
    path: Arc<PathBuf>,
    sender: Sender<HistoryMessage>,
    /// Since when this controller lacks runs that another one may have.
    gap: watch::Receiver<Option<Time>>,
}

impl History {
    /// Returns once everything applied before is in the file; `false` if it cannot be written now.
    pub async fn flush(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.sender.send(HistoryMessage::Flush(answer)).is_ok() && answered.await.unwrap_or(false)
    }

    /// A read-only connection.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn reader(&self) -> Result<Connection, HistoryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(self.path.as_path(), flags);
        let connection = opened.map_err(|source| HistoryError::from_sql(&self.path, source))?;
        schema::prepare_reader(&connection)
            .map_err(|source| HistoryError::from_sql(&self.path, source))?;
        Ok(connection)
    }

    /// Since when this controller lacks runs that another one may have, because it was away for
    /// longer than the state keeps finished jobs. Changes are published.
    #[must_use]
    pub fn watch_gap(&self) -> watch::Receiver<Option<Time>> {
        self.gap.clone()
    }

    /// Adds records of another controller: runs and node changes.
    pub fn add_received(&self, runs: Vec<HistoryRun>, nodes: Vec<NodeChange>) {
        // The receiver is gone while the controller stops.
        let _ = self.sender.send(HistoryMessage::Received(HistoryRecords {
            runs,
            nodes,
            ..HistoryRecords::default()
        }));
    }

    /// Notes that nothing is missing any more.
    pub fn close_gap(&self) {
        let _ = self.sender.send(HistoryMessage::GapClosed);
    }
}

#[cfg(test)]
mod tests;
