//! A signal for a job that runs: of the moment, for its processes on one node. Never what ends a
//! job: that is a command, and goes through the log.

use crate::id::AttemptId;
use crate::job::SignalNumber;
use serde::{Deserialize, Serialize};

/// Which of a job's processes get a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// Those of programs that were started in it: its steps.
    #[default]
    Steps,
    /// Those of a job without steps: all; but the process that runs its script only if it has a
    /// handler for it, or is the only one: a shell that waits for a program would end, and the job
    /// with it.
    Work,
    /// The process that runs its script, and nobody else.
    Script,
    All,
}

/// A signal for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalJob {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub signal: SignalNumber,
    pub whom: Reached,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobSignal {
    /// It is on its way to them.
    Sent,
    /// None of those that were meant is there: nothing was sent.
    Nobody,
    /// It could not be sent: why, in a sentence.
    Failed(String),
}

/// Answers [`SignalJob`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalNews {
    pub question: u64,
    /// What became of it.
    pub signal: JobSignal,
}
