//! What a round sees of the cluster: dense, plain data. Never holds a handle, a clock or a cache;
//! a snapshot saved as JSON and read again gives the same round.

use common::cpuset::CpuSet;
use common::id::{Attempt, GpuIndex, JobId, JobKey, NodeName, QueueName, Uid};
use common::node::Inventory;
use common::queue::Queue;
use common::resource::{Allocation, Request};
use common::time::{Span, Time};
use common::unit::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The cluster at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// All registered nodes, rising by name, none twice.
    pub nodes: Vec<NodeSnapshot>,
    /// All queues, none twice.
    pub queues: Vec<Queue>,
    /// All Pending jobs and array tasks, in any order, none twice.
    pub waiting: Vec<WaitingJob>,
    /// All jobs that hold something: Starting, Running, Suspended, Completing.
    pub running: Vec<RunningJob>,
    /// For each array with a limit: how many of its tasks are neither Pending nor Done.
    /// An array that is not named runs none.
    #[serde(default)]
    pub array_running: BTreeMap<JobId, u32>,
}

/// One node: what it has, and what of it is free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSnapshot {
    /// Its name.
    pub name: NodeName,
    /// What it has; shared with the state, which keeps it unchanged.
    pub inventory: Arc<Inventory>,
    /// Logical CPUs that nobody holds; a subset of the inventory's.
    pub free_cpus: CpuSet,
    /// Memory that nobody holds.
    pub free_memory: Bytes,
    /// GPUs that nobody holds, rising.
    pub free_gpus: Vec<GpuIndex>,
    /// Why no job may start here now; `None`: jobs may.
    #[serde(default)]
    pub unusable: Option<Unusable>,
    /// A job that asked for whole nodes holds this one: nothing else may start here.
    #[serde(default)]
    pub exclusive: bool,
}

impl NodeSnapshot {
    /// A node that nobody uses.
    #[must_use]
    pub fn idle(name: NodeName, inventory: Arc<Inventory>) -> Self {
        let mut free_gpus: Vec<GpuIndex> = inventory.gpus.iter().map(|gpu| gpu.index).collect();
        free_gpus.sort_unstable();
        Self {
            name,
            free_cpus: inventory.cpus.clone(),
            free_memory: inventory.memory,
            free_gpus,
            unusable: None,
            exclusive: false,
            inventory,
        }
    }
}

/// Why no job may start on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// Silent or lost. Said of a node that is drained as well.
    Down,
    /// An operator drained it.
    Drained,
}

/// A job or array task that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingJob {
    /// Which.
    pub key: JobKey,
    /// The attempt a start would be.
    pub attempt: Attempt,
    /// Whose.
    pub owner: Uid,
    /// The queue it waits in.
    pub queue: QueueName,
    /// What it needs; the tasks of an array share one.
    pub request: Arc<Request>,
    /// How long it may run, the queue's default filled in; `None`: without bound.
    #[serde(default)]
    pub time_limit: Option<Span>,
    /// Higher goes later.
    #[serde(default)]
    pub nice: i32,
    /// When it was submitted; a requeue does not change it.
    pub submitted_at: Time,
    /// Not before this time, as its user asked.
    #[serde(default)]
    pub begin_at: Option<Time>,
    /// Not before this time, because its last attempt did not get off the ground.
    #[serde(default)]
    pub not_before: Option<Time>,
    /// Waits until it is released.
    #[serde(default)]
    pub held: bool,
    /// For a task of an array: how many of its tasks may run at once.
    #[serde(default)]
    pub array_limit: Option<u32>,
}

/// A job that holds resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningJob {
    /// Which.
    pub key: JobKey,
    /// What it still holds: nodes that have let go of it are left out.
    pub allocation: Arc<Allocation>,
    /// When its time limit ends it; `None`: it has none. May lie in the past.
    pub ends_by: Option<Time>,
}
