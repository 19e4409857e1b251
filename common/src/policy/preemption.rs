//! Preemption settings of a queue: which jobs may be preempted, and the fate of the victims.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fate of a preempted job.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum VictimMode {
    /// It waits again as a new attempt, at its place in the order.
    #[default]
    Requeue,
    /// It ends as Preempted.
    Cancel,
}

/// Preemption in one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Preemption {
    /// Its jobs may preempt preemptible jobs of lower priority in the same queue.
    pub by_priority: bool,
    /// Its jobs, within its quota, may preempt jobs of queues that borrow.
    pub reclaim: bool,
    /// The default for its jobs (`--preemptible`, `--no-preemptible`).
    pub preemptible: bool,
    /// The fate of its jobs when they are preempted.
    pub victims: VictimMode,
    /// The run time before which a job is not preempted.
    pub runtime_min: Span,
}

impl Default for Preemption {
    fn default() -> Self {
        Self {
            by_priority: false,
            reclaim: true,
            preemptible: false,
            victims: VictimMode::Requeue,
            runtime_min: Span::from_seconds(0),
        }
    }
}
