//! The replacement of the cluster key: what operators see of it, and what controllers exchange.

use super::Secret;
use crate::id::{ControllerId, NodeName, Uid};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The steps of a replacement, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RotationStep {
    /// All hosts trust both authorities; the old one issues certificates.
    Trust,
    /// All hosts trust both authorities; the new one issues certificates.
    Issue,
}

/// The cluster key, by its authority, and the hosts that do not follow its present step yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterKeyView {
    /// Counts the steps of all replacements.
    pub generation: u32,
    /// The fingerprint of the authority that issues certificates.
    pub authority: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controllers_behind: Vec<ControllerId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_behind: Vec<NodeName>,
}

/// A replacement in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RotationView {
    pub step: RotationStep,
    /// The fingerprint of the new authority.
    pub new: String,
    /// The operator who began it.
    pub by: Uid,
    pub begun_at: Time,
}

/// The new key, for a controller that does not have it. It is sent and never asked for: only the
/// controllers that the log names get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyOffer {
    pub key: Secret,
}

/// The step that a controller follows, or that an operator saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyGeneration {
    pub generation: u32,
}
