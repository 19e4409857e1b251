//! Reasons why an invitation for a controller or a node is refused. They never reveal how close a
//! wrong secret was.

use crate::id::NodeName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why an invitation is not created or not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[serde(tag = "invitation", rename_all = "snake_case")]
pub enum InvitationRefusal {
    #[error("there is no such invitation, or it has expired")]
    Unknown,
    /// An invitation is valid once.
    #[error("this invitation was already used by the controller at {address}")]
    Used { address: String },
    #[error("this invitation was already used by node {name}")]
    UsedByNode { name: String },
    /// It names other nodes, or the node has used it.
    #[error("this invitation does not admit node {name}, or no longer")]
    NotForNode { name: NodeName },
    /// An invitation without names does not replace a node.
    #[error("there is already a node {name}")]
    NameTaken { name: NodeName },
    #[error("there is no invitation {id}, or it has expired")]
    NoSuchId { id: String },
    #[error("there are already {limit} invitations")]
    TooMany { limit: usize },
}

impl InvitationRefusal {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown | Self::NoSuchId { .. } => "no_invitation",
            Self::Used { .. } | Self::UsedByNode { .. } => "invitation_used",
            Self::NotForNode { .. } => "not_invited",
            Self::NameTaken { .. } => "name_taken",
            Self::TooMany { .. } => "too_many_invitations",
        }
    }

    /// What to do next.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unknown | Self::Used { .. } => {
                "an operator creates one with `kantctl admin controller invite`, or for a node \
                 with `kantctl admin node invite`, on the host of the leading controller"
            }
            Self::UsedByNode { .. } | Self::NotForNode { .. } => {
                "an operator creates one with `kantctl admin node invite NAME` on the host of the \
                 leading controller"
            }
            Self::NameTaken { .. } => {
                "to enrol this node again, an operator names it: `kantctl admin node invite NAME`"
            }
            Self::NoSuchId { .. } => "`kantctl admin invitation list` shows those that are open",
            Self::TooMany { .. } => {
                "wait until some expire, or withdraw some: `kantctl admin invitation list`"
            }
        }
    }
}
