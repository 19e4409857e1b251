//! Controllers: how they stand, and joining them. Never holds logic.

use crate::id::{ClusterId, ControllerId, LogIndex};
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// How the controllers stand, as one of them sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerList {
    pub cluster: ClusterId,
    pub answering: ControllerId,
    /// Who leads, as far as that one knows.
    pub leader: Option<ControllerId>,
    /// The election it knows of.
    pub term: u64,
    /// The last log entry decided, as far as it knows.
    pub committed: LogIndex,
    /// A change of voters is under way.
    pub changing: bool,
    /// Those that take part, by number.
    pub controllers: Vec<ControllerView>,
    /// Of those that answered: who is reached elsewhere than the others know yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moving: Vec<ControllerId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerView {
    /// Its number, never given twice.
    pub id: ControllerId,
    pub name: String,
    /// Where others reach it.
    pub address: String,
    pub role: ControllerRole,
    /// The last log entry it is known to hold; only a leader knows that of others.
    pub holds: Option<LogIndex>,
    /// Entries decided that it is not known to hold.
    pub behind: Option<u64>,
    /// The leader heard from it lately.
    pub heard: Option<bool>,
    /// It is being sent a snapshot.
    #[serde(default)]
    pub gets_snapshot: bool,
}

/// What a controller does in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControllerRole {
    /// It decides, with a majority.
    Leader,
    Voter,
    /// It keeps a copy; it becomes a voter once it has caught up.
    Joining,
    /// It keeps a copy and does not vote.
    Learner,
}

/// Asks to become one of the controllers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// [`crate::wire::peer::PEER_PROTOCOL`] of the asker.
    pub protocol: u32,
    pub release: String,
    pub name: String,
    /// Where the others are to reach it.
    pub address: String,
    /// It stays without a vote.
    pub learner: bool,
    /// The secret of an invitation; empty: none.
    #[serde(default)]
    pub invitation: String,
    /// It takes the place of this one, whose log is lost.
    #[serde(default)]
    pub replaces: Option<ControllerId>,
    /// Of this cluster only, if it was one of it before.
    #[serde(default)]
    pub cluster: Option<ClusterId>,
    pub now: Time,
}

/// It is one now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAnswer {
    pub cluster: ClusterId,
    pub id: ControllerId,
    pub release: String,
}

/// Asks for an invitation, by which one more controller may join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteRequest {
    /// How long it is good.
    pub lasts: Span,
}

/// An invitation. It is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InviteAnswer {
    /// The secret, for `kantctld join --invitation`.
    pub invitation: String,
    /// Good before this time.
    pub until: Time,
    /// Where the new controller is to ask; empty where no other host reaches this one.
    pub address: String,
}
