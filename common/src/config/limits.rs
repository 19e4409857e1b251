//! Limits as a table has them, `limits = { jobs = 10, gpus = 64 }`.

use super::table::config_table;
use crate::policy::Limits;
use crate::unit::{Cpus, Gpus};

config_table! {
    /// Limits on the jobs that run at one time. What is not named has no limit.
    pub struct LimitsTable {
        /// Running jobs.
        jobs: Option<u32> = None,
        /// GPUs held; a share of a GPU counts as that share.
        gpus: Option<Gpus> = None,
        /// CPUs held.
        cpus: Option<Cpus> = None,
        /// Sum, over running jobs, of their GPUs times the minutes left of their time limits.
        gpu_minutes: Option<u64> = None,
    }
}

impl LimitsTable {
    /// As the policy has them.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        Limits { jobs: self.jobs, gpus: self.gpus, cpus: self.cpus, gpu_minutes: self.gpu_minutes }
    }
}
