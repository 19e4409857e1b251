//! A snapshot written beside the log, by another thread, while the log takes in entries. Nothing
//! rests on it until the log adopts it. Never touches the log's own files.

use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::entry::Position;
use crate::error::{Error, Result};
use crate::names;
use crate::snapshot::Snapshot;

/// The right to write one. There is to be only one at a time.
pub struct Aside<D: Disk> {
    disk: Arc<D>,
}

/// A snapshot that is on the disk, whole, under a name that means nothing yet.
#[derive(Debug)]
pub struct Written {
    pub(crate) tmp: &'static str,
    pub(crate) position: Position,
}

impl<D: Disk> Aside<D> {
    pub(crate) fn new(disk: Arc<D>) -> Self {
        Aside { disk }
    }

    /// Writes it durably, for [`adopt`](crate::Wal::adopt).
    ///
    /// # Errors
    /// [`Error::NoSpace`]: nothing is left of it. [`Error::Io`]: hand it to
    /// [`adopt`](crate::Wal::adopt) all the same, it closes the log.
    pub fn write(self, snapshot: &Snapshot) -> Result<Written> {
        write(&*self.disk, names::ASIDE_TMP, snapshot)
    }
}

/// Writes one durably under this name.
pub(crate) fn write<D: Disk>(disk: &D, tmp: &'static str, snapshot: &Snapshot) -> Result<Written> {
    let written = fill(disk, tmp, snapshot);
    if let Err(Error::NoSpace { .. }) = written {
        // Give back what it took; the error that matters is the one returned.
        let _ = disk.remove(tmp);
    }
    written.map(|()| Written { tmp, position: snapshot.position() })
}

fn fill<D: Disk>(disk: &D, tmp: &str, snapshot: &Snapshot) -> Result<()> {
    let place = || disk.place(tmp);
    let head = snapshot.encode_head();
    let file = disk.create(tmp).map_err(|e| Error::write("create", place(), e))?;
    file.write_at(0, &head)
        .and_then(|()| file.write_at(head.len() as u64, &snapshot.payload))
        .map_err(|e| Error::write("write", place(), e))?;
    file.sync().map_err(|e| Error::fatal("sync", place(), e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Index;
    use crate::fixture::{entry, files, filled, held, lose_all, open, snapshot};
    use crate::{MemDisk, Wal};

    fn under_way(disk: &MemDisk) -> (Wal<MemDisk>, Aside<MemDisk>) {
        let wal = filled(disk, 1..=3);
        let aside = wal.aside();
        (wal, aside)
    }

    #[test]
    fn entries_are_taken_in_and_last_while_a_snapshot_is_written() {
        let disk = MemDisk::new();
        let (mut wal, aside) = under_way(&disk);
        let written = aside.write(&snapshot(2, 1));
        wal.append(vec![entry(4, 1)], None).unwrap();
        wal.sync().unwrap();
        assert_eq!(wal.snapshot().unwrap(), None, "nothing rests on it yet");
        wal.adopt(written).unwrap();
        lose_all(&disk);
        let (wal, recovered) = open(&disk);
        assert_eq!(recovered.snapshot, Some(snapshot(2, 1)));
        assert_eq!(held(&wal).len(), 4);
    }

    #[test]
    fn what_was_written_and_not_adopted_is_forgotten_by_the_next_start() {
        let disk = MemDisk::new();
        let (wal, aside) = under_way(&disk);
        aside.write(&snapshot(2, 1)).unwrap();
        drop(wal);
        assert_eq!(files(&disk, "aside").len(), 1);
        assert_eq!(open(&disk).1.snapshot, None);
        assert!(files(&disk, "aside").is_empty());
    }

    #[test]
    fn a_leaders_snapshot_that_came_meanwhile_stays_the_newest() {
        let disk = MemDisk::new();
        let (mut wal, aside) = under_way(&disk);
        let written = aside.write(&snapshot(3, 1));
        wal.install_snapshot(&snapshot(40, 2)).unwrap();
        assert!(matches!(wal.adopt(written).unwrap_err(), Error::Refused { .. }));
        assert_eq!(wal.snapshot().unwrap(), Some(snapshot(40, 2)));
        assert!(files(&disk, "aside").is_empty());
        wal.append(vec![entry(41, 2)], None).unwrap();
        assert_eq!(wal.last_index(), Index(41));
    }

    #[test]
    fn a_disk_that_fails_the_writer_closes_the_log() {
        let disk = MemDisk::new();
        let (mut wal, aside) = under_way(&disk);
        disk.fail_sync_after(0);
        let written = aside.write(&snapshot(2, 1));
        assert!(matches!(wal.adopt(written).unwrap_err(), Error::Io { .. }));
        let error = wal.append(vec![entry(4, 1)], None).unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    }
}
