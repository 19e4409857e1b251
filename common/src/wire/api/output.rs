//! A job's output, and the wait for a job.

use crate::wire::node::OutputStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the output to read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OutputQuery {
    pub stream: OutputStream,
    /// In bytes.
    pub offset: u64,
    /// How long to wait for output beyond the offset.
    pub wait_seconds: u64,
}

/// The data of a server-sent event: a part of the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputEvent {
    /// The offset of the byte after this part: the place to continue from.
    pub offset: u64,
    /// Bytes that are no UTF-8 are replaced.
    pub text: String,
    /// The job has ended, and this was all of its output.
    pub ended: bool,
}

/// How long to wait for a job, and until when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WaitQuery {
    /// At most this long; the controller has a limit of its own.
    pub seconds: u64,
    pub until: Until,
}

/// The end of a wait for a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    #[default]
    Over,
    /// It runs, or has ended.
    Started,
}
