//! The user that issues a command.

use common::id::Uid;
use serde::{Deserialize, Serialize};

/// The user that issues a command, as authenticated by the leader. Operators may do everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub uid: Uid,
    /// Whether the user is root, the controller's own user, or listed in `admins`.
    pub operator: bool,
}
