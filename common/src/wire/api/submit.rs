//! Submits, one in a request or many; what many share, scripts and environments, is said once.
//! Never all or nothing: each job is accepted or refused by itself.

use crate::id::{JobId, RequestKey};
use crate::job::Ask;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubmitRequest {
    /// Makes a repeated request safe: the same key gives the same job.
    pub request_key: RequestKey,
    pub ask: Ask,
    pub script: String,
    /// The environment to run it in.
    pub environment: BTreeMap<String, String>,
}

/// Submits a set: jobs that start and end together, all or none of them. POST /v1/jobs/set, which
/// releases before do not know: they must not take it for its first component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetRequest {
    /// As [`SubmitRequest::request_key`].
    pub request_key: RequestKey,
    /// What each component asks for. The first runs the script.
    pub asks: Vec<Ask>,
    pub script: String,
    /// The environment to run it in.
    pub environment: BTreeMap<String, String>,
}

/// A job was accepted, durably.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitAnswer {
    pub job: JobId,
    /// How many tasks, for an array.
    #[serde(default)]
    pub tasks: u32,
    /// What its user should know of it, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The most jobs of one request.
pub const BATCH_JOBS_MAX: usize = 10_000;
/// The most bytes that the scripts and environments of one request's jobs have together, each
/// counted once for every job that names it: so often the log writes it.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchRequest {
    /// Makes a repeated request safe, as [`SubmitRequest::request_key`] does; at most 56
    /// characters. That of the job at place N is it with `.N`.
    pub request_key: RequestKey,
    pub scripts: Vec<String>,
    /// Environments to run in.
    pub environments: Vec<BTreeMap<String, String>>,
    /// The jobs, in order; at most [`BATCH_JOBS_MAX`].
    pub jobs: Vec<BatchJob>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchJob {
    pub ask: Ask,
    /// Its script's place in [`BatchRequest::scripts`].
    #[serde(default)]
    pub script: u32,
    /// Its environment's place in [`BatchRequest::environments`].
    #[serde(default)]
    pub environment: u32,
}

/// What became of each, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchAnswer {
    pub jobs: Vec<BatchOutcome>,
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchOutcome {
    Accepted(SubmitAnswer),
    /// Refused; the others are not touched by it.
    Refused {
        code: String,
        message: String,
        /// What to do about it, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}
