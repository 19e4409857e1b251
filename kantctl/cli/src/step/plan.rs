//! The plan for the launcher on one node: its tasks, with program and environment.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of plans and frames. A launcher of another version reports that, and starts nothing.
pub const VERSION: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub rows: u16,
    pub columns: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskPlan {
    /// The task's environment, in addition to that of all tasks.
    pub environment: BTreeMap<String, String>,
    /// The CPUs to bind it to; empty for all of the job's CPUs on the node.
    pub cpus: Vec<u32>,
    /// Its GPUs, as indices into the job's GPUs on the node; `None` for all.
    pub gpus: Option<Vec<u32>>,
    /// Whether it gets input; otherwise it reads /dev/null.
    pub input: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePlan {
    /// [`VERSION`].
    pub version: u32,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The environment of all tasks, in addition to the job's.
    pub environment: BTreeMap<String, String>,
    /// The tasks, by their index on the node.
    pub tasks: Vec<TaskPlan>,
    /// The size of the terminal, if tasks have one.
    pub terminal: Option<Window>,
    /// The client confirms processed output, and the launcher must not get far ahead of it.
    pub holds_back: bool,
    /// Time between SIGTERM and SIGKILL when the client is gone.
    pub grace_seconds: u64,
}
