//! The steps of a fair-sharing round and the actions it can take on a task.

use super::world::{JobAt, NodeAt};
use super::yielding::Why;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Allocate,
    Consolidate,
    Reclaim,
    Preempt,
    /// Ends gangs that have been short of tasks for too long.
    Stale,
}

impl Step {
    /// All steps, in the order in which they are taken.
    pub const ALL: [Self; 5] =
        [Self::Allocate, Self::Consolidate, Self::Reclaim, Self::Preempt, Self::Stale];
}

/// What a round does with a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Starts the task on this node and these devices.
    Start(NodeAt, Vec<usize>),
    /// Reserves this place; the tasks that occupy it are leaving.
    Reserve(NodeAt, Vec<usize>),
    /// Stops the task, to make room for this job.
    Evict(Option<JobAt>, Why),
    /// Stops the task and reserves another place for it.
    Move(NodeAt, Vec<usize>, Option<JobAt>, Why),
}
