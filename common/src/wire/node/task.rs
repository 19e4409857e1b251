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
}

/// Asks how such a program is doing, and for the next pieces of its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchTask {
    /// Repeated in the answer.
    pub question: u64,
    /// The attempt.
    pub id: AttemptId,
    /// The program.
    pub task: TaskNumber,
    /// Of its standard output, from this byte on.
    pub stdout_from: u64,
    /// Of its standard error, from this byte on.
    pub stderr_from: u64,
    /// Wait so long for news if there are none.
    pub wait: Span,
}

/// Asks to send such a program a signal: to it and all of its process group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalTask {
    /// Repeated in the answer.
    pub question: u64,
    /// The attempt.
    pub id: AttemptId,
    /// The program.
    pub task: TaskNumber,
    /// Which.
    pub signal: SignalNumber,
}

/// Answers each of these questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskNews {
    /// Of the question.
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
    /// It runs.
    Running,
    /// It ended like this. What it started itself may run on, until the job ends.
    Ended(ExitStatus),
    /// It never ran, or nothing is known of it any more: why, in a sentence.
    Failed(String),
}
