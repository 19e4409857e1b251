//! Snapshots: when one is due, and how it comes to be the newest. Written down and put on the disk
//! beside the log, by whoever drives the replica: a large state takes as long as an election.
//! Never applies an entry.
//!
//! ```text
//! settle, due: freeze ─> take_saving ─> Saving::run (another thread) ─> note_saved ─> settle
//! ```

use crate::error::{LogError, StoreError};
use crate::machine::Machine;
use crate::members::Members;
use crate::payload;
use crate::replica::Replica;
use wal::{Aside, Disk, Index, Position, Written};

/// A snapshot to be written down.
pub struct Saving<M: Machine, D: Disk> {
    frozen: M::Frozen,
    members: Members,
    position: Position,
    aside: Aside<D>,
}

/// What came of it.
pub struct Saved {
    index: u64,
    bytes: u64,
    written: Result<Result<Written, wal::Error>, LogError>,
}

impl<M: Machine, D: Disk> Saving<M, D> {
    /// Does it. Takes long with a large state.
    #[must_use]
    pub fn run(self) -> Saved {
        let Self { frozen, members, position, aside } = self;
        let Position { index, term } = position;
        let down = M::write_down(&frozen);
        let payload = down
            .map_err(|reason| LogError::Save { index: index.0, reason })
            .and_then(|state| Ok(payload::join(&members, &state)?));
        match payload {
            Ok(payload) => {
                let bytes = payload.len() as u64;
                let written = aside.write(&wal::Snapshot { index, term, payload });
                Saved { index: index.0, bytes, written: Ok(written) }
            }
            Err(error) => Saved { index: index.0, bytes: 0, written: Err(error) },
        }
    }
}

/// Where the replica is with its next snapshot.
pub(crate) enum Turn<M: Machine, D: Disk> {
    /// None is under way.
    Idle,
    /// To be taken by who drives.
    Begun(Saving<M, D>),
    Taken,
    /// To be made the newest.
    Back(Saved),
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// A snapshot that is to be written: run it, on another thread if it may take long, and tell
    /// [`Replica::note_saved`]. There is one at a time.
    pub fn take_saving(&mut self) -> Option<Saving<M, D>> {
        match std::mem::replace(&mut self.turn, Turn::Taken) {
            Turn::Begun(saving) => Some(saving),
            other => {
                self.turn = other;
                None
            }
        }
    }

    /// A snapshot was written, or could not be. It counts from the next [`Replica::settle`] on.
    pub fn note_saved(&mut self, saved: Saved) {
        self.turn = Turn::Back(saved);
    }

    /// Makes what was written the newest snapshot, and begins another one if it is due.
    pub(crate) fn keep_snapshots(&mut self) -> Result<(), LogError> {
        self.turn = match std::mem::replace(&mut self.turn, Turn::Idle) {
            Turn::Back(saved) => {
                self.adopt(saved)?;
                Turn::Idle
            }
            other => other,
        };
        if matches!(self.turn, Turn::Idle) && self.is_snapshot_due() {
            let store = self.node.store();
            let index = Index(self.applied);
            let term = store.wal.term(index).map_err(StoreError::from)?;
            let frozen = self.machine.freeze();
            let position = Position { index, term };
            let (members, aside) = (store.members.clone(), store.wal.aside());
            self.turn = Turn::Begun(Saving { frozen, members, position, aside });
            // Where there is no room, it is tried again after as much again.
            self.unsaved_bytes = 0;
        }
        Ok(())
    }

    /// A start reads the snapshot and what came after it. Neither is to be much more than the
    /// other: with fewer snapshots a start takes longer, and with more of them the disk writes the
    /// same again and again.
    fn is_snapshot_due(&self) -> bool {
        let store = self.node.store();
        let many = self.applied >= store.snapshot_index + self.snapshot_every;
        let much = self.unsaved_bytes > self.snapshot_bytes_min.max(store.snapshot_bytes);
        let is_wanted = store.wants_snapshot.get() && self.applied > store.snapshot_index;
        is_wanted || much || many && self.applied >= self.snapshot_not_before
    }

    fn adopt(&mut self, saved: Saved) -> Result<(), LogError> {
        let Saved { index, bytes, written } = saved;
        match self.node.mut_store().adopt_snapshot(index, bytes, written?) {
            Ok(true) => tracing::debug!("saved a snapshot at log index {index}"),
            Ok(false) => tracing::debug!("the leader's snapshot is newer than that of {index}"),
            Err(StoreError::Wal(error @ wal::Error::NoSpace { .. })) => {
                tracing::error!("no snapshot, the log grows: {error}");
                self.snapshot_not_before = self.applied + self.snapshot_every;
                self.node.store().wants_snapshot.set(false);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
