//! Programs in a running job: requests to start, feed, signal and watch them. They run as the job's
//! owner, and only the owner may make these requests.

use crate::id::{Attempt, NodeName, TaskNumber};
use crate::job::{ExitStatus, Phase, SignalNumber};
use crate::serde_skip::is_default;
use crate::wire::node::{Manner, Reached, StepView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A header of a program's answer: the number of bytes of standard output; standard error follows.
pub const STDOUT_BYTES: &str = "x-kant-stdout-bytes";

/// A header of a program's answer: a [`TaskState`](crate::wire::node::TaskState), as JSON.
pub const TASK_STATE: &str = "x-kant-task";

/// A request to start a program in a running job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchRequest {
    /// A random number that makes a retry safe: it starts nothing again.
    pub task: TaskNumber,
    /// One of the job's nodes, by name or address.
    pub node: String,
    /// The attempt of the client, so that a late request starts nothing in the next attempt.
    #[serde(default)]
    pub attempt: Option<Attempt>,
    /// The absolute path and the arguments.
    pub program: Vec<String>,
    /// Its environment, overridden by the variables that the node sets.
    pub environment: BTreeMap<String, String>,
    /// Its working directory, or /tmp if the node does not have that directory.
    pub work_dir: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub manner: Manner,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchAnswer {
    pub node: NodeName,
    pub attempt: Attempt,
}

/// A program, and offsets into its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskQuery {
    pub node: NodeName,
    pub attempt: Attempt,
    /// The offset into standard output.
    #[serde(default)]
    pub stdout_from: u64,
    /// The offset into standard error.
    #[serde(default)]
    pub stderr_from: u64,
    /// The maximum time to wait for new output or a new state.
    #[serde(default)]
    pub wait_seconds: u64,
    /// The lease, for a node that no longer has it; 0: none.
    #[serde(default)]
    pub lease_seconds: u64,
}

/// A program, and the position of the input in the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedQuery {
    pub node: NodeName,
    pub attempt: Attempt,
    /// The offset of the body in the whole input.
    pub from: u64,
}

/// The programs of an interactive job have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FinishRequest {
    /// Their combined exit.
    pub exit: ExitStatus,
}

/// The steps of a running job: the running ones, and the latest of the ended ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepList {
    pub steps: Vec<StepView>,
}

/// The answer to the renewal of a job's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttendAnswer {
    pub phase: Phase,
}

/// A request to signal a program and its process group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalRequest {
    /// The node and attempt of the program.
    #[serde(flatten)]
    pub place: LaunchAnswer,
    pub signal: SignalNumber,
}

/// A request to signal a running job, or all running tasks of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobSignalRequest {
    pub signal: SignalNumber,
    /// [`Reached::Steps`] of a job without steps is [`Reached::Work`].
    #[serde(default)]
    pub to: Reached,
}
