//! How far one node is with its share of an attempt. Never says what that means for the job:
//! `life` does.

use common::job::{EndCause, ExitStatus};
use serde::{Deserialize, Serialize};

/// How far a node's share of an attempt is. Only ever moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SharePhase {
    /// The node has not said that it knows of it.
    Unreported,
    /// The node makes ready.
    Preparing,
    /// The node waits for the word to run.
    Ready,
    /// Its processes run, or the node holds it for a process elsewhere.
    Running,
    /// Its job goes on without it: the node is to end what runs there, and lets go of it.
    Leaving,
    /// The node let go of it, after its processes exited by themselves with success.
    Succeeded,
    /// The node let go of it, after any other end.
    Failed,
}

impl SharePhase {
    /// The node has let go of it.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    /// The share's last phase for an end.
    #[must_use]
    pub fn ended(cause: EndCause, exit: ExitStatus) -> Self {
        if cause == EndCause::Exited && exit.is_success() { Self::Succeeded } else { Self::Failed }
    }
}
