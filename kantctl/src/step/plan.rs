//! What one node's starter is told first: the tasks there, what each runs and finds around it.
//! Never names a node; whoever reads it is there.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of plans and frames. A starter of another one says so, and starts nothing.
pub const VERSION: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub rows: u16,
    pub columns: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskPlan {
    /// What it finds in its environment besides what all do.
    pub environment: BTreeMap<String, String>,
    /// The CPUs it is held to; empty: all of its job's there.
    pub cpus: Vec<u32>,
    /// The GPUs it sees, by their places among those of the job's on the node; `None`: all.
    pub gpus: Option<Vec<u32>>,
    /// It reads what is sent to it; else nothing.
    pub input: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePlan {
    /// [`VERSION`].
    pub version: u32,
    /// What to run, and its arguments.
    pub program: Vec<String>,
    /// What all tasks find in their environment besides the job's.
    pub environment: BTreeMap<String, String>,
    /// The tasks, by their places on the node.
    pub tasks: Vec<TaskPlan>,
    /// They have a terminal of this size.
    #[serde(default)]
    pub terminal: Option<Window>,
    /// It is told what was taken of its output, and is not to get far ahead.
    #[serde(default)]
    pub holds_back: bool,
    /// Between SIGTERM and SIGKILL when whoever asked for them is gone.
    pub grace_seconds: u64,
}
