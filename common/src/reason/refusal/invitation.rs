//! Reasons why an invitation for a new controller is refused. They never reveal how close a wrong
//! secret was.

use serde::{Deserialize, Serialize};

/// Why an invitation is not created or not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "invitation", rename_all = "snake_case")]
pub enum InvitationRefusal {
    #[error(
        "there is no such invitation, or it has expired: an operator creates one with `kantctl \
         admin controller invite` on the host of the leading controller"
    )]
    Unknown,
    /// An invitation is valid once.
    #[error(
        "this invitation was already used by the controller at {address}: an operator creates \
         another with `kantctl admin controller invite` on the host of the leading controller"
    )]
    Used { address: String },
    #[error("there are already {limit} invitations: wait until some expire")]
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
}
