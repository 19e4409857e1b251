//! Qualities of service: priorities and limits that jobs choose across queues (`--qos`).

use crate::id::QosName;
use crate::policy::{Access, Limits};
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A quality of service (man sacctmgr, QOS).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Qos {
    pub name: QosName,
    /// Higher goes first, within the queue's priority.
    #[serde(default)]
    pub priority: i32,
    #[serde(default)]
    pub access: Access,
    /// May its jobs be preempted? `None`: the queue's setting.
    #[serde(default)]
    pub preemptible: Option<bool>,
    /// The maximum time limit of its jobs.
    #[serde(default)]
    pub time_limit_max: Option<Span>,
    /// Limits on all its jobs together.
    #[serde(default)]
    pub limits: Limits,
    /// Limits on each user's jobs.
    #[serde(default)]
    pub limits_per_user: Limits,
}
