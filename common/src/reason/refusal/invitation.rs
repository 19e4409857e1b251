//! Why an invitation to controllers is refused. Never says whether a secret was nearly right.

use serde::{Deserialize, Serialize};

/// Why an invitation is not made, or lets no controller in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "invitation", rename_all = "snake_case")]
pub enum InvitationRefusal {
    /// There is none, or its time is over.
    #[error(
        "there is no such invitation, or its time is over: an operator makes one with `kantctl \
         admin controller invite` on the host of the controller that leads"
    )]
    Unknown,
    /// It is good once.
    #[error(
        "this invitation was used already, by the controller at {address}: an operator makes \
         another with `kantctl admin controller invite` on the host of the controller that leads"
    )]
    Used { address: String },
    /// There are too many.
    #[error("there are {limit} invitations already: wait until the time of some is over")]
    TooMany {
        /// The most there may be.
        limit: usize,
    },
}

impl InvitationRefusal {
    /// A stable word for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "no_invitation",
            Self::Used { .. } => "invitation_used",
            Self::TooMany { .. } => "too_many_invitations",
        }
    }
}
