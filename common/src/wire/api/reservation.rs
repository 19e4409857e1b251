//! Reservations on the wire.

use crate::gpu::GpuKind;
use crate::id::{AccountName, JobKey, NodeName, ReservationName};
use crate::time::Time;
use crate::unit::{Gpus, Nodes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reserves nodes (POST /v1/reservations; man scontrol, RESERVATIONS). Operators only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationRequest {
    /// Must not be the name of a current or future reservation.
    pub name: ReservationName,
    /// If empty, the controller chooses `node_count` nodes.
    #[serde(default)]
    pub nodes: Vec<NodeName>,
    /// If no nodes are named: the number of nodes.
    #[serde(default)]
    pub node_count: Option<Nodes>,
    /// If no nodes are named: whole nodes with this number of GPUs in total.
    #[serde(default)]
    pub gpus: Option<Gpus>,
    /// Choose only nodes with GPUs of this kind, and count only those GPUs.
    #[serde(default)]
    pub gpu_kind: Option<GpuKind>,
    pub from: Time,
    pub to: Time,
    /// Flexible start: the latest begin, with an equally later end, if free nodes are found only
    /// then; `None`: it begins at `from`.
    #[serde(default)]
    pub flexible_until: Option<Time>,
    /// Names or uids. Without users, groups and accounts, all users have access.
    #[serde(default)]
    pub users: Vec<String>,
    /// Names or gids.
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default)]
    pub accounts: Vec<AccountName>,
    /// A maintenance window, in which no job runs.
    #[serde(default)]
    pub maintenance: bool,
    #[serde(default)]
    pub comment: String,
}

/// Changes a reservation (POST /v1/reservations/{name}/update); absent fields stay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReservationPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<NodeName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
    /// Names or uids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
    /// Names or gids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<AccountName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationView {
    pub name: ReservationName,
    pub nodes: Vec<NodeName>,
    pub from: Time,
    pub to: Time,
    /// Names, or uids of users that the controller does not know.
    #[serde(default)]
    pub users: Vec<String>,
    /// Names, or gids.
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default)]
    pub accounts: Vec<AccountName>,
    #[serde(default)]
    pub maintenance: bool,
    /// The name of the operator who created it.
    pub by: String,
    #[serde(default)]
    pub comment: String,
    /// Its unfinished jobs.
    #[serde(default)]
    pub jobs: Vec<JobKey>,
}

/// Reservations (GET /v1/reservations), and the answer to a request: the new reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationList {
    /// By begin, then by name; without those that have ended.
    pub reservations: Vec<ReservationView>,
    /// The controller's time of the answer.
    pub as_of: Time,
    /// Probable mistakes in the new reservation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
