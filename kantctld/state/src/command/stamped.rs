//! A command with its time, and the jobs that a command addresses.

use common::id::JobKey;
use common::time::Time;
use serde::{Deserialize, Serialize};

/// A command with the leader's time. Stamps never decrease: the leader ensures that, and `apply`
/// uses the later of this stamp and the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped<C> {
    pub at: Time,
    pub command: C,
}

/// The jobs that a command addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// A job, an array (all of its tasks), or one array task.
    pub key: JobKey,
}
