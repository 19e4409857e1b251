//! What the nodes of a job are told when it is given another size. Never who decided that.

use crate::job::ResizeSignal;
use crate::resource::Allocation;
use serde::{Deserialize, Serialize};

/// What a job has since it was given another size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resized {
    /// How often that happened; a higher one has come since.
    pub number: u32,
    /// What it has now, in place of its order's. A node's place in it is as before.
    pub allocation: Allocation,
    /// The nodes' addresses, in the allocation's order.
    pub addresses: Vec<String>,
    /// Sent to it once it can know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<ResizeSignal>,
}
