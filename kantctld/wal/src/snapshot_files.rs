//! The snapshot files. They are written under a temporary name, synced and renamed; the last two
//! are kept. `recover` decides which of them a start uses.

use std::sync::Arc;

use crate::disk::{self, Disk};
use crate::entry::{EntryId, Index};
use crate::error::{Error, Result};
use crate::file_names;
use crate::snapshot::Snapshot;
use crate::snapshot_writer::{self, SnapshotWriter, Written};

/// The newest one, and one to fall back on if that is damaged.
const KEPT: usize = 2;

pub(crate) struct SnapshotFiles<D: Disk> {
    disk: Arc<D>,
    kept: Vec<Index>,
    /// Damaged ones; removed with the next snapshot, kept for diagnosis until then.
    damaged: Vec<Index>,
    newest: Option<EntryId>,
}

impl<D: Disk> SnapshotFiles<D> {
    pub fn new(disk: Arc<D>, kept: Vec<Index>) -> Self {
        SnapshotFiles { disk, kept, damaged: Vec::new(), newest: None }
    }

    /// The last entry of the newest one, once one was saved or chosen.
    pub fn newest(&self) -> Option<EntryId> {
        self.newest
    }

    /// The indices on disk, newest first.
    pub fn candidates(&self) -> Vec<Index> {
        self.kept.iter().rev().copied().collect()
    }

    pub fn display_path(&self, index: Index) -> String {
        self.disk.display_path(&file_names::snapshot(index))
    }

    /// Notes that recovery uses this snapshot; newer ones are damaged.
    pub fn set_chosen(&mut self, chosen: EntryId) {
        let newer = self.kept.partition_point(|&index| index <= chosen.index);
        self.damaged.extend(self.kept.drain(newer..));
        self.newest = Some(chosen);
    }

    /// Reads and verifies a snapshot.
    pub fn load(&self, index: Index) -> Result<Snapshot> {
        let name = file_names::snapshot(index);
        let place = self.disk.display_path(&name);
        let bytes = self.disk.open(&name).and_then(|file| disk::read_all(&file));
        match bytes {
            Ok(bytes) => Snapshot::decode(bytes, index, &place),
            Err(source) => Err(Error::disk_failed("read", place, source)),
        }
    }

    /// Writes a snapshot durably, then removes all but the last two.
    pub fn save(&mut self, snapshot: &Snapshot) -> Result<()> {
        let written = snapshot_writer::write(&*self.disk, file_names::SNAPSHOT_TMP, snapshot)?;
        self.adopt(&written)
    }

    /// A writer for another thread.
    pub fn snapshot_writer(&self) -> SnapshotWriter<D> {
        SnapshotWriter::new(self.disk.clone())
    }

    /// Makes a written snapshot the newest, durably, and removes all but the last two.
    pub fn adopt(&mut self, written: &Written) -> Result<()> {
        let Written { tmp, entry_id } = *written;
        let name = file_names::snapshot(entry_id.index);
        let renamed = self.disk.rename(tmp, &name);
        let renamed =
            renamed.map_err(|e| Error::write_failed("rename", self.disk.display_path(tmp), e));
        if let Err(Error::NoSpace { .. }) = renamed {
            // As if there had been no space to write it.
            let _ = self.disk.remove(tmp);
        }
        renamed?;
        self.disk
            .sync_dir()
            .map_err(|e| Error::disk_failed("sync", self.disk.display_path(""), e))?;
        self.kept.push(entry_id.index);
        self.newest = Some(entry_id);
        self.prune()
    }

    /// Removes a written snapshot that is not needed.
    pub fn discard(&self, written: &Written) -> Result<()> {
        let removed = self.disk.remove(written.tmp);
        removed.map_err(|e| Error::disk_failed("remove", self.disk.display_path(written.tmp), e))
    }

    /// Removes old snapshots. Not synced: a file that reappears after a crash is removed next time.
    fn prune(&mut self) -> Result<()> {
        let superfluous = self.kept.len().saturating_sub(KEPT);
        let old: Vec<Index> =
            self.kept.drain(..superfluous).chain(self.damaged.drain(..)).collect();
        for index in old {
            if self.kept.contains(&index) {
                continue; // a damaged one was just replaced by a good one of the same index
            }
            let name = file_names::snapshot(index);
            let removed = self.disk.remove(&name);
            removed.map_err(|e| Error::disk_failed("remove", self.disk.display_path(&name), e))?;
        }
        Ok(())
    }
}
