//! The controllers, their states, and requests to join them.

use super::enrolment::Secret;
use crate::id::{ClusterId, ControllerId, LogIndex};
use crate::rules_level::RulesLevels;
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The controllers' states as one of them sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerList {
    pub cluster: ClusterId,
    pub answering: ControllerId,
    /// The leader, if that controller knows it.
    pub leader: Option<ControllerId>,
    pub term: u64,
    /// The last committed log entry that it knows.
    pub committed: LogIndex,
    /// A change of voters is in progress.
    pub changing: bool,
    /// The members, in the order of their ids.
    pub controllers: Vec<ControllerView>,
    /// Controllers that answered, and have an address that the others do not know yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moving: Vec<ControllerId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControllerView {
    /// Ids are never reused.
    pub id: ControllerId,
    pub name: String,
    /// The address for other controllers.
    pub address: String,
    pub role: ControllerRole,
    /// The last log entry that it is known to hold; only the leader knows it for others.
    pub holds: Option<LogIndex>,
    /// The number of committed entries that it is not known to hold.
    pub behind: Option<u64>,
    /// The leader had contact with it recently.
    pub heard: Option<bool>,
    /// It is receiving a snapshot.
    #[serde(default)]
    pub gets_snapshot: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControllerRole {
    /// It decides, with a majority.
    Leader,
    Voter,
    /// It keeps a copy, and becomes a voter once it has caught up.
    Joining,
    /// It keeps a copy and does not vote.
    Learner,
}

/// A request to become one of the controllers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JoinRequest {
    /// The newest version of the protocol between controllers that the sender speaks.
    pub protocol: u32,
    /// The oldest one; `None`: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_protocol: Option<u32>,
    pub release: String,
    /// The rules levels that its release can apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<RulesLevels>,
    pub name: String,
    /// The address for other controllers.
    pub address: String,
    /// It remains without a vote.
    pub learner: bool,
    /// The secret of an invitation; empty: none.
    #[serde(default)]
    pub invitation: Secret,
    /// It replaces this controller, which lost its log.
    #[serde(default)]
    pub replaces: Option<ControllerId>,
    /// If it was a controller before: accept only this cluster.
    #[serde(default)]
    pub cluster: Option<ClusterId>,
    pub now: Time,
}

/// The sender is now a controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JoinAnswer {
    pub cluster: ClusterId,
    pub id: ControllerId,
    pub release: String,
    /// The cluster key.
    #[serde(default)]
    pub key: Secret,
}

/// A request for an invitation for one more controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InviteRequest {
    /// The validity period.
    pub lasts: Span,
}

/// An invitation, shown only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InviteAnswer {
    /// The secret, for `kantctld join` or `kantd join`.
    pub invitation: Secret,
    /// The time of expiry.
    pub until: Time,
    /// The address for the new controller's request; empty if no other host reaches this one.
    pub address: String,
}
