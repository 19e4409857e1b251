//! How a controller is. Never how the others are.

use crate::id::ControllerId;
use serde::{Deserialize, Serialize};

/// How the controller is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub cluster: String,
    pub version: String,
    /// Is this controller the leader?
    pub leader: bool,
    /// Who leads, as far as it knows.
    #[serde(default)]
    pub led_by: Option<ControllerId>,
    /// The last log index applied.
    pub applied: u64,
    /// Jobs waiting, running, finished and still kept.
    pub jobs_pending: u32,
    pub jobs_running: u32,
    /// Kept for the record.
    pub jobs_done: u32,
    /// Nodes connected, of all that are known.
    pub nodes_connected: u32,
    /// Nodes that are known.
    pub nodes: u32,
    /// Why this controller's audit log lacks lines, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_trouble: Option<String>,
}
