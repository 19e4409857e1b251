//! The durable store of raft: log entries, hard state and snapshots, checksummed and fsynced.
//! It never interprets a payload and does not depend on the consensus library.
//!
//! One [`Wal`] owns one directory (or one `MemDisk` in tests):
//!
//! ```text
//! lock                              held while a controller has the directory open
//! log-00000000000000000007          segments: a head, then records; numbered without gaps
//! spare-00000000000000000003        zero-filled or retired, becomes the next segment
//! snapshot-00000000000000001200     the state as of one log index; the last two are kept
//! ```
//!
//! `docs/decisions/0005-log-store.md` explains why the store is hand-written, the byte layout and
//! the rules. Start reading at [`Wal`], then `segment_set` (where a record goes), `recover` (what a
//! start accepts).

mod codec;
mod disk;
mod entry;

mod error;
mod record;

mod segment;

mod file_names;
mod log_slot;
mod options;
mod snapshot;

mod snapshot_writer;
mod spare_files;
mod tail;

mod segment_set;
mod snapshot_files;

mod recover;

mod wal;

#[cfg(test)]
mod test_data;

#[cfg(any(test, feature = "testing"))]
pub use disk::memory::MemDisk;
pub use disk::real::RealDisk;
pub use disk::{Disk, DiskFile};
pub use entry::{Entry, EntryId, HardState, Index, Term};
pub use error::{Error, Result};
pub use options::Options;
pub use recover::Recovered;
pub use segment::FilePosition;
pub use snapshot::Snapshot;
pub use snapshot_writer::{SnapshotWriter, Written};
pub use wal::Wal;
