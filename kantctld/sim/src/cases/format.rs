//! The text format of scheduling cases: clusters with jobs, and what a round is expected to do.
//! [`super::world`] defines what its fields mean to kant.
//!
//! Source: cases distilled from KAI Scheduler's public tests (tests/kai/README.md has the format).

use super::expectation::Expect;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One cluster and its expected outcome.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub id: String,
    /// What it is about.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What is unusual about it.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// One round, or several.
    pub kind: Kind,
    /// The steps of a round.
    pub phases: Vec<Phase>,
    /// After this many rounds the state is as expected.
    pub rounds_to_settle: u32,
    /// For this many more rounds it stays so.
    pub rounds_to_hold: u32,
    /// Settings of the whole cluster.
    pub config: Config,
    /// Lists of node labels, widest first.
    #[serde(default)]
    pub topologies: Vec<TopologyText>,
    pub nodes: Vec<NodeText>,
    pub queues: Vec<QueueText>,
    pub jobs: Vec<JobText>,
    /// The expected outcome.
    pub expect: Expect,
}

/// How a case is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// By the decisions of one round.
    Decision,
    /// By the state after several rounds.
    SteadyState,
}

/// A step of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Allocate,
    Consolidate,
    Reclaim,
    Preempt,
    StaleGangEvict,
}

/// Settings of the whole cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Packed or spread. `None`: no preference.
    pub node_placement: Option<BTreeMap<String, String>>,
    /// The same for devices of a node.
    pub gpu_device_placement: Option<String>,
    /// In seconds.
    pub stale_gang_grace_s: i64,
    /// Only these plugins are active.
    #[serde(default)]
    pub only_policies: Option<Vec<String>>,
}

/// Node labels, widest first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyText {
    pub name: String,
    pub levels: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeText {
    pub name: String,
    pub gpus: u32,
    #[serde(default)]
    pub gpu_memory_mib: Option<u64>,
    pub cpu_milli: i64,
    pub memory_bytes: i64,
    #[serde(default)]
    pub max_tasks: Option<i64>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub gpu_model: Option<String>,
    #[serde(default)]
    pub mig_strategy: Option<String>,
    #[serde(default)]
    pub mig_instances: BTreeMap<String, i64>,
    #[serde(default)]
    pub numa: Option<serde_json::Value>,
    #[serde(default)]
    pub gpu_memory_known: Option<bool>,
}

/// A queue's terms for one resource. `None`: unlimited.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundText {
    #[serde(default)]
    pub quota: Option<f64>,
    #[serde(default)]
    pub limit: Option<f64>,
    #[serde(default)]
    pub over_quota_weight: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueText {
    pub name: String,
    pub parent: Option<String>,
    pub priority: i64,
    pub created_rank: u64,
    #[serde(default)]
    pub implicit: bool,
    pub gpu: BoundText,
    pub cpu_milli: BoundText,
    pub memory_mb: BoundText,
    #[serde(default)]
    pub reclaim_min_runtime_s: Option<u64>,
    #[serde(default)]
    pub preempt_min_runtime_s: Option<u64>,
}

/// How near tasks are to each other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearText {
    pub topology: String,
    #[serde(default)]
    pub required: Option<String>,
    #[serde(default)]
    pub preferred: Option<String>,
}

/// A tree of groups of tasks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupText {
    pub name: String,
    #[serde(default)]
    pub children: Vec<GroupText>,
    #[serde(default)]
    pub min_children: Option<usize>,
    #[serde(default)]
    pub min_tasks: Option<usize>,
    #[serde(default)]
    pub topology: Option<NearText>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobText {
    pub name: String,
    pub queue: String,
    pub priority: i64,
    pub preemptible: bool,
    pub age_min: i64,
    #[serde(default)]
    pub min_tasks: Option<usize>,
    #[serde(default)]
    pub subgroups: Option<GroupText>,
    #[serde(default)]
    pub topology: Option<NearText>,
    #[serde(default)]
    pub running_for_s: Option<u64>,
    #[serde(default)]
    pub stale_for_s: Option<u64>,
    #[serde(default)]
    pub stale_gang_grace_s: Option<i64>,
    #[serde(default)]
    pub preemption_delay_s: Option<u64>,
    #[serde(default)]
    pub deleted_by_user: bool,
    #[serde(default)]
    pub qos: Option<String>,
    pub tasks: Vec<TaskText>,
}

/// Tasks to be near to, or away from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AffinityText {
    pub level: String,
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskText {
    pub id: String,
    pub state: String,
    #[serde(default)]
    pub node: Option<String>,
    pub cpu_milli: i64,
    pub memory_bytes: i64,
    #[serde(default)]
    pub gpus: Option<u32>,
    #[serde(default)]
    pub gpu_fraction: Option<f64>,
    #[serde(default)]
    pub gpu_memory_mib: Option<u64>,
    #[serde(default)]
    pub gpu_devices: Option<u32>,
    #[serde(default)]
    pub mig: BTreeMap<String, i64>,
    #[serde(default)]
    pub gpu_groups: Vec<String>,
    #[serde(default)]
    pub allowed_nodes: Option<Vec<String>>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub near: Option<AffinityText>,
    #[serde(default)]
    pub apart: Option<AffinityText>,
    #[serde(default)]
    pub order: i64,
    #[serde(default)]
    pub subgroup: Option<String>,
    #[serde(default)]
    pub numa_observed: Option<serde_json::Value>,
}
