//! Where a job goes on that was stopped so that another has room. Never moves one.

use crate::id::NodeName;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// A job was stopped to go on elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moving {
    pub to: Vec<NodeName>,
    /// So long the place is kept.
    pub until: Time,
}
