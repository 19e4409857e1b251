//! What a job wrote, read on its node. Never by anybody but the job's owner: kantd reads as them.

use crate::id::AttemptId;
use crate::job::Owner;
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// Which of a job's two output files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

/// Asks for a piece of a job's output, read on the node as the job's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadOutput {
    /// Repeated in the answer.
    pub question: u64,
    /// The attempt; any attempt the node still knows, running or ended.
    pub id: AttemptId,
    /// Whom to read as.
    pub owner: Owner,
    /// The absolute path, patterns filled in by the controller for the job's first node.
    pub path: String,
    /// From this byte on.
    pub offset: u64,
    /// At most so many bytes.
    pub bytes_max: u32,
    /// Wait so long for more if there is nothing yet.
    pub wait: Span,
}

/// A piece of a job's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputChunk {
    pub question: u64,
    /// The bytes from the asked offset on; empty if there are none.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    /// Why it could not be read.
    pub error: Option<String>,
}
