//! The log as raft uses it. One thread writes (`&mut self`); reads need only `&self`. The first
//! disk failure closes the log, and a failed sync is not repeated.

mod read;

use std::io;
use std::sync::Arc;

use crate::disk::Disk;
use crate::entry::{Entry, EntryId, HardState, Index, Term};
use crate::error::{Error, Result};
use crate::file_names;
use crate::options::Options;
use crate::record::Item;
use crate::recover::{self, Opened, Recovered};
use crate::segment_set::SegmentSet;
use crate::snapshot::Snapshot;
use crate::snapshot_files::SnapshotFiles;
use crate::snapshot_writer::{SnapshotWriter, Written};
use crate::tail::Tail;

/// An open log directory.
///
/// In each round a raft thread [`append`](Wal::append)s new entries and the hard state, calls
/// [`sync`](Wal::sync) once, and only then answers its peers. Reads see all appended entries,
/// synced or not.
pub struct Wal<D: Disk> {
    segments: SegmentSet<D>,
    snapshots: SnapshotFiles<D>,
    tail: Tail,
    /// The first disk failure, which every later call returns.
    poison: Option<String>,
    _lock: D::Lock,
}

impl<D: Disk> Wal<D> {
    /// Takes the directory's lock and recovers the log; creates one in an empty directory.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process has the directory open; [`Error::Corrupt`],
    /// [`Error::Incomplete`] and [`Error::UnknownVersion`] if the files are damaged or unreadable,
    /// and then nothing has been changed.
    pub fn open(disk: D, options: Options) -> Result<(Wal<D>, Recovered)> {
        options.check()?;
        let lock = disk.lock(file_names::LOCK).map_err(|source| {
            let file = disk.display_path(file_names::LOCK);
            match source.kind() {
                io::ErrorKind::WouldBlock => Error::Locked { file },
                _ => Error::disk_failed("lock", file, source),
            }
        })?;
        let Opened { segments, snapshots, tail, recovered } =
            recover::recover(Arc::new(disk), options)?;
        Ok((Wal { segments, snapshots, tail, poison: None, _lock: lock }, recovered))
    }

    /// Writes entries and hard state as one record, which survives a crash completely or not at
    /// all. Entries at or below the last index replace the old end of the log. Durable after
    /// [`sync`](Wal::sync).
    ///
    /// # Errors
    /// [`Error::NoSpace`] if a new segment does not fit: nothing has changed, and the call may be
    /// repeated. [`Error::Refused`] for entries that leave a gap or change committed ones.
    pub fn append(&mut self, entries: Vec<Entry>, hard_state: Option<HardState>) -> Result<()> {
        self.run_or_poison(|wal| {
            wal.tail.check_append(&entries, hard_state.as_ref())?;
            let entries = entries.into_iter().map(Item::Entry);
            wal.write(entries.chain(hard_state.map(Item::HardState)).collect())
        })
    }

    /// Makes everything appended so far durable with one fdatasync.
    ///
    /// # Errors
    /// [`Error::Io`] closes the log: what reached the disk is unknown, and a second sync would
    /// falsely succeed. The process must restart.
    pub fn sync(&mut self) -> Result<()> {
        self.run_or_poison(|wal| wal.segments.sync())
    }

    /// Saves the state at an applied, hence committed, index durably. The log is not changed; see
    /// [`compact`](Wal::compact).
    ///
    /// # Errors
    /// [`Error::NoSpace`] changes nothing. [`Error::Refused`] if the log does not have the entry,
    /// or has an equal or newer snapshot.
    pub fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.check_open()?;
        let written = self.snapshot_writer().write(snapshot);
        self.adopt_snapshot(written)
    }

    /// A writer of snapshots for another thread.
    pub fn snapshot_writer(&self) -> SnapshotWriter<D> {
        self.snapshots.snapshot_writer()
    }

    /// Makes a written snapshot the newest, as [`save_snapshot`](Wal::save_snapshot) does.
    ///
    /// # Errors
    /// As there; a refused snapshot is removed. An error of the writer is returned, and closes the
    /// log if it means that the disk failed.
    pub fn adopt_snapshot(&mut self, written: Result<Written>) -> Result<()> {
        self.run_or_poison(|wal| {
            let written = written?;
            if let Err(refused) = wal.check_snapshot_position(written.entry_id) {
                wal.snapshots.discard(&written)?;
                return Err(refused);
            }
            wal.snapshots.adopt(&written)?;
            wal.tail.raise_commit(written.entry_id.index);
            Ok(())
        })
    }

    fn check_snapshot_position(&self, EntryId { index, term }: EntryId) -> Result<()> {
        if self.tail.term(index).ok() != Some(term) {
            let reason = format!("the log does not hold entry {index} of term {term}");
            return Err(Error::refused("save a snapshot", reason));
        }
        self.check_newer(index)
    }

    /// Saves a snapshot received from the leader and restarts the log after it, durably. The commit
    /// index rises to at least its index. Entries and hard state that came with it follow by
    /// [`append`](Wal::append).
    ///
    /// # Errors
    /// [`Error::Refused`] unless it is above the commit index. [`Error::NoSpace`] may leave the
    /// snapshot without the restart of the log, which the next call or the next start adds.
    pub fn install_snapshot(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.run_or_poison(|wal| {
            let entry_id = snapshot.entry_id();
            let committed = wal.tail.committed();
            if entry_id.index <= committed {
                let index = entry_id.index;
                let reason = format!("index {index} is not above the committed {committed}");
                return Err(Error::refused("install a snapshot", reason));
            }
            if wal.snapshots.newest() != Some(entry_id) {
                wal.check_newer(entry_id.index)?;
                wal.snapshots.save(snapshot)?;
            }
            wal.write(vec![Item::Reset(entry_id)])?;
            wal.segments.sync()?;
            wal.segments.free(entry_id.index)
        })
    }

    /// Removes the entries up to and including `to`, and retires segments without other entries.
    ///
    /// Compact up to the last snapshot but one, so that a start survives a damaged newest snapshot.
    ///
    /// # Errors
    /// [`Error::Refused`] if no snapshot covers `to`.
    pub fn compact(&mut self, to: Index) -> Result<()> {
        self.run_or_poison(|wal| {
            if to <= wal.tail.base().index {
                return Ok(());
            }
            let covered = wal.snapshots.newest().map_or(Index(0), |newest| newest.index);
            if to > covered {
                let reason = format!("no snapshot covers {to}, the newest ends at {covered}");
                return Err(Error::refused("compact the log", reason));
            }
            let term = wal.tail.term(to)?;
            wal.write(vec![Item::Compact(EntryId { index: to, term })])?;
            wal.segments.sync()?;
            wal.segments.free(to)
        })
    }

    /// Fills a part of the next segment with zeros, if none is ready; for idle times.
    pub fn prepare_spare(&mut self) -> Result<()> {
        self.run_or_poison(|wal| wal.segments.spares.prepare())
    }

    /// Syncs and marks the end, so that the next start can distinguish damage in the last records
    /// from a torn write. Nothing else depends on this call.
    pub fn close(mut self) -> Result<()> {
        self.run_or_poison(|wal| {
            wal.segments.sync()?;
            wal.write(vec![Item::Mark])?;
            wal.segments.sync()
        })
    }

    /// The term of an entry, or of the position before the first entry.
    ///
    /// # Errors
    /// [`Error::Compacted`] and [`Error::Unavailable`].
    pub fn term(&self, index: Index) -> Result<Term> {
        self.check_open()?;
        self.tail.term(index)
    }

    /// The first entry in the log; [`last_index`](Wal::last_index) plus one if it is empty.
    pub fn first_index(&self) -> Index {
        self.tail.first_index()
    }

    /// The last entry in the log, synced or not.
    pub fn last_index(&self) -> Index {
        self.tail.last_index()
    }

    /// The last hard state appended.
    pub fn hard_state(&self) -> Option<&HardState> {
        self.tail.hard_state()
    }

    /// The last entry that the newest snapshot contains.
    pub fn snapshot_entry_id(&self) -> Option<EntryId> {
        self.snapshots.newest()
    }

    /// Reads the newest snapshot from disk and verifies it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is damaged; a new one can be saved.
    pub fn snapshot(&self) -> Result<Option<Snapshot>> {
        self.check_open()?;
        self.snapshots.newest().map(|newest| self.snapshots.load(newest.index)).transpose()
    }

    fn write(&mut self, items: Vec<Item>) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let tail = &self.tail;
        let location = self.segments.write(&items, || tail.opening_items())?;
        for item in items {
            self.tail.apply(item, location).expect("entries are checked before they are written");
        }
        Ok(())
    }

    fn check_newer(&self, index: Index) -> Result<()> {
        match self.snapshots.newest() {
            Some(newest) if newest.index >= index => {
                let reason = format!("index {index} is not above the newest, {}", newest.index);
                Err(Error::refused("save a snapshot", reason))
            }
            _ => Ok(()),
        }
    }

    fn check_open(&self) -> Result<()> {
        match &self.poison {
            Some(cause) => Err(Error::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// Runs a writing call; a disk failure in it closes the log.
    fn run_or_poison<T>(&mut self, call: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.check_open()?;
        let result = call(self);
        if let Err(error @ Error::Io { source, .. }) = &result {
            self.poison = Some(format!("{error}: {source}"));
        }
        result
    }
}

#[cfg(test)]
mod tests;
