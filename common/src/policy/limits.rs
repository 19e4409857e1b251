//! Upper bounds on what somebody may have at once. Never counts anything; `engine::admit` does.

use crate::unit::{Cpus, Gpus};
use serde::{Deserialize, Serialize};

/// Bounds on the jobs that hold resources at one time; each `None`: no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub jobs: Option<u32>,
    /// GPUs held; a share of a GPU counts as that share.
    pub gpus: Option<Gpus>,
    pub cpus: Option<Cpus>,
    /// GPU-minutes that running jobs may still use by their time limits (man sacctmgr,
    /// GrpTRESRunMins). A job without a time limit has no part in it and is not let in.
    pub gpu_minutes: Option<u64>,
}

impl Limits {
    /// Is there no bound at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
