//! The status of one controller.

use crate::id::ControllerId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub cluster: String,
    pub version: String,
    pub leader: bool,
    /// The leader, if this controller knows it.
    #[serde(default)]
    pub led_by: Option<ControllerId>,
    /// The last log index applied.
    pub applied: u64,
    pub jobs_pending: u32,
    pub jobs_running: u32,
    /// Finished jobs that are still kept.
    pub jobs_done: u32,
    pub nodes_connected: u32,
    pub nodes: u32,
    /// Why this controller's audit log is incomplete, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_trouble: Option<String>,
}
