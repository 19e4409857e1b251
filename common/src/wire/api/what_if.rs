//! Forecasts for a changed or new request. A forecast changes nothing.

use super::ReasonView;
use crate::id::{JobId, JobKey, NodeName, QueueName};
use crate::job::Patch;
use crate::time::Time;
use crate::unit::Cpus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request for a forecast with a change (POST /v1/jobs/{key}/what-if).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WhatIfRequest {
    pub patch: Patch,
}

/// Changes the request of a waiting job (POST /v1/jobs/{key}/update).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateRequest {
    pub patch: Patch,
}

/// The forecast start of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StartOutlook {
    /// The nodes, if it would start now.
    pub starts_now: Option<Vec<NodeName>>,
    /// The approximate start; `None`: now, or unknown.
    pub expected_at: Option<Time>,
    /// The nodes at that time, if nothing changes before; empty: unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected_on: Vec<NodeName>,
    /// `expected_at` is only a lower bound.
    pub bounded: bool,
    /// Why it would not start now.
    pub reason: Option<ReasonView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIfView {
    /// The job or, of an array, its first waiting task.
    pub key: JobKey,
    #[serde(flatten)]
    pub changed: StartOutlook,
    pub compared_with: StartOutlook,
    /// The controller's time of the answer.
    pub as_of: Time,
}

/// The forecast for a submission (POST /v1/jobs/trial), which is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialView {
    /// The id that it would have at present.
    pub job: JobId,
    /// The number of tasks of an array; the outlook is that of the first.
    #[serde(default)]
    pub tasks: u32,
    pub queue: QueueName,
    /// The total of the request.
    pub cpus: Cpus,
    #[serde(flatten)]
    pub outlook: StartOutlook,
    /// A warning for the user, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The controller's time of the answer.
    pub as_of: Time,
}
