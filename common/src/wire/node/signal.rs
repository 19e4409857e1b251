//! A signal for a running job's processes on one node. A signal that ends a job is a command in the
//! log instead.

use crate::id::AttemptId;
use crate::job::SignalNumber;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processes of a job that receive a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// The programs that were started in it: its steps.
    #[default]
    Steps,
    /// All processes of a job without steps. The process that runs the script is included only if
    /// it handles the signal or is the only one: a shell that waits for a program would end, and
    /// the job with it.
    Work,
    /// Only the process that runs the script.
    Script,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalJob {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub signal: SignalNumber,
    pub to: Reached,
}

/// The result of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobSignal {
    Sent,
    /// No such process exists: nothing was sent.
    NoProcess,
    /// The reason, in a sentence.
    Failed(String),
}

/// Answers [`SignalJob`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalNews {
    pub question: u64,
    pub signal: JobSignal,
}
