//! A snapshot written by another thread while the log accepts entries. Nothing depends on it until
//! the log adopts it.

use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::entry::EntryId;
use crate::error::{Error, Result};
use crate::file_names;
use crate::snapshot::Snapshot;

/// The right to write a snapshot. There must be only one at a time.
pub struct SnapshotWriter<D: Disk> {
    disk: Arc<D>,
}

/// A complete snapshot on disk under a temporary name.
#[derive(Debug)]
pub struct Written {
    pub(crate) tmp: &'static str,
    pub(crate) entry_id: EntryId,
}

impl<D: Disk> SnapshotWriter<D> {
    pub(crate) fn new(disk: Arc<D>) -> Self {
        SnapshotWriter { disk }
    }

    /// Writes the snapshot durably, for [`adopt`](crate::Wal::adopt_snapshot).
    ///
    /// # Errors
    /// [`Error::NoSpace`]: nothing is left of it. [`Error::Io`]: pass it to
    /// [`adopt`](crate::Wal::adopt_snapshot) too, which closes the log.
    pub fn write(self, snapshot: &Snapshot) -> Result<Written> {
        write(&*self.disk, file_names::WRITER_TMP, snapshot)
    }
}

/// Writes a snapshot durably under this name.
pub(crate) fn write<D: Disk>(disk: &D, tmp: &'static str, snapshot: &Snapshot) -> Result<Written> {
    let written = write_file(disk, tmp, snapshot);
    if let Err(Error::NoSpace { .. }) = written {
        // Free its space; the error that matters is the one returned.
        let _ = disk.remove(tmp);
    }
    written.map(|()| Written { tmp, entry_id: snapshot.entry_id() })
}

fn write_file<D: Disk>(disk: &D, tmp: &str, snapshot: &Snapshot) -> Result<()> {
    let place = || disk.display_path(tmp);
    let head = snapshot.encode_head();
    let file = disk.create(tmp).map_err(|e| Error::write_failed("create", place(), e))?;
    file.write_at(0, &head)
        .and_then(|()| file.write_at(head.len() as u64, &snapshot.payload))
        .map_err(|e| Error::write_failed("write", place(), e))?;
    file.sync().map_err(|e| Error::disk_failed("sync", place(), e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Index;
    use crate::test_data::{entry, entry_ids, files, filled, lose_all, open, snapshot};
    use crate::{MemDisk, Wal};

    fn under_way() -> (MemDisk, Wal<MemDisk>, SnapshotWriter<MemDisk>) {
        let (disk, wal) = filled(1..=3);
        let writer = wal.snapshot_writer();
        (disk, wal, writer)
    }

    #[test]
    fn entries_are_accepted_and_durable_while_a_snapshot_is_written() {
        let (disk, mut wal, writer) = under_way();
        let written = writer.write(&snapshot(2, 1));
        wal.append(vec![entry(4, 1)], None).unwrap();
        wal.sync().unwrap();
        assert_eq!(wal.snapshot().unwrap(), None, "it is not adopted yet");
        wal.adopt_snapshot(written).unwrap();
        lose_all(&disk);
        let (wal, recovered) = open(&disk);
        assert_eq!(recovered.snapshot, Some(snapshot(2, 1)));
        assert_eq!(entry_ids(&wal).len(), 4);
    }

    #[test]
    fn a_snapshot_that_was_not_adopted_is_removed_by_the_next_start() {
        let (disk, wal, writer) = under_way();
        writer.write(&snapshot(2, 1)).unwrap();
        drop(wal);
        assert_eq!(files(&disk, "aside").len(), 1);
        assert_eq!(open(&disk).1.snapshot, None);
        assert!(files(&disk, "aside").is_empty());
    }

    #[test]
    fn a_leaders_snapshot_that_was_installed_meanwhile_stays_the_newest() {
        let (disk, mut wal, writer) = under_way();
        let written = writer.write(&snapshot(3, 1));
        wal.install_snapshot(&snapshot(40, 2)).unwrap();
        assert!(matches!(wal.adopt_snapshot(written).unwrap_err(), Error::Refused { .. }));
        assert_eq!(wal.snapshot().unwrap(), Some(snapshot(40, 2)));
        assert!(files(&disk, "aside").is_empty());
        wal.append(vec![entry(41, 2)], None).unwrap();
        assert_eq!(wal.last_index(), Index(41));
    }

    #[test]
    fn a_disk_failure_of_the_writer_closes_the_log() {
        let (disk, mut wal, writer) = under_way();
        disk.fail_sync_after(0);
        let written = writer.write(&snapshot(2, 1));
        assert!(matches!(wal.adopt_snapshot(written).unwrap_err(), Error::Io { .. }));
        let error = wal.append(vec![entry(4, 1)], None).unwrap_err();
        assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    }
}
