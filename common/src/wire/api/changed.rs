//! Answers to commands on jobs and nodes.

use crate::id::{JobKey, NodeName};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The effect of a command on jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The changed jobs and array tasks.
    #[serde(default)]
    pub jobs: Vec<JobKey>,
}

/// The effect of a command on nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedNodes {
    pub nodes: Vec<NodeName>,
}

/// Answer to POST /v1/jobs/{key}/checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointAnswer {
    /// The job, all components of a het job, or the running tasks of an array.
    pub jobs: Vec<JobKey>,
    /// The controller's time of the checkpoint.
    pub checkpoint_at: Time,
}
