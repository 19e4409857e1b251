//! What a node can be told to do next. Every action may be repeated until its effect is observed;
//! whoever carries it out must make a repetition harmless. Never says how it is done.

use common::id::AttemptId;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{LaunchOrder, Resized};

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeAction {
    /// End it: nobody wants it any more.
    Stop(AttemptId),
    /// Drop what is kept of it: it is over, and the controller knows.
    Forget(AttemptId),
    /// Hold it as ended without ever having run it, so that the controller need not wait for it.
    Decline(AttemptId, DeclineReason),
    /// It stands ready and all others of its gang do: run it.
    Go(AttemptId),
    /// Let its processes stand still.
    Suspend(AttemptId),
    /// Let them go on.
    Resume(AttemptId),
    /// Keep to this time limit from now on.
    Limit(AttemptId, Span),
    /// Tell it what it has since it was given another size.
    Resize(AttemptId, Box<Resized>),
    /// Prepare it. Never a second time for one attempt, never beside another attempt of its job.
    Launch(Box<LaunchOrder>),
}

impl NodeAction {
    /// The attempt it is about.
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
    /// It was to stop before it was launched.
    #[error("stopped before this node launched it")]
    StoppedBeforeLaunch,
    /// It came without an order, as if it ran here, and nothing of it is here.
    #[error("this node holds nothing of it and was sent no launch order: was its spool emptied?")]
    NotHeld,
    /// It was here before, ended, and was forgotten: it never runs a second time.
    #[error("this attempt ended on this node before and was forgotten")]
    EndedBefore,
    /// A newer attempt of the same job is wanted or was launched here: an older one never follows.
    #[error("this node already has a newer attempt of the same job")]
    Superseded,
}

impl DeclineReason {
    /// How its end is reported.
    #[must_use]
    pub const fn cause(self) -> EndCause {
        match self {
            Self::StoppedBeforeLaunch => EndCause::Stopped,
            Self::NotHeld | Self::EndedBefore => EndCause::Lost,
            Self::Superseded => EndCause::LaunchFailed,
        }
    }
}
