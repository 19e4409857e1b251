//! The commands about services.

use common::id::{Gid, NodeName, Ordinal, Revision, RoleName, ServiceName};
use common::job::Owner;
use common::service::ServiceSpec;
use serde::{Deserialize, Serialize};

/// A specification that becomes the current revision of a service, which is created if there is
/// none of this name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    pub owner: Owner,
    /// All groups of the user, as resolved on the leader's host.
    pub groups: Vec<Gid>,
    /// Whether the user is an operator.
    pub operator: bool,
    /// The node that authenticated the user; `None` if the request came over a controller's own
    /// socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
    pub name: ServiceName,
    pub spec: ServiceSpec,
    /// The scripts and environments that the specification names by their hashes.
    pub texts: Vec<String>,
}

/// The place of a replica in its service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaPlace {
    pub role: RoleName,
    pub ordinal: Ordinal,
}

/// What a user does to a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceAction {
    Scale {
        role: RoleName,
        replicas: u32,
    },
    /// Makes an earlier revision the current one again.
    RollBack {
        /// `None`: the last one that was healthy before the current one.
        to: Option<Revision>,
    },
    /// Replaces no replica by one of another revision until it is resumed.
    Pause,
    /// Ends a pause, and lets replicas start again that failed too often.
    Resume,
    /// Lets the other replicas follow the canaries.
    Promote,
    /// Ends all replicas, and then removes the service.
    Stop,
}
