//! Nodes as users see them, and the request to drain one.

use crate::health::Finding;
use crate::id::{DataName, JobKey, NodeName};
use crate::node::{Contact, Drain, Inventory, NodeStatus, Resumed};
use crate::time::Time;
use crate::unit::{Bytes, Cpus, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    pub name: NodeName,
    /// The Slurm state.
    pub status: NodeStatus,
    pub contact: Contact,
    pub drain: Option<Drain>,
    /// The last time that an operator resumed it.
    #[serde(default)]
    pub resumed: Option<Resumed>,
    pub inventory: Inventory,
    pub cpus_used: Cpus,
    pub memory_used: Bytes,
    pub gpus_used: Gpus,
    pub jobs: Vec<JobKey>,
    /// A name or address at which other nodes reach it.
    pub address: String,
    pub version: String,
    /// The node's own health findings.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The data sets and models that it has, for `--data`. GET /v1/nodes omits them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataName>,
    /// Since when its certificates have been invalid, if an operator revoked them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeList {
    pub nodes: Vec<NodeView>,
    /// The controller's time of the answer.
    pub as_of: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DrainRequest {
    /// Shown in `kantctl nodes`.
    pub reason: String,
}
