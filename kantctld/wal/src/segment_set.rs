//! The segments of a log, oldest first, with the active one: where a record is written, when it is
//! durable, and when a segment is retired. Of the items only the highest entry index matters here.

use std::collections::VecDeque;
use std::sync::Arc;

use crc32fast::Hasher;

use crate::disk::{Disk, DiskFile};
use crate::entry::Index;
use crate::error::{Error, Result};
use crate::file_names;
use crate::log_slot::RecordLocation;
use crate::options::Options;
use crate::record::{self, Item, Sequence, Stamp};
use crate::segment::{self, FilePosition, Head, SegmentId};
use crate::spare_files::{Spare, SpareFiles};

pub(crate) struct SegmentSet<D: Disk> {
    pub disk: Arc<D>,
    pub options: Options,
    /// Full segments, all synced.
    pub sealed: VecDeque<Sealed>,
    pub active: Active<D::File>,
    pub spares: SpareFiles<D>,
    pub written: Sequence,
    pub durable: Sequence,
}

#[derive(Debug)]
pub(crate) struct Sealed {
    pub id: SegmentId,
    pub size_bytes: u64,
    /// The highest entry in it; it can be retired once a snapshot covers that.
    pub highest: Index,
    pub seed: Hasher,
}

/// The segment being written.
pub(crate) struct Active<F> {
    pub head: Head,
    pub seed: Hasher,
    pub file: F,
    /// The offset of the next record.
    pub end: u64,
    pub highest: Index,
}

impl<D: Disk> SegmentSet<D> {
    /// Creates a log in an empty directory, with `opening` as its first record.
    pub fn create(
        disk: Arc<D>,
        options: Options,
        mut spares: SpareFiles<D>,
        opening: &[Item],
    ) -> Result<Self> {
        let head = Head {
            id: SegmentId(1),
            salt: options.salt,
            first: Sequence(1),
            size_bytes: options.segment_bytes,
        };
        let active = install_spare(&*disk, &mut spares, head, opening)?;
        let written = head.first;
        Ok(SegmentSet {
            disk,
            options,
            sealed: VecDeque::new(),
            active,
            spares,
            written,
            durable: written,
        })
    }

    /// Writes one record, in a new segment with `opening` as first record if it does not fit. After
    /// [`Error::NoSpace`] nothing has changed, and the call may be repeated. Returns the location
    /// of the record.
    pub fn write(
        &mut self,
        items: &[Item],
        opening: impl FnOnce() -> Vec<Item>,
    ) -> Result<RecordLocation> {
        let body_bytes = record::body_bytes(items);
        if body_bytes > record::BODY_BYTES_MAX {
            let max = record::BODY_BYTES_MAX;
            let reason = format!("{body_bytes} bytes at once, and at most {max} are possible");
            return Err(Error::refused("append to the log", reason));
        }
        let record_bytes = record::record_bytes(body_bytes);
        if self.active.end + record_bytes > self.active.head.size_bytes {
            self.roll(record_bytes, &opening())?;
        }
        let stamp = Stamp { sequence: self.written.next(), durable: self.durable };
        let bytes = record::encode(items, stamp, &self.active.seed);
        let put = self.active.file.write_at(self.active.end, &bytes);
        put.map_err(|source| Error::write_failed("write", self.active_path(), source))?;
        let location =
            RecordLocation { segment: self.active.head.id, offset: self.active.end, record_bytes };
        self.active.end += record_bytes;
        self.written = stamp.sequence;
        for item in items {
            note_highest(item, &mut self.active.highest, &mut self.sealed);
        }
        Ok(location)
    }

    /// Reads the record at this location.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Corrupt`] if it was damaged after it was written.
    pub fn read(&self, location: RecordLocation) -> Result<Vec<Item>> {
        let name = file_names::segment(location.segment);
        let file = self.disk.display_path(&name);
        let fatal = |source| Error::disk_failed("read", file.clone(), source);
        let damaged = |reason: &str| {
            FilePosition { file: file.clone(), offset: location.offset }.corrupt(reason)
        };
        let mut bytes = vec![0; location.record_bytes as usize];
        let seed = if location.segment == self.active.head.id {
            self.active.file.read_at(location.offset, &mut bytes).map_err(fatal)?;
            &self.active.seed
        } else {
            let of_id = |sealed: &&Sealed| sealed.id == location.segment;
            let sealed = self.sealed.iter().find(of_id);
            let opened = self.disk.open(&name).map_err(fatal)?;
            opened.read_at(location.offset, &mut bytes).map_err(fatal)?;
            &sealed.ok_or_else(|| damaged("the segment is no longer part of the log"))?.seed
        };
        let found = record::decode(&bytes, seed).ok_or_else(|| damaged("a record is damaged"))?;
        found
            .items()
            .ok_or_else(|| damaged("a record has an item that this kantctld does not know"))
    }

    /// One fdatasync for everything written since the last one.
    pub fn sync(&mut self) -> Result<()> {
        if self.durable < self.written {
            let synced = self.active.file.sync();
            synced.map_err(|source| Error::disk_failed("sync", self.active_path(), source))?;
            self.durable = self.written;
        }
        Ok(())
    }

    /// Starts a new segment. The full one is synced before, so that recovery may take the existence
    /// of a segment as proof that the previous one was complete.
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
        let next = install_spare(&*self.disk, &mut self.spares, head, opening)?;
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

    /// Retires the oldest segments that have no entry above `base`. What makes them unnecessary
    /// must be synced already.
    pub fn free(&mut self, base: Index) -> Result<()> {
        while let Some(oldest) = self.sealed.front() {
            if oldest.highest > base {
                break;
            }
            self.spares.retire(&file_names::segment(oldest.id), oldest.size_bytes)?;
            self.sealed.pop_front();
        }
        Ok(())
    }

    fn active_path(&self) -> String {
        self.disk.display_path(&file_names::segment(self.active.head.id))
    }
}

/// Updates the highest entry of each segment for an item in the newest one.
pub(crate) fn note_highest(item: &Item, highest: &mut Index, older: &mut VecDeque<Sealed>) {
    match item {
        Item::Entry(entry) => *highest = entry.index.max(*highest),
        // The log restarts here, whatever the segments have so far.
        Item::Reset(_) => {
            *highest = Index(0);
            older.iter_mut().for_each(|sealed| sealed.highest = Index(0));
        }
        Item::HardState(_) | Item::Compact(_) | Item::Mark => {}
    }
}

/// Makes a spare file the segment with this head: head and first record are synced before the file
/// gets its name, so that a file with that name is always valid.
fn install_spare<D: Disk>(
    disk: &D,
    spares: &mut SpareFiles<D>,
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
    let place = || disk.display_path(spare);
    file.write_at(0, bytes).map_err(|e| Error::write_failed("write", place(), e))?;
    file.sync().map_err(|e| Error::disk_failed("sync", place(), e))?;
    disk.rename(spare, &file_names::segment(id))
        .map_err(|e| Error::write_failed("rename", place(), e))?;
    disk.sync_dir().map_err(|e| Error::disk_failed("sync", disk.display_path(""), e))
}

#[cfg(test)]
mod tests;
