//! The one place that names the consensus library: a log of commands, replicated and on disk
//! before anybody is told. What an entry means is the [`Machine`]'s; this module never looks
//! inside one, and never reads a clock but to tick.
//!
//! ```text
//! propose ──> thread: batch ──> raft-rs ──> wal: append, one fsync ──> committed ──> Machine
//!    ^                                                                                 │
//!    └───────────────────────────────── answers ───────────────────────────────────────┘
//! ```
//!
//! While the disk syncs one entry, proposals queue up; together they become the next entry. So a
//! submit costs one fsync when idle, and a share of one under load.

mod handle;
mod log;
mod members;
mod storage;
mod thread;
mod waiting;

pub use handle::{LogError, LogHandle, ProposeError};
pub use storage::{LogStore, StoreError};
pub use thread::{LogThread, start};

use common::id::LogIndex;

/// What the log drives: the replicated state, or a stand-in in tests.
pub trait Machine: Send + 'static {
    /// One request.
    type Command: Send + 'static;
    /// What it led to.
    type Answer: Send + 'static;

    /// Roughly how many bytes a request takes in an entry.
    fn weigh(command: &Self::Command) -> usize;

    /// Packs requests into the bytes of one entry, stamping the time.
    fn pack(&mut self, commands: Vec<Self::Command>) -> Vec<u8>;

    /// Applies a committed entry; one answer for each request packed into it. Must depend on
    /// nothing but the entries before.
    ///
    /// # Errors
    /// A sentence, when the bytes cannot be read: the process must end, for it cannot go on
    /// without knowing what was decided.
    fn apply(&mut self, index: LogIndex, entry: &[u8]) -> Result<Vec<Self::Answer>, String>;

    /// Everything, for a snapshot.
    ///
    /// # Errors
    /// A sentence, when it cannot be written down.
    fn save(&self) -> Result<Vec<u8>, String>;

    /// Replaces everything by a snapshot.
    ///
    /// # Errors
    /// A sentence, when the bytes cannot be read.
    fn restore(&mut self, index: LogIndex, bytes: &[u8]) -> Result<(), String>;

    /// This controller became the leader and has applied everything decided before.
    fn lead(&mut self, leading: bool);
}
