//! Many jobs in one command. What they share stands in the log once.

use common::id::{Gid, NodeName, RequestKey};
use common::job::{Ask, Owner};
use serde::{Deserialize, Serialize};

/// Jobs of one user, each accepted or refused by itself: as many [`Event::JobSubmitted`] and
/// [`Event::SubmitRefused`] as there are jobs, in their order.
///
/// [`Event::JobSubmitted`]: crate::Event::JobSubmitted
/// [`Event::SubmitRefused`]: crate::Event::SubmitRefused
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManyJobs {
    pub owner: Owner,
    /// All groups of theirs.
    pub groups: Vec<Gid>,
    /// Are they an operator?
    pub operator: bool,
    /// The node that vouched for the user; `None`: they asked on a controller's own socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
    /// What they bring, named by their places.
    pub scripts: Vec<String>,
    /// Each `NAME=value`, each ended by NUL; named by their places.
    pub environments: Vec<String>,
    pub jobs: Vec<OneOfMany>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OneOfMany {
    /// A repeated key gives the same job again.
    pub request_key: RequestKey,
    pub ask: Ask,
    /// Its script's place among those that are brought.
    pub script: u32,
    pub environment: u32,
}
