//! Reservations on the wire: what an operator asks for, and what there is. Never holds logic.

use crate::gpu::GpuKind;
use crate::id::{AccountName, JobKey, NodeName, ReservationName};
use crate::time::Time;
use crate::unit::{Gpus, Nodes};
use serde::{Deserialize, Serialize};

/// Books nodes (POST /v1/reservations; man scontrol, RESERVATIONS). Operators only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationRequest {
    /// Its name; none of another reservation that is not over.
    pub name: ReservationName,
    /// These nodes; empty: `node_count` of them, chosen by the controller.
    #[serde(default)]
    pub nodes: Vec<NodeName>,
    /// So many nodes, where none are named.
    #[serde(default)]
    pub node_count: Option<Nodes>,
    /// Whole nodes that have so many GPUs together, where none are named.
    #[serde(default)]
    pub gpus: Option<Gpus>,
    /// Only nodes with GPUs of this kind are chosen, and only those GPUs counted.
    #[serde(default)]
    pub gpu_kind: Option<GpuKind>,
    pub from: Time,
    pub to: Time,
    /// Flexible start: it may begin as late as this (and end as much later) if that finds nodes
    /// that are free; `None`: it begins at `from`.
    #[serde(default)]
    pub flexible_until: Option<Time>,
    /// Who may use it: names or numbers of users. Nobody named at all: everybody.
    #[serde(default)]
    pub users: Vec<String>,
    /// Names or numbers of groups.
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default)]
    pub accounts: Vec<AccountName>,
    /// A maintenance window: no job at all.
    #[serde(default)]
    pub maintenance: bool,
    /// A word about it.
    #[serde(default)]
    pub comment: String,
}

/// Changes a booking (POST /v1/reservations/{name}/update); what is not there stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReservationPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<NodeName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
    /// Names or numbers of users instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<String>>,
    /// Names or numbers of groups instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<AccountName>>,
    /// A maintenance window, or none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<bool>,
    /// Another word about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationView {
    pub name: ReservationName,
    pub nodes: Vec<NodeName>,
    pub from: Time,
    pub to: Time,
    /// Names of users, where the controller knows them, else numbers.
    #[serde(default)]
    pub users: Vec<String>,
    /// Names of groups, likewise.
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default)]
    pub accounts: Vec<AccountName>,
    #[serde(default)]
    pub maintenance: bool,
    /// The name of who made it.
    pub by: String,
    /// A word about it.
    #[serde(default)]
    pub comment: String,
    /// The jobs in it that are not over.
    #[serde(default)]
    pub jobs: Vec<JobKey>,
}

/// Reservations (GET /v1/reservations), and the answer to a request: the one that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationList {
    /// By their begin, then by name; none that is over.
    pub reservations: Vec<ReservationView>,
    /// The controller's time when it looked.
    pub as_of: Time,
    /// What is probably not meant, of the one that was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
