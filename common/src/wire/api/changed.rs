//! What commands on jobs answer. Never what became of the jobs since.

use crate::id::JobKey;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What a command changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The jobs or array tasks it changed.
    #[serde(default)]
    pub jobs: Vec<JobKey>,
}

/// POST /v1/jobs/{key}/checkpoint: a job's word that its work is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointAnswer {
    /// Of whom it holds: the job, all components of a set, or the tasks of an array that run.
    pub jobs: Vec<JobKey>,
    /// All that they did until then is saved: the controller's time.
    pub checkpoint_at: Time,
}
