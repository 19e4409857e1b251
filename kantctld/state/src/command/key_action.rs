//! Requests about the replacement of the cluster key.

use super::Actor;
use serde::{Deserialize, Serialize};

/// What to do about the replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyAction {
    /// Begins one. All controllers have the new key.
    Begin {
        actor: Actor,
        /// The fingerprint of the new authority.
        new: String,
    },
    /// Begins the next step, unless the generation has changed.
    Advance {
        generation: u32,
        /// An operator who leaves hosts behind; `None`: all have followed.
        actor: Option<Actor>,
    },
    /// The controllers have another key than the log says: an operator made it while they were
    /// stopped.
    Adopt {
        /// The fingerprint of its authority.
        authority: String,
    },
    /// Goes back to the old key, which still issues all certificates.
    Cancel { actor: Actor },
}
