//! What a case expects, in the terms of its format.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The expected outcome of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    #[serde(default)]
    pub jobs: BTreeMap<String, Expectation>,
    #[serde(default)]
    pub tasks: BTreeMap<String, Expectation>,
    #[serde(default)]
    pub nodes: BTreeMap<String, NodeExpectation>,
    #[serde(default)]
    pub at_most_per_round: Option<AtMost>,
    #[serde(default)]
    pub placements: Option<serde_json::Value>,
}

/// The expected outcome of a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    pub status: String,
    #[serde(default)]
    pub node: Option<String>,
    #[serde(default)]
    pub outcome: Option<String>,
    #[serde(default)]
    pub gpu_groups: Option<Vec<String>>,
    #[serde(default)]
    pub explanation: Option<serde_json::Value>,
    #[serde(default)]
    pub numa_zones: Option<Vec<usize>>,
    #[serde(default)]
    pub gpus_granted: Option<serde_json::Value>,
    #[serde(default)]
    pub started_at_least_s_ago: Option<serde_json::Value>,
}

/// The expected outcome of a node.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeExpectation {
    #[serde(default)]
    pub idle_gpus: Option<i64>,
    #[serde(default)]
    pub releasing_gpus: Option<i64>,
    #[serde(default)]
    pub numa_available: Option<serde_json::Value>,
}

/// Bounds on what a round may do, in tasks.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtMost {
    pub starts: usize,
    pub evictions: usize,
    pub reservations: usize,
}
