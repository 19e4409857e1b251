//! Queues, and what their jobs have. Never holds logic.

use crate::gpu::GpuKind;
use crate::id::QueueName;
use crate::policy::queue::Queue;
use crate::unit::{Bytes, Cpus, GpuMilli};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct QueueList {
    /// By priority, highest first.
    pub queues: Vec<Queue>,
    /// What each of them has, by name; those that are not named have nothing.
    #[serde(default)]
    pub held: BTreeMap<QueueName, QueueHeld>,
}

/// What the jobs of a queue, and of all queues below it, have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueHeld {
    /// It is no longer configured, and kept until its jobs are over: it takes no new ones.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub closing: bool,
    /// Jobs and array tasks that hold resources.
    pub running: u32,
    /// Jobs and array tasks that wait.
    pub waiting: u32,
    /// Thousandths of GPUs of each kind.
    pub gpus_milli: BTreeMap<GpuKind, GpuMilli>,
    pub cpus: Cpus,
    pub memory: Bytes,
}
