//! Data about a het job for the environment of its components.

use crate::id::{JobId, QueueName};
use crate::resource::Allocation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetFacts {
    /// The position of this component, from 0.
    pub offset: u32,
    /// All components, in order.
    pub components: Vec<SetComponent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetComponent {
    pub job: JobId,
    pub queue: QueueName,
    pub allocation: Allocation,
    pub cpus_per_task: u32,
}
