//! The actions of a node. An action is repeated until its effect is observed, so that carrying it
//! out must be idempotent.

use common::id::AttemptId;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{LaunchOrder, Resized};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeAction {
    /// End an attempt that is no longer wanted.
    Stop(AttemptId),
    /// Drop what is kept of an attempt that has ended, because the controller knows.
    Forget(AttemptId),
    /// Report an attempt as ended that never ran, so that the controller need not wait for it.
    Decline(AttemptId, DeclineReason),
    /// Run an attempt that is ready, as all others of its gang are.
    Go(AttemptId),
    Suspend(AttemptId),
    Resume(AttemptId),
    /// Apply this time limit.
    Limit(AttemptId, Span),
    /// Apply the job's new size.
    Resize(AttemptId, Box<Resized>),
    /// Prepare an attempt. Once for each attempt, and not next to another attempt of its job.
    Launch(Box<LaunchOrder>),
}

impl NodeAction {
    #[must_use]
    pub fn id(&self) -> AttemptId {
        match self {
            Self::Stop(id)
            | Self::Forget(id)
            | Self::Decline(id, _)
            | Self::Limit(id, _)
            | Self::Resize(id, _)
            | Self::Go(id)
            | Self::Suspend(id)
            | Self::Resume(id) => *id,
            Self::Launch(order) => order.id,
        }
    }
}

/// Why a wanted attempt is ended without having run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeclineReason {
    /// It was stopped before it was launched.
    #[error("stopped before this node launched it")]
    StoppedBeforeLaunch,
    /// It came without a launch order, as if it ran here, and the node does not have it.
    #[error("this node does not have it and was sent no launch order: was its spool emptied?")]
    NotHeld,
    /// It ended here and was forgotten; it must not run again.
    #[error("this attempt has ended on this node and was forgotten")]
    EndedBefore,
    /// A newer attempt of the same job is wanted or was launched here.
    #[error("this node already has a newer attempt of the same job")]
    Superseded,
}

impl DeclineReason {
    /// The cause that is reported to the controller.
    #[must_use]
    pub const fn cause(self) -> EndCause {
        match self {
            Self::StoppedBeforeLaunch => EndCause::Stopped,
            Self::NotHeld | Self::EndedBefore => EndCause::Lost,
            Self::Superseded => EndCause::LaunchFailed,
        }
    }
}
