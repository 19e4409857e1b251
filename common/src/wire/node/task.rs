//! Programs that are started in a running job, as by `kantctl launch`: the controller's requests to
//! a node, and the node's answers. They are not part of the node's desired steps: a program ends
//! with its attempt, and no state records it.

use crate::id::{AttemptId, TaskNumber};
use crate::job::{ExitStatus, SignalNumber};
use crate::serde_skip::is_default;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Starts a program in the job's step on this node, with its user, limits, GPUs and directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartTask {
    /// Repeated in the answer.
    pub question: u64,
    /// The attempt, which must run here.
    pub id: AttemptId,
    /// Chosen by the client; a repeated number starts nothing again.
    pub task: TaskNumber,
    /// The absolute path and the arguments.
    pub program: Vec<String>,
    /// Its environment, overridden by the variables that the node sets.
    pub environment: BTreeMap<String, String>,
    /// Its working directory, or /tmp if the node does not have that directory.
    pub work_dir: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub manner: Manner,
}

/// The options of a program in a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Manner {
    /// The program is the node's own kantctl, whatever path is given.
    pub own_program: bool,
    /// It reads from a file that grows with its input and has no end.
    pub input: bool,
    /// It ends when no client has asked for it for this time while the node was in session.
    pub lease: Option<Span>,
    /// The step to which its tasks belong.
    pub step: Option<StepMark>,
}

/// The step of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepMark {
    pub number: u32,
    /// Usually the program's name.
    pub name: String,
    /// The number of its tasks on all nodes.
    pub tasks: u32,
    /// The rank of its first task on this node.
    pub first_rank: u32,
}

/// Appends to a program's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeedTask {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub task: TaskNumber,
    /// The offset in the whole input; a repeated piece has no effect.
    pub from: u64,
    #[serde(with = "serde_bytes")]
    #[schemars(with = "Vec<u8>")]
    pub bytes: Vec<u8>,
}

/// Requests the state of such a program, and the next pieces of its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchTask {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub task: TaskNumber,
    /// The offset into standard output.
    pub stdout_from: u64,
    /// The offset into standard error.
    pub stderr_from: u64,
    /// The maximum time to wait for new output or a new state.
    pub wait: Span,
    /// The lease, for a node that no longer has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Span>,
}

/// Signals such a program and its process group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalTask {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub task: TaskNumber,
    pub signal: SignalNumber,
}

/// Answers each of these requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskNews {
    pub question: u64,
    pub state: TaskState,
    /// The next piece of standard output, of bounded size; empty if there is none.
    #[serde(with = "serde_bytes")]
    #[schemars(with = "Vec<u8>")]
    pub stdout: Vec<u8>,
    /// The same for standard error.
    #[serde(with = "serde_bytes")]
    #[schemars(with = "Vec<u8>")]
    pub stderr: Vec<u8>,
}

impl TaskNews {
    /// An answer with a state only.
    #[must_use]
    pub fn from_state(question: u64, state: TaskState) -> Self {
        Self { question, state, stdout: Vec::new(), stderr: Vec::new() }
    }
}

/// The state of a program that was started in a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Running,
    /// Processes that it started may run on until the job ends.
    Ended(ExitStatus),
    /// It never ran, or is no longer known. The reason, in a sentence.
    Failed(String),
}
