//! A job's output, read on its node with the rights of the job's owner.

use crate::id::AttemptId;
use crate::job::Owner;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of a job's two output files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    #[default]
    Stdout,
    Stderr,
}

/// Requests a piece of a job's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadOutput {
    /// Repeated in the answer.
    pub question: u64,
    /// Any attempt that the node still has, running or ended.
    pub id: AttemptId,
    /// The user to read as.
    pub owner: Owner,
    /// The absolute path, with patterns filled in by the controller for the job's first node.
    pub path: String,
    pub offset: u64,
    pub bytes_max: u32,
    /// The maximum time to wait for output if there is none yet.
    pub wait: Span,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputChunk {
    pub question: u64,
    /// The bytes from the requested offset on; empty if there are none.
    #[serde(with = "serde_bytes")]
    #[schemars(with = "Vec<u8>")]
    pub bytes: Vec<u8>,
    pub error: Option<String>,
}
