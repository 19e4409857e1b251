//! A job's word that its work is saved. Never whether it is.

use crate::id::JobKey;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// POST /v1/jobs/{key}/checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointAnswer {
    /// Of whom it holds: the job, all components of a set, or the tasks of an array that run.
    pub jobs: Vec<JobKey>,
    /// All that they did until then is saved: the controller's time.
    pub checkpoint_at: Time,
}
