//! Programs that are started in a job that runs, as `kantctl launch` asks for them: the
//! questions the controller passes to a node, and the node's answer to each.
//! Never part of what a node should run: such a program ends with its attempt, and no state knows
//! of it.

use crate::id::{AttemptId, TaskNumber};
use crate::job::{ExitStatus, SignalNumber};
use crate::time::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Asks for a program in the job's own place on this node: its user, limits, GPUs, directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartTask {
    /// Repeated in the answer.
    pub question: u64,
    /// The attempt, which must run here.
    pub id: AttemptId,
    /// Chosen by whoever asks: the same number again starts nothing again.
    pub task: TaskNumber,
    /// What to run, by its full path, and its arguments.
    pub program: Vec<String>,
    /// What it finds in its environment, less what the node knows better.
    pub environment: BTreeMap<String, String>,
    /// Where it starts, if the node has that directory; else in /tmp.
    pub work_dir: String,
    /// How it is held. Only to a node whose Hello said that it reads this.
    #[serde(default, skip_serializing_if = "Manner::is_plain")]
    pub manner: Manner,
}

/// How a program in a job is held.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Manner {
    /// The program is kantctl, wherever the node has it, whatever path was named.
    pub own_program: bool,
    /// It reads what is fed to it. Its standard input is a file that grows; it never ends.
    pub input: bool,
    /// It is told to end when nobody has asked for it for so long, and that while the node was in
    /// session.
    pub lease: Option<Span>,
    /// The step whose tasks it runs.
    pub step: Option<StepMark>,
}

impl Manner {
    /// As of a program that is only started.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// What is told of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepMark {
    /// Its number in the job.
    pub number: u32,
    /// Its name: usually the program's.
    pub name: String,
    /// Its tasks on all nodes.
    pub tasks: u32,
    /// The rank of its first task on this node.
    pub first_rank: u32,
}

/// Adds to what a program reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedTask {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub task: TaskNumber,
    /// From this byte of all it reads on; a piece that comes again changes nothing.
    pub from: u64,
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// Asks how such a program is doing, and for the next pieces of its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchTask {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub task: TaskNumber,
    /// Of its standard output, from this byte on.
    pub stdout_from: u64,
    /// Of its standard error, from this byte on.
    pub stderr_from: u64,
    /// Wait so long for news if there are none.
    pub wait: Span,
    /// Its lease, for a node that has forgotten it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Span>,
}

/// Asks to send such a program a signal: to it and all of its process group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalTask {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub task: TaskNumber,
    pub signal: SignalNumber,
}

/// Answers each of these questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskNews {
    pub question: u64,
    /// How it is doing.
    pub state: TaskState,
    /// The next piece of its standard output, of bounded size; empty if there is none.
    #[serde(with = "serde_bytes")]
    pub stdout: Vec<u8>,
    /// The same of its standard error.
    #[serde(with = "serde_bytes")]
    pub stderr: Vec<u8>,
}

impl TaskNews {
    /// Nothing but a state.
    #[must_use]
    pub fn of(question: u64, state: TaskState) -> Self {
        Self { question, state, stdout: Vec::new(), stderr: Vec::new() }
    }
}

/// How a program that was started in a job is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Running,
    /// It ended like this. What it started itself may run on, until the job ends.
    Ended(ExitStatus),
    /// It never ran, or nothing is known of it any more: why, in a sentence.
    Failed(String),
}
