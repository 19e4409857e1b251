//! The phase of a node's share of an attempt.

use common::job::{EndCause, ExitStatus};
use serde::{Deserialize, Serialize};

/// The phase of a node's share. It only moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SharePhase {
    /// The node has not reported that it knows the share.
    Unreported,
    /// The node prepares the share.
    Preparing,
    /// The node waits for permission to run it.
    Ready,
    /// Its processes run, or the node holds it for a process elsewhere.
    Running,
    /// The job goes on without it. The node ends what runs there and then releases it.
    Leaving,
    /// The node released it after its processes exited successfully on their own.
    Succeeded,
    /// The node released it after any other end.
    Failed,
}

impl SharePhase {
    /// Whether the node has released it.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// The final phase for an end.
    #[must_use]
    pub fn from_end(cause: EndCause, exit: ExitStatus) -> Self {
        if cause == EndCause::Exited && exit.is_success() { Self::Succeeded } else { Self::Failed }
    }
}
