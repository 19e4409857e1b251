//! The segments of a log, oldest first, and the one being written: where a record goes, when it
//! is on the disk, and what becomes of segments no longer needed. It never looks for what is in
//! a record beyond the highest entry index.

use std::collections::VecDeque;
use std::sync::Arc;

use crc32fast::Hasher;

use crate::disk::{Disk, DiskFile};
use crate::entry::Index;
use crate::error::{Error, Result};
use crate::kept::Home;
use crate::names;
use crate::options::Options;
use crate::record::{self, Item, Sequence, Stamp};
use crate::segment::{self, Head, Place, SegmentId};
use crate::spares::{Spare, Spares};

/// All segments of one log.
pub(crate) struct Segments<D: Disk> {
    pub disk: Arc<D>,
    pub options: Options,
    /// Full ones, all synced.
    pub sealed: VecDeque<Sealed>,
    pub active: Active<D::File>,
    pub spares: Spares<D>,
    /// The last record written.
    pub written: Sequence,
    /// The last record synced.
    pub durable: Sequence,
}

#[derive(Debug)]
pub(crate) struct Sealed {
    pub id: SegmentId,
    pub size_bytes: u64,
    /// The highest entry index in it; it may go once a snapshot covers that.
    pub highest: Index,
    /// The start of its records' checksums.
    pub seed: Hasher,
}

/// The segment being written.
pub(crate) struct Active<F> {
    pub head: Head,
    pub seed: Hasher,
    pub file: F,
    /// Where the next record goes.
    pub end: u64,
    pub highest: Index,
}

impl<D: Disk> Segments<D> {
    /// Begins a log in an empty directory. `opening` is what its first record says.
    pub fn create(
        disk: Arc<D>,
        options: Options,
        mut spares: Spares<D>,
        opening: &[Item],
    ) -> Result<Self> {
        let head = Head {
            id: SegmentId(1),
            salt: options.salt,
            first: Sequence(1),
            size_bytes: options.segment_bytes,
        };
        let active = install(&*disk, &mut spares, head, opening)?;
        let written = head.first;
        Ok(Segments {
            disk,
            options,
            sealed: VecDeque::new(),
            active,
            spares,
            written,
            durable: written,
        })
    }

    /// Writes one record; a new segment begins if it does not fit, opened by what `opening` says.
    /// On [`Error::NoSpace`] nothing has changed and the call may be repeated. Answers where the
    /// record stands.
    pub fn write(&mut self, items: &[Item], opening: impl FnOnce() -> Vec<Item>) -> Result<Home> {
        let body_bytes = record::body_bytes(items);
        if body_bytes > record::BODY_BYTES_MAX {
            let max = record::BODY_BYTES_MAX;
            let reason = format!("{body_bytes} bytes at once, at most {max} are possible");
            return Err(Error::refused("append to the log", reason));
        }
        let record_bytes = record::record_bytes(body_bytes);
        if self.active.end + record_bytes > self.active.head.size_bytes {
            self.roll(record_bytes, &opening())?;
        }
        let stamp = Stamp { sequence: self.written.next(), durable: self.durable };
        let bytes = record::encode(items, stamp, &self.active.seed);
        let put = self.active.file.write_at(self.active.end, &bytes);
        put.map_err(|source| Error::write("write", self.active_place(), source))?;
        let home = Home { segment: self.active.head.id, offset: self.active.end, record_bytes };
        self.active.end += record_bytes;
        self.written = stamp.sequence;
        for item in items {
            note(item, &mut self.active.highest, &mut self.sealed);
        }
        Ok(home)
    }

    /// Reads the record that stands there.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Corrupt`] when it has been damaged since it was written.
    pub fn read(&self, home: Home) -> Result<Vec<Item>> {
        let name = names::segment(home.segment);
        let file = self.disk.place(&name);
        let fatal = |source| Error::fatal("read", file.clone(), source);
        let damaged =
            |reason: &str| Place { file: file.clone(), offset: home.offset }.corrupt(reason);
        let mut bytes = vec![0; home.record_bytes as usize];
        let seed = if home.segment == self.active.head.id {
            self.active.file.read_at(home.offset, &mut bytes).map_err(fatal)?;
            &self.active.seed
        } else {
            let of_id = |sealed: &&Sealed| sealed.id == home.segment;
            let sealed = self.sealed.iter().find(of_id);
            let opened = self.disk.open(&name).map_err(fatal)?;
            opened.read_at(home.offset, &mut bytes).map_err(fatal)?;
            &sealed.ok_or_else(|| damaged("the segment is no part of the log any more"))?.seed
        };
        let found = record::decode(&bytes, seed).ok_or_else(|| damaged("a record is damaged"))?;
        found.items().ok_or_else(|| damaged("a record holds an item this kantctld does not know"))
    }

    /// One fdatasync for everything written since the last.
    pub fn sync(&mut self) -> Result<()> {
        if self.durable < self.written {
            let synced = self.active.file.sync();
            synced.map_err(|source| Error::fatal("sync", self.active_place(), source))?;
            self.durable = self.written;
        }
        Ok(())
    }

    /// The full segment is synced before the next begins, so that recovery may take the existence
    /// of a segment as proof that the one before it was whole.
    fn roll(&mut self, record_bytes: u64, opening: &[Item]) -> Result<()> {
        self.sync()?;
        let opening_bytes = record::record_bytes(record::body_bytes(opening));
        let needed_bytes = segment::HEAD_BYTES + opening_bytes + record_bytes;
        let head = Head {
            id: self.active.head.id.next(),
            salt: self.options.salt,
            first: self.written.next(),
            size_bytes: self.options.segment_bytes.max(needed_bytes),
        };
        let next = install(&*self.disk, &mut self.spares, head, opening)?;
        let full = std::mem::replace(&mut self.active, next);
        self.sealed.push_back(Sealed {
            id: full.head.id,
            size_bytes: full.head.size_bytes,
            highest: full.highest,
            seed: full.seed,
        });
        self.written = head.first;
        self.durable = head.first;
        Ok(())
    }

    /// Retires the oldest segments as far as they hold nothing above `base`. What makes them
    /// superfluous must be synced already.
    pub fn free(&mut self, base: Index) -> Result<()> {
        while let Some(oldest) = self.sealed.front() {
            if oldest.highest > base {
                break;
            }
            self.spares.retire(&names::segment(oldest.id), oldest.size_bytes)?;
            self.sealed.pop_front();
        }
        Ok(())
    }

    fn active_place(&self) -> String {
        self.disk.place(&names::segment(self.active.head.id))
    }
}

/// Keeps track of the highest entry in each segment, for an item in the newest of them.
pub(crate) fn note(item: &Item, highest: &mut Index, older: &mut VecDeque<Sealed>) {
    match item {
        Item::Entry(entry) => *highest = entry.index.max(*highest),
        // Whatever the segments hold so far, the log begins anew here.
        Item::Reset(_) => {
            *highest = Index(0);
            older.iter_mut().for_each(|sealed| sealed.highest = Index(0));
        }
        Item::HardState(_) | Item::Compact(_) | Item::Mark => {}
    }
}

/// Turns a spare file into the segment of this head: head and first record are on the disk before
/// the file gets its name, so under that name they are always whole.
fn install<D: Disk>(
    disk: &D,
    spares: &mut Spares<D>,
    head: Head,
    opening: &[Item],
) -> Result<Active<D::File>> {
    let seed = head.seed();
    let stamp = Stamp { sequence: head.first, durable: Sequence(head.first.0 - 1) };
    let mut bytes = head.encode();
    bytes.extend(record::encode(opening, stamp, &seed));
    let end = bytes.len() as u64;

    let Spare { name, file } = spares.take(head.size_bytes)?;
    match name_segment(disk, &name, &file, head.id, &bytes) {
        Ok(()) => Ok(Active { head, seed, file, end, highest: Index(0) }),
        Err(error) => {
            spares.put_back(name, head.size_bytes);
            Err(error)
        }
    }
}

fn name_segment<D: Disk>(
    disk: &D,
    spare: &str,
    file: &D::File,
    id: SegmentId,
    bytes: &[u8],
) -> Result<()> {
    let place = || disk.place(spare);
    file.write_at(0, bytes).map_err(|e| Error::write("write", place(), e))?;
    file.sync().map_err(|e| Error::fatal("sync", place(), e))?;
    disk.rename(spare, &names::segment(id)).map_err(|e| Error::write("rename", place(), e))?;
    disk.sync_dir().map_err(|e| Error::fatal("sync", disk.place(""), e))
}

#[cfg(test)]
mod tests;
