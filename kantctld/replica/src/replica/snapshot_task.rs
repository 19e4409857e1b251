//! Snapshots: when one is due, and how it becomes the newest. The caller encodes and writes it
//! concurrently with the log, because that can take as long as an election with a large state.
//!
//! ```text
//! settle, due: freeze ─> take_snapshot_task ─> SnapshotTask::run (another thread)
//!                                              ─> finish_snapshot ─> settle
//! ```

use super::Replica;
use crate::error::{LogError, StoreError};
use crate::machine::Machine;
use crate::members::Members;
use crate::snapshot_payload;
use wal::{Disk, EntryId, Index, SnapshotWriter, Written};

/// A snapshot to be written.
pub struct SnapshotTask<M: Machine, D: Disk> {
    frozen: M::Frozen,
    members: Members,
    entry_id: EntryId,
    writer: SnapshotWriter<D>,
}

/// The outcome.
pub struct SnapshotOutcome {
    index: u64,
    bytes: u64,
    written: Result<Result<Written, wal::Error>, LogError>,
}

impl<M: Machine, D: Disk> SnapshotTask<M, D> {
    /// Encodes and writes the snapshot; takes long with a large state.
    #[must_use]
    pub fn run(self) -> SnapshotOutcome {
        let Self { frozen, members, entry_id, writer } = self;
        let EntryId { index, term } = entry_id;
        let down = M::encode_snapshot(&frozen);
        let payload = down
            .map_err(|reason| LogError::Save { index: index.0, reason })
            .and_then(|state| Ok(snapshot_payload::join(&members, &state)?));
        match payload {
            Ok(payload) => {
                let bytes = payload.len() as u64;
                let written = writer.write(&wal::Snapshot { index, term, payload });
                SnapshotOutcome { index: index.0, bytes, written: Ok(written) }
            }
            Err(error) => SnapshotOutcome { index: index.0, bytes: 0, written: Err(error) },
        }
    }
}

/// The stage of the next snapshot.
pub(super) enum SnapshotStage<M: Machine, D: Disk> {
    Idle,
    /// To be taken by the caller.
    Ready(SnapshotTask<M, D>),
    Running,
    /// Written, to be made the newest.
    Written(SnapshotOutcome),
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// Takes a snapshot that is to be written: run it, on another thread if it may take long, and
    /// pass the outcome to [`Replica::finish_snapshot`]. There is one at a time.
    pub fn take_snapshot_task(&mut self) -> Option<SnapshotTask<M, D>> {
        match std::mem::replace(&mut self.snapshot_stage, SnapshotStage::Running) {
            SnapshotStage::Ready(saving) => Some(saving),
            other => {
                self.snapshot_stage = other;
                None
            }
        }
    }

    /// Notes the outcome of a snapshot. It takes effect with the next [`Replica::process_ready`].
    pub fn finish_snapshot(&mut self, saved: SnapshotOutcome) {
        self.snapshot_stage = SnapshotStage::Written(saved);
    }

    /// Makes a written snapshot the newest, and starts another one if it is due.
    pub(super) fn advance_snapshot(&mut self) -> Result<(), LogError> {
        self.snapshot_stage = match std::mem::replace(&mut self.snapshot_stage, SnapshotStage::Idle)
        {
            SnapshotStage::Written(saved) => {
                self.adopt(saved)?;
                SnapshotStage::Idle
            }
            other => other,
        };
        if matches!(self.snapshot_stage, SnapshotStage::Idle) && self.is_snapshot_due() {
            let store = self.node.store();
            let index = Index(self.applied);
            let term = store.wal.term(index).map_err(StoreError::from)?;
            let frozen = self.machine.freeze();
            let entry_id = EntryId { index, term };
            let (members, writer) = (store.members.clone(), store.wal.snapshot_writer());
            self.snapshot_stage =
                SnapshotStage::Ready(SnapshotTask { frozen, members, entry_id, writer });
            // If the disk is full, the next attempt follows after as many entries.
            self.unsaved_bytes = 0;
        }
        Ok(())
    }

    /// Whether a snapshot is due. A start reads the snapshot and replays the entries after it, and
    /// neither should be much larger than the other: fewer snapshots make starts slower, more of
    /// them write the same state again and again.
    fn is_snapshot_due(&self) -> bool {
        let store = self.node.store();
        let many = self.applied >= store.snapshot_index + self.snapshot_every;
        let much = self.unsaved_bytes > self.snapshot_bytes_min.max(store.snapshot_bytes);
        let is_wanted = store.wants_snapshot.get() && self.applied > store.snapshot_index;
        is_wanted || much || many && self.applied >= self.snapshot_not_before
    }

    fn adopt(&mut self, saved: SnapshotOutcome) -> Result<(), LogError> {
        let SnapshotOutcome { index, bytes, written } = saved;
        match self.node.mut_store().adopt_snapshot(index, bytes, written?) {
            Ok(true) => tracing::debug!("saved a snapshot at log index {index}"),
            Ok(false) => tracing::debug!("the leader's snapshot is newer than that of {index}"),
            Err(StoreError::Wal(error @ wal::Error::NoSpace { .. })) => {
                tracing::error!("failed to save a snapshot, so the log grows: {error}");
                self.snapshot_not_before = self.applied + self.snapshot_every;
                self.node.store().wants_snapshot.set(false);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
