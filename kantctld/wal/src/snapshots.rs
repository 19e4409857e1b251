//! The snapshot files: written beside, synced, renamed; the last two are kept.
//! Which of them a start may trust is decided in `recover`.

use std::sync::Arc;

use crate::aside::{self, Aside, Written};
use crate::disk::{self, Disk};
use crate::entry::{Index, Position};
use crate::error::{Error, Result};
use crate::names;
use crate::snapshot::Snapshot;

/// The newest, and one to fall back on should it turn out damaged.
const KEPT: usize = 2;

/// All snapshots of one log.
pub(crate) struct Snapshots<D: Disk> {
    disk: Arc<D>,
    kept: Vec<Index>,
    /// Set aside as damaged; removed with the next snapshot, kept for study until then.
    damaged: Vec<Index>,
    newest: Option<Position>,
}

impl<D: Disk> Snapshots<D> {
    pub fn new(disk: Arc<D>, kept: Vec<Index>) -> Self {
        Snapshots { disk, kept, damaged: Vec::new(), newest: None }
    }

    /// Where the newest stands, once one was saved or chosen.
    pub fn newest(&self) -> Option<Position> {
        self.newest
    }

    /// The indices on disk, newest first.
    pub fn candidates(&self) -> Vec<Index> {
        self.kept.iter().rev().copied().collect()
    }

    pub fn place(&self, index: Index) -> String {
        self.disk.place(&names::snapshot(index))
    }

    /// Recovery settled on this one; newer ones are damaged.
    pub fn choose(&mut self, chosen: Position) {
        let newer = self.kept.partition_point(|&index| index <= chosen.index);
        self.damaged.extend(self.kept.drain(newer..));
        self.newest = Some(chosen);
    }

    /// Reads and verifies one.
    pub fn load(&self, index: Index) -> Result<Snapshot> {
        let name = names::snapshot(index);
        let place = self.disk.place(&name);
        let bytes = self.disk.open(&name).and_then(|file| disk::read_all(&file));
        match bytes {
            Ok(bytes) => Snapshot::decode(bytes, index, &place),
            Err(source) => Err(Error::fatal("read", place, source)),
        }
    }

    /// Writes one durably, then removes what is older than the last two.
    pub fn save(&mut self, snapshot: &Snapshot) -> Result<()> {
        let written = aside::write(&*self.disk, names::SNAPSHOT_TMP, snapshot)?;
        self.adopt(&written)
    }

    /// One that another thread may write meanwhile.
    pub fn aside(&self) -> Aside<D> {
        Aside::new(self.disk.clone())
    }

    /// Makes one that was written the newest, durably, and removes what is older than the last two.
    pub fn adopt(&mut self, written: &Written) -> Result<()> {
        let Written { tmp, position } = *written;
        let name = names::snapshot(position.index);
        let renamed = self.disk.rename(tmp, &name);
        let renamed = renamed.map_err(|e| Error::write("rename", self.disk.place(tmp), e));
        if let Err(Error::NoSpace { .. }) = renamed {
            // As where there was no room to write it.
            let _ = self.disk.remove(tmp);
        }
        renamed?;
        self.disk.sync_dir().map_err(|e| Error::fatal("sync", self.disk.place(""), e))?;
        self.kept.push(position.index);
        self.newest = Some(position);
        self.prune()
    }

    /// Removes one that was written for nothing.
    pub fn discard(&self, written: &Written) -> Result<()> {
        let removed = self.disk.remove(written.tmp);
        removed.map_err(|e| Error::fatal("remove", self.disk.place(written.tmp), e))
    }

    /// Not synced: a superfluous file that comes back after a crash is removed next time.
    fn prune(&mut self) -> Result<()> {
        let superfluous = self.kept.len().saturating_sub(KEPT);
        let old: Vec<Index> =
            self.kept.drain(..superfluous).chain(self.damaged.drain(..)).collect();
        for index in old {
            if self.kept.contains(&index) {
                continue; // a damaged one was just replaced by a good one of the same index
            }
            let name = names::snapshot(index);
            let removed = self.disk.remove(&name);
            removed.map_err(|e| Error::fatal("remove", self.disk.place(&name), e))?;
        }
        Ok(())
    }
}
