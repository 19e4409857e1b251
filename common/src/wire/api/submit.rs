//! Submissions, one or many per request. Scripts and environments that many jobs share are sent
//! once. Each job of a batch is accepted or refused on its own.

use crate::id::{JobId, RequestKey};
use crate::job::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitRequest {
    /// Makes a retry safe: the same key gives the same job.
    pub request_key: RequestKey,
    pub ask: Ask,
    pub script: String,
    pub environment: BTreeMap<String, String>,
}

/// Submits a het job, accepted or refused as a whole (POST /v1/jobs/set).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetRequest {
    /// As [`SubmitRequest::request_key`].
    pub request_key: RequestKey,
    /// The request of each component. The first runs the script.
    pub asks: Vec<Ask>,
    pub script: String,
    pub environment: BTreeMap<String, String>,
}

/// The job is accepted and durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitAnswer {
    pub job: JobId,
    /// The number of tasks of an array.
    #[serde(default)]
    pub tasks: u32,
    /// A warning for the user, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The maximum number of jobs of one request.
pub const BATCH_JOBS_MAX: usize = 10_000;
/// The maximum total size of a request's scripts and environments. Each is counted once for every
/// job that refers to it, since the log writes it for each.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchRequest {
    /// Makes a retry safe, as [`SubmitRequest::request_key`] does; at most 56 characters. The key
    /// of the job at position N has `.N` appended.
    pub request_key: RequestKey,
    pub scripts: Vec<String>,
    pub environments: Vec<BTreeMap<String, String>>,
    /// In order; at most [`BATCH_JOBS_MAX`].
    pub jobs: Vec<BatchJob>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchJob {
    pub ask: Ask,
    /// The index of its script in [`BatchRequest::scripts`].
    #[serde(default)]
    pub script: u32,
    /// The index of its environment in [`BatchRequest::environments`].
    #[serde(default)]
    pub environment: u32,
}

/// The outcome of each job, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchAnswer {
    pub jobs: Vec<BatchOutcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchOutcome {
    Accepted(SubmitAnswer),
    /// Refused, without effect on the others.
    Refused {
        code: String,
        message: String,
        /// What to do next, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}
