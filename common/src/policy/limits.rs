//! Upper limits on concurrent use.

use crate::unit::{Cpus, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits on the jobs that hold resources at one time; `None`: unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    pub jobs: Option<u32>,
    /// A share of a GPU counts as that fraction.
    pub gpus: Option<Gpus>,
    pub cpus: Option<Cpus>,
    /// The GPU-minutes that running jobs may still use by their time limits (man sacctmgr,
    /// GrpTRESRunMins). A job without a time limit cannot start under this limit.
    pub gpu_minutes: Option<u64>,
}

impl Limits {
    /// Is every field unlimited?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
