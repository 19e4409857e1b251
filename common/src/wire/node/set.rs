//! What a component of a set is told of all components. Never what is its own alone.

use crate::id::{JobId, QueueName};
use crate::resource::Allocation;
use serde::{Deserialize, Serialize};

/// What the components of a set see of each other in their environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetFacts {
    /// Which of them this is, from 0.
    pub offset: u32,
    /// All of them, in their order.
    pub components: Vec<SetComponent>,
}

/// One component of a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetComponent {
    pub job: JobId,
    pub queue: QueueName,
    /// What it was given.
    pub allocation: Allocation,
    /// `--cpus-per-task`.
    pub cpus_per_task: u32,
}
