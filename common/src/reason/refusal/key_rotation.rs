//! Reasons why a step of the replacement of the cluster key is refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema,
)]
#[serde(tag = "key_rotation", rename_all = "snake_case")]
pub enum KeyRotationRefusal {
    #[error("the cluster key is being replaced already")]
    Underway,
    #[error("the cluster key is not being replaced")]
    NotUnderway,
    /// Nodes have certificates of the new authority.
    #[error("the new cluster key is in use: its introduction can no longer be cancelled")]
    InUse,
}

impl KeyRotationRefusal {
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Underway => "key_rotation_underway",
            Self::NotUnderway => "no_key_rotation",
            Self::InUse => "key_in_use",
        }
    }

    /// What to do next.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Underway => "`kantctl admin key status` shows which hosts it waits for",
            Self::NotUnderway => "`kantctl admin key rotate` replaces it",
            Self::InUse => {
                "when this rotation is complete, `kantctl admin key rotate` begins another"
            }
        }
    }
}
