//! The comparison of states: when a checksum is due, and what follows from those of the others. The
//! caller computes it concurrently with the log, as it writes snapshots.

use super::Replica;
use crate::error::LogError;
use crate::machine::Machine;
use common::id::{ControllerId, LogIndex};
use common::wire::peer::StateSum;
use wal::Disk;

/// A copy of the state, of which the checksum is to be computed.
pub struct SumTask<M: Machine> {
    index: LogIndex,
    frozen: M::Frozen,
}

/// The outcome.
pub struct SumOutcome(Result<StateSum, LogError>);

impl<M: Machine> SumTask<M> {
    /// Computes the checksum; takes long with a large state.
    #[must_use]
    pub fn run(self) -> SumOutcome {
        let Self { index, frozen } = self;
        let sum = M::checksum(&frozen);
        SumOutcome(match sum {
            Ok(sum) => Ok(StateSum { index, sum }),
            Err(reason) => Err(LogError::Save { index: index.0, reason }),
        })
    }
}

/// Where the newest checksum is.
pub(super) enum SumStage<M: Machine> {
    Idle,
    Ready(SumTask<M>),
    /// The caller computes it.
    Taken,
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// A checksum that is to be computed and passed to [`Replica::finish_sum`].
    pub fn take_sum_task(&mut self) -> Option<SumTask<M>> {
        match std::mem::replace(&mut self.sum_stage, SumStage::Taken) {
            SumStage::Ready(task) => Some(task),
            other => {
                self.sum_stage = other;
                None
            }
        }
    }

    /// Notes a computed checksum.
    ///
    /// # Errors
    /// [`LogError::Save`] if the state could not be encoded.
    pub fn finish_sum(&mut self, computed: SumOutcome) -> Result<(), LogError> {
        self.sum_stage = SumStage::Idle;
        self.sums.note_own(computed.0?);
        Ok(())
    }

    /// Notes the checksum of another member's state.
    pub fn note_sum(&mut self, from: ControllerId, sum: StateSum) {
        self.sums.note(from.0, sum);
    }

    /// Copies the state if its checksum is due after this entry. All members choose the same
    /// entries; one that still computes the last checksum leaves an entry out.
    pub(super) fn begin_sum(&mut self, index: u64) {
        if index.is_multiple_of(self.compare_every) && matches!(self.sum_stage, SumStage::Idle) {
            let frozen = self.machine.freeze();
            self.sum_stage = SumStage::Ready(SumTask { index: LogIndex(index), frozen });
        }
    }

    /// Compares this member's state with those of the others.
    pub(super) fn compare(&mut self) -> Result<(), LogError> {
        let (me, leader) = (self.node.raft.id, self.node.raft.leader_id);
        let voters = &self.node.store().members.voters;
        match self.sums.tick(me, voters, leader) {
            Some(index) => Err(LogError::Differs { index: index.0 }),
            None => Ok(()),
        }
    }
}
