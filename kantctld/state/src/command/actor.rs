//! Who asks. Never decides what they may.

use common::id::Uid;
use serde::{Deserialize, Serialize};

/// Who asks, as the leader found out. Operators may do everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub uid: Uid,
    /// An operator: root, the controller's own user, or named in `admins`.
    pub operator: bool,
}
