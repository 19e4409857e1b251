//! How often running jobs are moved so that others have room. Never moves one; `engine::fair` does.

use crate::time::Span;
use serde::{Deserialize, Serialize};

/// The budget is for so long.
pub const MOVES_COUNTED: Span = Span::from_minutes(60);

/// A place is kept so long for a job that moves, from when it should have ended: it has to be
/// cleaned up after, and to start again.
pub const MOVE_KEPT: Span = Span::from_minutes(15);

/// The budget of moves, where queues share fairly. A job that moves is stopped, and starts again
/// from what it saved itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Moves {
    /// So many in any hour; 0: none.
    pub per_hour: u32,
    /// A job that has used more GPU time than this since it started, or said that its work is
    /// saved, stays: in minutes of one GPU.
    pub lost_gpu_minutes_max: u64,
}

impl Moves {
    /// As it is where nobody says anything: not written down.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Is nobody ever moved?
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
