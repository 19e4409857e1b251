//! An invitation for a controller or for nodes to join, made by an operator for a limited time.
//! Only the hash of the secret is stored, so that a reader of the state or a backup cannot join
//! with it.

use common::id::{NodeName, Uid};
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The maximum number of open invitations.
pub const OPEN_MAX: usize = 1024;
/// The maximum number of nodes that one invitation names.
pub const NODES_MAX: usize = 20_000;
/// The maximum lifetime of an invitation.
pub const LASTS_MAX: Span = Span::from_seconds(7 * 86_400);

/// The characters of the hash that name an invitation to operators. They do not help to guess it.
pub const ID_CHARS: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    pub by: Uid,
    /// The time of expiry.
    pub until: Time,
    pub admits: Admits,
    /// The controller's address, or the name of the node, that used an invitation for one. Kept
    /// until the invitation expires, so that a lost answer can be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
}

impl Invitation {
    /// Whether a host may still join by it.
    #[must_use]
    pub fn is_unused(&self) -> bool {
        match &self.admits {
            Admits::Nodes(names) => !names.is_empty(),
            Admits::Controller | Admits::AnyNode => self.used_by.is_none(),
        }
    }
}

/// The hosts that may join by an invitation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admits {
    /// One controller.
    Controller,
    /// One node, whose name no other node has.
    AnyNode,
    /// Each of these nodes once. Those that have joined are no longer among them.
    Nodes(BTreeSet<NodeName>),
}
