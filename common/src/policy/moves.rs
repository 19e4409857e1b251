//! The budget for moving running jobs to make room for others.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The period that the budget applies to.
pub const MOVES_COUNTED: Span = Span::from_minutes(60);

/// The time for which nodes are reserved for a moving job after its planned end, for cleanup and
/// its restart.
pub const MOVE_KEPT: Span = Span::from_minutes(15);

/// The budget of moves under fair sharing. A moved job is stopped, and restarts from its own
/// checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Moves {
    /// The maximum number in any hour; 0: none.
    pub per_hour: u32,
    /// The maximum GPU time that a move may lose, in minutes of one GPU: the time since the job's
    /// start or last checkpoint. A job with more is not moved.
    pub lost_gpu_minutes_max: u64,
}

impl Moves {
    /// Are moves disabled?
    #[must_use]
    pub const fn is_off(&self) -> bool {
        self.per_hour == 0
    }
}

impl Default for Moves {
    fn default() -> Self {
        Self { per_hour: 0, lost_gpu_minutes_max: 60 }
    }
}
