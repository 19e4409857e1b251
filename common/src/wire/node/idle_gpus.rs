//! The report of GPUs that a job holds and does not use.

use crate::id::AttemptId;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The idle GPUs of a step on one node. Supersedes the last report on this step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleGpus {
    pub id: AttemptId,
    /// For each idle GPU: how long it has been idle. Empty: none is.
    pub idle: Vec<Span>,
}
