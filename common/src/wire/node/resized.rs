//! The message to the nodes of a job whose size changed.

use crate::job::ResizeSignal;
use crate::resource::Allocation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job's resources after a change of size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resized {
    /// The number of changes so far; a higher one supersedes it.
    pub number: u32,
    /// The allocation, which replaces that of the order. A node keeps its position in it.
    pub allocation: Allocation,
    /// In the allocation's order.
    pub addresses: Vec<String>,
    /// Sent to the job once the new size is visible to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<ResizeSignal>,
}
