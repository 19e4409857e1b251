//! A program in a job that runs: asking for it, and asking how it is doing.
//! Never says whom it runs as: that is the job's owner, and nobody else may ask.

use crate::id::{Attempt, NodeName, TaskNumber};
use crate::job::{ExitStatus, Phase, SignalNumber};
use crate::wire::node::{Manner, Reached, StepView};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// On an answer about a program: how many of its bytes are standard output; standard error follows.
pub const STDOUT_BYTES: &str = "x-kant-stdout-bytes";

/// On an answer about a program: a [`TaskState`](crate::wire::node::TaskState), as JSON.
pub const TASK_STATE: &str = "x-kant-task";

/// Asks for a program in a job that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchRequest {
    /// Chosen at random: a request that is repeated starts nothing again.
    pub task: TaskNumber,
    /// One of the job's nodes, by its name or its address.
    pub node: String,
    /// The attempt that asks, so that one that is over starts nothing in the next.
    #[serde(default)]
    pub attempt: Option<Attempt>,
    /// What to run, by its full path, and its arguments.
    pub program: Vec<String>,
    /// What it finds in its environment, less what the node knows better.
    pub environment: BTreeMap<String, String>,
    /// Where it starts, if the node has that directory; else in /tmp.
    pub work_dir: String,
    /// How it is held.
    #[serde(default, skip_serializing_if = "Manner::is_plain")]
    pub manner: Manner,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchAnswer {
    pub node: NodeName,
    pub attempt: Attempt,
}

/// Which program, and from where on its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskQuery {
    pub node: NodeName,
    pub attempt: Attempt,
    /// From this byte of its standard output on.
    #[serde(default)]
    pub stdout_from: u64,
    /// From this byte of its standard error on.
    #[serde(default)]
    pub stderr_from: u64,
    /// Wait so long for news.
    #[serde(default)]
    pub wait_seconds: u64,
    /// Its lease in seconds, for a node that has forgotten it; 0: none.
    #[serde(default)]
    pub lease_seconds: u64,
}

/// Which program is fed, and with what part of all that it reads: the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedQuery {
    pub node: NodeName,
    pub attempt: Attempt,
    /// The body is from this byte on.
    pub from: u64,
}

/// The programs that a job's nodes are held for are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishRequest {
    /// How they ended, as one.
    pub exit: ExitStatus,
}

/// The steps of a job that runs: those that run, and of those that ended the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepList {
    pub steps: Vec<StepView>,
}

/// Somebody waits for a job that lives on a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttendAnswer {
    /// Where the job is.
    pub phase: Phase,
}

/// Asks to send such a program a signal: to it and all of its process group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRequest {
    /// Where and in which attempt it runs.
    #[serde(flatten)]
    pub place: LaunchAnswer,
    pub signal: SignalNumber,
}

/// Asks to send a signal to a job that runs, or to all tasks of an array that do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSignalRequest {
    pub signal: SignalNumber,
    /// To whom: [`Reached::Steps`] of a job that has none is [`Reached::Work`].
    #[serde(default)]
    pub whom: Reached,
}
