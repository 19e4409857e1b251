//! The steps of a fair round, and what it does with a task. Never why.

use super::world::{JobAt, NodeAt};
use super::yielding::Why;

/// A step of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// What has room starts.
    Allocate,
    Consolidate,
    Reclaim,
    Preempt,
    /// Gangs short of tasks end.
    Stale,
}

impl Step {
    /// All, in the order in which they are taken.
    pub const ALL: [Self; 5] =
        [Self::Allocate, Self::Consolidate, Self::Reclaim, Self::Preempt, Self::Stale];
}

/// What a round does with a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// It starts there, on these devices.
    Start(NodeAt, Vec<usize>),
    /// It is promised this place: others are on their way out there.
    Reserve(NodeAt, Vec<usize>),
    /// It is stopped, for this job.
    Evict(Option<JobAt>, Why),
    /// It is stopped, and promised another place.
    Move(NodeAt, Vec<usize>, Option<JobAt>, Why),
}
