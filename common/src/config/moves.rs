//! The `[moves]` table. Never moves a job.

use super::table::config_table;
use crate::policy::Moves;

config_table! {
    /// With `fair_sharing`: preemptible jobs that run are stopped and start again on other nodes,
    /// if a job that waits has room then and everybody has a place (docs/fairness.md).
    pub struct MovesTable {
        /// So many jobs are moved in any hour, at most; 0: none.
        per_hour: u32 = Moves::default().per_hour,
        /// A job that has used more GPU time than this since it started, or since it last said that
        /// its work is saved (`kantctl checkpoint`), is left where it is, in minutes of one GPU: it
        /// would begin anew from there.
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
