//! A command with its time, and the jobs that it names.

use common::id::JobKey;
use common::time::Time;
use serde::{Deserialize, Serialize};

/// A command with the leader's time. Stamps never go back: the leader sees to it, and `apply`
/// uses the later of this and the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped<C> {
    pub at: Time,
    pub command: C,
}

/// Which jobs a command means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// A job (all tasks of an array) or one array task.
    pub key: JobKey,
}
