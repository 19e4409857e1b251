//! Jobs that hold GPUs and do not use them.

use super::JobView;
use crate::id::NodeName;
use crate::time::{Span, Time};
use crate::unit::Gpus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A selection of jobs with idle GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleGpuQuery {
    /// Only GPUs that have been idle for this many seconds.
    pub seconds: u64,
}

impl IdleGpuQuery {
    /// The default: a pause of ten minutes is rarely a part of the work.
    pub const SECONDS: u64 = 600;

    #[must_use]
    pub const fn span(self) -> Span {
        Span::from_seconds(self.seconds)
    }
}

impl Default for IdleGpuQuery {
    fn default() -> Self {
        Self { seconds: Self::SECONDS }
    }
}

/// The running jobs with idle GPUs (GET /v1/idle-gpus).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleGpuList {
    /// The jobs with the most idle GPUs first.
    pub jobs: Vec<IdleJob>,
    /// The controller's time of the answer.
    pub as_of: Time,
}

/// A running job with idle GPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleJob {
    pub job: JobView,
    pub idle_gpus: Gpus,
    /// Since when all of these have been idle.
    pub idle_since: Time,
    /// The nodes of these GPUs.
    pub idle_nodes: Vec<NodeName>,
}
