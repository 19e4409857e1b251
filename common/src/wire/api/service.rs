//! Services on the wire.

use crate::autoscale::Outlook;
use crate::id::{JobKey, NodeName, Ordinal, Revision, RoleName, ServiceName};
use crate::job::{Phase, PortGrant, ReplicaHealth};
use crate::service::{Bounds, ServiceEvent, ServiceSpec, SpecError};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Deploys a service (POST /v1/services): a new one, or a new revision of an existing one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployRequest {
    pub name: ServiceName,
    pub spec: ServiceSpec,
    /// The scripts and environments that the specification names by their hashes.
    pub texts: Vec<String>,
    /// Deploy it even if its replicas fit no node.
    #[serde(default)]
    pub force: bool,
    /// Check it and say what would change, without changing anything.
    #[serde(default)]
    pub dry_run: bool,
}

/// Answers a [`DeployRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployAnswer {
    pub name: ServiceName,
    /// The revision that was deployed, or would be.
    pub revision: Revision,
    /// What would change, a line each; empty unless it was a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<String>,
}

/// Scales a role (POST /v1/services/{name}/scale).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleRequest {
    /// `None`: the only role.
    #[serde(default)]
    pub role: Option<RoleName>,
    pub replicas: u32,
}

/// Returns to an earlier revision (POST /v1/services/{name}/rollback).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RollbackRequest {
    /// `None`: the last healthy one before the current one.
    #[serde(default)]
    pub to: Option<Revision>,
}

/// GET /v1/services, GET /v1/services/{name}, and the answer to every change of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceList {
    pub services: Vec<ServiceView>,
    pub as_of: Time,
}

/// The state of a service as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceState {
    /// As wanted.
    Steady,
    /// Fewer replicas are ready than wanted.
    Degraded,
    /// An update is in progress.
    Updating,
    /// Canaries are healthy, and wait to be promoted.
    Canary,
    /// No replica is replaced until a user resumes it.
    Paused,
    /// It is being stopped.
    Stopping,
}

impl ServiceState {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Degraded => "degraded",
            Self::Updating => "updating",
            Self::Canary => "canary",
            Self::Paused => "paused",
            Self::Stopping => "stopping",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceView {
    pub name: ServiceName,
    pub user: String,
    pub state: ServiceState,
    pub revision: Revision,
    /// The last revision of which all replicas were healthy.
    pub healthy_revision: Option<Revision>,
    /// All revisions that are kept.
    pub revisions: Vec<Revision>,
    /// Its port on nodes that run a router.
    pub port: Option<u16>,
    pub created_at: Time,
    pub roles: Vec<RoleView>,
    /// The last events, the oldest first; only of one service.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ServiceEventView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleView {
    pub name: RoleName,
    pub bounds: Bounds,
    pub wanted: u32,
    pub ready: u32,
    /// What its autoscaling policy decided last, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscale: Option<String>,
    pub replicas: Vec<ReplicaView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicaView {
    pub ordinal: Ordinal,
    pub revision: Revision,
    pub job: JobKey,
    pub phase: Phase,
    /// What probes say; `None`: it does not run, or its node has not reported it yet.
    pub health: Option<ReplicaHealth>,
    pub ready_since: Option<Time>,
    pub node: Option<NodeName>,
    /// The address of its first node.
    pub host: Option<String>,
    pub ports: Vec<PortGrant>,
    /// Why its last probe failed, or why it waits.
    pub why: Option<String>,
}

impl ReplicaView {
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.health == Some(ReplicaHealth::Ready)
    }
}

/// An event with its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceEventView {
    #[serde(flatten)]
    pub event: ServiceEvent,
    pub text: String,
    /// The user that caused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Why a service has the replicas that it has (GET /v1/services/{name}/explain).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceExplanation {
    pub name: ServiceName,
    pub state: ServiceState,
    pub revision: Revision,
    pub roles: Vec<RoleExplanation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoleExplanation {
    pub name: RoleName,
    pub bounds: Bounds,
    pub wanted: u32,
    pub ready: u32,
    /// When the wanted number was set, if it was ever changed, and by what.
    pub set: (Option<Time>, String),
    /// What its autoscaling policy decided last, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The last figures that the policy got. `None`: it has no policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Outlook>,
    /// A line for each place without a ready replica.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl DeployRequest {
    /// Checks everything that needs no knowledge of the cluster.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), SpecError> {
        crate::service::check_spec(&self.spec)
    }
}
