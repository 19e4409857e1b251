//! The log as raft sees it. One thread writes (`&mut self`), any may read through `&self`.
//! It never retries a failed sync: the first disk failure closes the log for good.

mod read;

use std::io;
use std::sync::Arc;

use crate::aside::{Aside, Written};
use crate::disk::Disk;
use crate::entry::{Entry, HardState, Index, Position, Term};
use crate::error::{Error, Result};
use crate::names;
use crate::options::Options;
use crate::record::Item;
use crate::recover::{self, Opened, Recovered};
use crate::segments::Segments;
use crate::snapshot::Snapshot;
use crate::snapshots::Snapshots;
use crate::tail::Tail;

/// An open log directory.
///
/// A raft thread does, per round: [`append`](Wal::append) the new entries and the hard state,
/// [`sync`](Wal::sync) once, and only then answer its peers. Reads see what was appended, synced
/// or not.
pub struct Wal<D: Disk> {
    segments: Segments<D>,
    snapshots: Snapshots<D>,
    tail: Tail,
    /// The first disk failure; every later call repeats it.
    poison: Option<String>,
    _lock: D::Lock,
}

impl<D: Disk> Wal<D> {
    /// Takes the directory's lock and recovers what is there; begins a log in an empty one.
    ///
    /// # Errors
    /// [`Error::Locked`] when another controller runs here; [`Error::Corrupt`],
    /// [`Error::Incomplete`] and [`Error::UnknownVersion`] when the files cannot be trusted or
    /// read: nothing has been changed then.
    pub fn open(disk: D, options: Options) -> Result<(Wal<D>, Recovered)> {
        options.check()?;
        let lock = disk.lock(names::LOCK).map_err(|source| {
            let file = disk.place(names::LOCK);
            match source.kind() {
                io::ErrorKind::WouldBlock => Error::Locked { file },
                _ => Error::fatal("lock", file, source),
            }
        })?;
        let Opened { segments, snapshots, tail, recovered } =
            recover::recover(Arc::new(disk), options)?;
        Ok((Wal { segments, snapshots, tail, poison: None, _lock: lock }, recovered))
    }

    /// Writes entries and hard state as one record: after a crash all of it is there or nothing.
    /// Entries at or below the last index replace the old end of the log. Durable after
    /// [`sync`](Wal::sync).
    ///
    /// # Errors
    /// [`Error::NoSpace`] when a new segment does not fit: nothing has changed, it may be called
    /// again. [`Error::Refused`] for entries that leave a gap or touch what is committed.
    pub fn append(&mut self, entries: Vec<Entry>, hard_state: Option<HardState>) -> Result<()> {
        self.guarded(|wal| {
            wal.tail.check(&entries, hard_state.as_ref())?;
            let entries = entries.into_iter().map(Item::Entry);
            wal.write(entries.chain(hard_state.map(Item::HardState)).collect())
        })
    }

    /// Makes everything appended so far durable with one fdatasync.
    ///
    /// # Errors
    /// [`Error::Io`] closes the log: what reached the disk is unknown, and asking again would get
    /// a false yes. The process must restart.
    pub fn sync(&mut self) -> Result<()> {
        self.guarded(|wal| wal.segments.sync())
    }

    /// Saves the state as of an applied, hence committed, index, durably. The log stays as it is;
    /// see [`compact`](Wal::compact).
    ///
    /// # Errors
    /// [`Error::NoSpace`] leaves everything as it was. [`Error::Refused`] when the log does not
    /// hold the entry, or an equal or newer snapshot is there.
    pub fn save_snapshot(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.check_open()?;
        let written = self.aside().write(snapshot);
        self.adopt(written)
    }

    /// A snapshot that another thread may write, while this one goes on.
    pub fn aside(&self) -> Aside<D> {
        self.snapshots.aside()
    }

    /// Makes what was written aside the newest snapshot, as [`save_snapshot`](Wal::save_snapshot)
    /// does.
    ///
    /// # Errors
    /// As there; what is refused is removed. An error of the writing is given back, and closes the
    /// log where it means that the disk failed.
    pub fn adopt(&mut self, written: Result<Written>) -> Result<()> {
        self.guarded(|wal| {
            let written = written?;
            if let Err(refused) = wal.check_taken(written.position) {
                wal.snapshots.discard(&written)?;
                return Err(refused);
            }
            wal.snapshots.adopt(&written)?;
            wal.tail.raise_commit(written.position.index);
            Ok(())
        })
    }

    fn check_taken(&self, Position { index, term }: Position) -> Result<()> {
        if self.tail.term(index).ok() != Some(term) {
            let reason = format!("the log does not hold entry {index} of term {term}");
            return Err(Error::refused("save a snapshot", reason));
        }
        self.check_newer(index)
    }

    /// Saves a snapshot received from the leader and begins the log anew after it, durably. The
    /// commit index rises to it at least. Entries and hard state that came with it follow by
    /// [`append`](Wal::append).
    ///
    /// # Errors
    /// [`Error::Refused`] unless it lies above what is committed here. [`Error::NoSpace`] may leave
    /// the snapshot behind but not the new beginning: the next call, or the next start, adds that.
    pub fn install_snapshot(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.guarded(|wal| {
            let position = snapshot.position();
            let committed = wal.tail.committed();
            if position.index <= committed {
                let index = position.index;
                let reason = format!("index {index} is not above the committed {committed}");
                return Err(Error::refused("install a snapshot", reason));
            }
            if wal.snapshots.newest() != Some(position) {
                wal.check_newer(position.index)?;
                wal.snapshots.save(snapshot)?;
            }
            wal.write(vec![Item::Reset(position)])?;
            wal.segments.sync()?;
            wal.segments.free(position.index)
        })
    }

    /// Drops the entries up to and with `to`, and recycles segments that hold nothing else.
    ///
    /// Compacting to the last snapshot but one, not the last, lets a start survive a damaged
    /// newest snapshot.
    ///
    /// # Errors
    /// [`Error::Refused`] when no snapshot covers `to`.
    pub fn compact(&mut self, to: Index) -> Result<()> {
        self.guarded(|wal| {
            if to <= wal.tail.base().index {
                return Ok(());
            }
            let covered = wal.snapshots.newest().map_or(Index(0), |newest| newest.index);
            if to > covered {
                let reason = format!("no snapshot covers {to}, the newest ends at {covered}");
                return Err(Error::refused("compact the log", reason));
            }
            let term = wal.tail.term(to)?;
            wal.write(vec![Item::Compact(Position { index: to, term })])?;
            wal.segments.sync()?;
            wal.segments.free(to)
        })
    }

    /// Zero-fills a piece of the next segment ahead of its use, if none is ready: for idle moments.
    pub fn prepare(&mut self) -> Result<()> {
        self.guarded(|wal| wal.segments.spares.prepare())
    }

    /// Syncs and marks the end, so that the next start can tell damage in the last records from
    /// a torn write. Not calling it loses nothing else.
    pub fn close(mut self) -> Result<()> {
        self.guarded(|wal| {
            wal.segments.sync()?;
            wal.write(vec![Item::Mark])?;
            wal.segments.sync()
        })
    }

    /// The term of an entry, or of the position right before the first.
    ///
    /// # Errors
    /// [`Error::Compacted`] and [`Error::Unavailable`].
    pub fn term(&self, index: Index) -> Result<Term> {
        self.check_open()?;
        self.tail.term(index)
    }

    /// The first entry in the log; one above [`last_index`](Wal::last_index) when it is empty.
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

    /// Where the newest snapshot stands.
    pub fn snapshot_position(&self) -> Option<Position> {
        self.snapshots.newest()
    }

    /// Reads the newest snapshot from the disk and verifies it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when it has been damaged since; a new one can be saved.
    pub fn snapshot(&self) -> Result<Option<Snapshot>> {
        self.check_open()?;
        self.snapshots.newest().map(|newest| self.snapshots.load(newest.index)).transpose()
    }

    fn write(&mut self, items: Vec<Item>) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        let tail = &self.tail;
        let home = self.segments.write(&items, || tail.opening())?;
        for item in items {
            self.tail.apply(item, home).expect("entries are checked before they are written");
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

    /// Runs one writing call; a disk failure in it closes the log.
    fn guarded<T>(&mut self, call: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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
