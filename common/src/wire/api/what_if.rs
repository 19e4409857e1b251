//! Would a changed request start now, and where? Nothing is changed by asking. Never decides;
//! `engine::what_if` does.

use super::ReasonView;
use crate::id::{JobId, JobKey, NodeName, QueueName};
use crate::job::Patch;
use crate::time::Time;
use crate::unit::Cpus;
use serde::{Deserialize, Serialize};

/// Asks what a change would bring (POST /v1/jobs/{key}/what-if).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WhatIfRequest {
    /// What would be asked otherwise.
    pub patch: Patch,
}

/// Changes what a waiting job asks for (POST /v1/jobs/{key}/update).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateRequest {
    /// What is asked otherwise.
    pub patch: Patch,
}

/// When a request would start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartOutlook {
    /// It would start now, on these nodes.
    pub starts_now: Option<Vec<NodeName>>,
    /// It would start at about this time; `None`: now, or nobody can say.
    pub expected_at: Option<Time>,
    /// Then on these nodes, if nothing comes between; none: nobody can say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected_on: Vec<NodeName>,
    /// Nobody can say when: only that it is not before `expected_at`.
    pub bounded: bool,
    /// Why it would not start now.
    pub reason: Option<ReasonView>,
}

/// What a change would bring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIfView {
    /// The job or, of an array, its first waiting task.
    pub key: JobKey,
    #[serde(flatten)]
    pub changed: StartOutlook,
    pub compared_with: StartOutlook,
    /// The controller's time when it looked.
    pub as_of: Time,
}

/// What would become of a submission (POST /v1/jobs/trial), of which nothing is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialView {
    /// The id that it would have by now.
    pub job: JobId,
    /// How many tasks, for an array; the outlook is that of the first.
    #[serde(default)]
    pub tasks: u32,
    /// Where it would wait.
    pub queue: QueueName,
    /// CPUs in all that it asks for.
    pub cpus: Cpus,
    /// When it would start.
    #[serde(flatten)]
    pub outlook: StartOutlook,
    /// What its user should know of it, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The controller's time when it looked.
    pub as_of: Time,
}
