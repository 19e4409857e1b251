//! Reasons why an invitation for a new controller is refused. They never reveal how close a wrong
//! secret was.

use serde::{Deserialize, Serialize};

/// Why an invitation is not created or not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "invitation", rename_all = "snake_case")]
pub enum InvitationRefusal {
    #[error("there is no such invitation, or it has expired")]
    Unknown,
    /// An invitation is valid once.
    #[error("this invitation was already used by the controller at {address}")]
    Used { address: String },
    #[error("there are already {limit} invitations")]
    TooMany { limit: usize },
}

impl InvitationRefusal {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "no_invitation",
            Self::Used { .. } => "invitation_used",
            Self::TooMany { .. } => "too_many_invitations",
        }
    }

    /// What to do next.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unknown | Self::Used { .. } => {
                "an operator creates one with `kantctl admin controller invite` on the host of the \
                 leading controller"
            }
            Self::TooMany { .. } => "wait until some expire",
        }
    }
}
