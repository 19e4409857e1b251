//! Requests about the replacement of the cluster key.

use super::Actor;
use serde::{Deserialize, Serialize};

/// What to do about the replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyAction {
    /// Begins one.
    Begin {
        actor: Actor,
        /// The fingerprint of the new authority.
        new: String,
        /// The last generation that a controller follows, which may be of an earlier cluster with
        /// the same key.
        followed: u32,
    },
    /// Begins the next step, unless the generation has changed.
    Advance {
        generation: u32,
        /// An operator who leaves hosts behind; `None`: all have followed.
        actor: Option<Actor>,
    },
    /// Takes the key that the controllers have for that of the cluster, and ends a replacement: an
    /// operator made it while they were stopped.
    Adopt {
        actor: Actor,
        /// The fingerprint of its authority.
        authority: String,
    },
    /// Goes back to the old key, which still issues all certificates.
    Cancel { actor: Actor },
}
