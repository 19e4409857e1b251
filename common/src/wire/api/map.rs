//! The cluster as a map: nodes by leaf group, and the jobs of each GPU.

use crate::id::{JobKey, NodeName, QueueName, SwitchName};
use crate::node::NodeStatus;
use crate::serde_skip::is_default;
use crate::time::Time;
use crate::unit::Cpus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GET /v1/map
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClusterMap {
    pub as_of: Time,
    /// By name; nodes without a known leaf last.
    pub groups: Vec<MapGroup>,
    /// The jobs that hold resources, by key. Nodes refer to them by position.
    pub jobs: Vec<MapJob>,
}

/// The nodes below one leaf switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapGroup {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<SwitchName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spine: Option<SwitchName>,
    /// By name.
    pub nodes: Vec<MapNode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapNode {
    pub name: NodeName,
    pub status: NodeStatus,
    /// Why it takes no jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub cpus: Cpus,
    pub cpus_used: Cpus,
    /// For each GPU, the positions of its jobs in [`ClusterMap::jobs`]; several share a GPU.
    pub gpus: Vec<Vec<u32>>,
    /// The positions of its jobs without GPUs there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub others: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MapJob {
    /// Job 0, which does not exist, stands for all jobs that are hidden from the user.
    pub key: JobKey,
    pub name: String,
    pub user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
}
