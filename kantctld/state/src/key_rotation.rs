//! The replacement of the cluster key in a running cluster (docs/decisions/0004-identity.md). The
//! log has the steps, and the keys only by the fingerprints of their authorities.
//!
//! First all hosts trust the authority of the new key as well; then it issues all certificates; at
//! last it is the only one. Each step begins when all hosts have followed the one before.

use common::id::Uid;
use common::serde_skip::is_default;
use common::time::Time;
use common::wire::api::RotationStep;
use serde::{Deserialize, Serialize};

/// The authority of the cluster, and its replacement if one is in progress.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyStatus {
    /// Counts the steps of all replacements. Hosts report which one they follow.
    #[serde(default, skip_serializing_if = "is_default")]
    pub generation: u32,
    /// The fingerprint of the authority; `None` if no replacement was completed since the cluster
    /// was founded or restored: then it is that of the key in the controllers' files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Rotation>,
}

/// A replacement in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotation {
    /// The fingerprint of the new authority.
    pub new: String,
    pub step: RotationStep,
    /// The operator who began it.
    pub by: Uid,
    pub begun_at: Time,
}

impl KeyStatus {
    /// Whether no replacement is in progress.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.rotation.is_none()
    }
}
