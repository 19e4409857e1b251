//! The comparison of states: when a checksum is due, and what follows from those of the others. The
//! caller computes it concurrently with the log, as it writes snapshots.

use super::Replica;
use crate::error::LogError;
use crate::machine::Machine;
use crate::state_sums::StateSums;
use common::id::{ControllerId, LogIndex};
use common::wire::peer::StateSum;
use wal::Disk;

/// A copy of the state, of which the checksum is to be computed.
pub struct SumTask<M: Machine> {
    index: LogIndex,
    frozen: M::Frozen,
}

/// The outcome.
pub struct SumOutcome(Result<StateSum, String>);

impl<M: Machine> SumTask<M> {
    /// Computes the checksum; takes long with a large state.
    #[must_use]
    pub fn run(self) -> SumOutcome {
        let Self { index, frozen } = self;
        SumOutcome(M::checksum(&frozen).map(|sum| StateSum { index, sum }))
    }
}

/// Where the newest checksum is.
enum SumStage<M: Machine> {
    Idle,
    Ready(SumTask<M>),
    /// The caller computes it.
    Taken,
}

/// What a member knows of its own state and of those of the others.
pub(super) struct Comparison<M: Machine> {
    /// The number of entries between two comparisons.
    every: u64,
    pub sums: StateSums,
    stage: SumStage<M>,
    /// The index of the last snapshot from a leader.
    restored_at: u64,
}

impl<M: Machine> Comparison<M> {
    pub fn new(every: u64) -> Self {
        let (sums, stage) = (StateSums::default(), SumStage::Idle);
        Self { every: every.max(1), sums, stage, restored_at: 0 }
    }

    /// A snapshot of a leader has replaced the state.
    pub fn note_restored(&mut self, index: u64) {
        self.restored_at = index;
        self.sums.forget_own();
    }
}

impl<M: Machine, D: Disk, T> Replica<M, D, T> {
    /// A checksum that is to be computed and passed to [`Replica::record_checksum`].
    pub fn take_sum_task(&mut self) -> Option<SumTask<M>> {
        match std::mem::replace(&mut self.comparison.stage, SumStage::Taken) {
            SumStage::Ready(task) => Some(task),
            other => {
                self.comparison.stage = other;
                None
            }
        }
    }

    /// Notes a computed checksum. A comparison that is left out does no harm.
    pub fn record_checksum(&mut self, computed: SumOutcome) {
        self.comparison.stage = SumStage::Idle;
        match computed.0 {
            // A snapshot may have replaced the state meanwhile.
            Ok(sum) if sum.index.0 > self.comparison.restored_at => {
                self.comparison.sums.note_own(sum)
            }
            Ok(_) => {}
            Err(reason) => tracing::error!("failed to compute a checksum of the state: {reason}"),
        }
    }

    /// The checksum cannot be computed now.
    pub fn skip_sum(&mut self) {
        self.comparison.stage = SumStage::Idle;
    }

    /// Notes the checksum of another member's state.
    pub fn note_sum(&mut self, from: ControllerId, sum: StateSum) {
        self.comparison.sums.note(from.0, sum);
    }

    /// Copies the state if its checksum is due after this entry. All members choose the same
    /// entries; one that still computes the last checksum leaves an entry out.
    pub(super) fn begin_sum(&mut self, index: u64) {
        if index.is_multiple_of(self.comparison.every)
            && matches!(self.comparison.stage, SumStage::Idle)
        {
            let frozen = self.machine.freeze();
            self.comparison.stage = SumStage::Ready(SumTask { index: LogIndex(index), frozen });
        }
    }

    /// Compares this member's state with those of the others.
    pub(super) fn compare(&mut self) -> Result<(), LogError> {
        let members = &self.node.store().members;
        // During a change of voters there are two majorities.
        if members.is_joint() {
            return Ok(());
        }
        match self.comparison.sums.check(self.node.raft.id, &members.voters) {
            Some(index) => Err(LogError::Differs { index: index.0 }),
            None => Ok(()),
        }
    }
}
