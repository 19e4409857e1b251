//! The `[moves]` table.

use super::table::config_table;
use crate::policy::Moves;

config_table! {
    /// A running preemptible job is stopped and started again on other nodes if this makes room for
    /// a waiting job and each moved job has a new place (docs/fairness.md).
    pub struct MovesTable {
        /// The most jobs that are moved in any hour. 0: none.
        per_hour: u32 = Moves::default().per_hour,
        /// A job is not moved if it would lose more work than this, in GPU-minutes. Its work since
        /// its start, or since its last `kantctl checkpoint`, is lost.
        lost_gpu_minutes_max: u64 = Moves::default().lost_gpu_minutes_max,
    }
}

impl MovesTable {
    /// As the policy has it.
    #[must_use]
    pub const fn moves(&self) -> Moves {
        Moves { per_hour: self.per_hour, lost_gpu_minutes_max: self.lost_gpu_minutes_max }
    }
}
