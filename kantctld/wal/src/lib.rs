//! The durable store under raft: log entries, hard state and snapshots, checksummed and fsynced.
//! It never looks inside a payload and never names the consensus library.
//!
//! One [`Wal`] owns one directory (or one [`MemDisk`] in tests):
//!
//! ```text
//! lock                              held while a controller has the directory open
//! log-00000000000000000007          segments: a head, then records; numbered without a hole
//! spare-00000000000000000003        zero-filled or retired, becomes the next segment
//! snapshot-00000000000000001200     the state as of one log index; the last two are kept
//! ```
//!
//! Why our own, the byte layout and the rules: `docs/decisions/0005-log-store.md`. Start reading
//! at [`Wal`], then `segments` (where a record goes), `recover` (what a start believes).

mod aside;
mod codec;
mod disk;
mod entry;
mod error;
#[cfg(test)]
mod fixture;
mod kept;
mod names;
mod options;
mod record;
mod recover;
mod segment;
mod segments;
mod snapshot;
mod snapshots;
mod spares;
mod tail;
mod wal;

pub use aside::{Aside, Written};
pub use disk::memory::MemDisk;
pub use disk::real::RealDisk;
pub use disk::{Disk, DiskFile};
pub use entry::{Entry, HardState, Index, Position, Term};
pub use error::{Error, Result};
pub use options::Options;
pub use recover::Recovered;
pub use segment::Place;
pub use snapshot::Snapshot;
pub use wal::Wal;
