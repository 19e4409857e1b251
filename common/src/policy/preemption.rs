//! Who may be made to yield, and what becomes of them. Never chooses a victim; `engine::preempt`
//! does.

use crate::time::Span;
use serde::{Deserialize, Serialize};

/// What becomes of a job that is made to yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VictimMode {
    /// It waits again, with its place in the order, as a new attempt.
    #[default]
    Requeue,
    /// It is over, as Preempted.
    Cancel,
}

/// Preemption in one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preemption {
    /// Its jobs may make preemptible jobs of lower priority in the same queue yield.
    pub by_priority: bool,
    /// Its jobs, within its quota, may make jobs of queues that borrow yield.
    pub reclaim: bool,
    /// Its jobs are preemptible unless they say otherwise (`--no-preemptible`).
    pub preemptible: bool,
    /// What becomes of its jobs when they yield.
    pub victims: VictimMode,
    /// A job that runs for less than this is left alone.
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
