//! Queues, and the resources that their jobs hold.

use crate::gpu::GpuKind;
use crate::id::QueueName;
use crate::policy::queue::Queue;
use crate::serde_skip::is_default;
use crate::unit::{Bytes, Cpus, GpuMilli};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct QueueList {
    /// By priority, highest first.
    pub queues: Vec<Queue>,
    /// By name; queues without an entry hold nothing.
    #[serde(default)]
    pub held: BTreeMap<QueueName, QueueHeld>,
}

/// The resources of the jobs of a queue and of all queues below it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueueHeld {
    /// It is no longer configured, takes no new jobs, and is kept until its jobs end.
    #[serde(skip_serializing_if = "is_default")]
    pub closing: bool,
    /// Jobs and array tasks that hold resources.
    pub running: u32,
    pub waiting: u32,
    /// By GPU kind.
    pub gpus_milli: BTreeMap<GpuKind, GpuMilli>,
    pub cpus: Cpus,
    pub memory: Bytes,
}
