//! Steps: programs that are started together in a job, each step with a number. The job's first
//! node keeps the step ledger: it assigns numbers, and parts of the job to exclusive steps.

use super::attach::{StepHeard, StepPiece, StepSaid, StepSpeech, StepStreams};
use crate::cpuset::CpuSet;
use crate::id::{AttemptId, NodeName, TaskNumber};
use crate::job::{ExitStatus, SignalNumber};
use crate::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request to the first node of a job about its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskSteps {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub wish: StepWish,
}

/// A request about steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepWish {
    /// Opens a step: assigns a number and a part of the job.
    Open(StepAsk),
    /// Renews the step's lease. Answered when there is a message for the step, or after `wait`.
    Hold {
        number: u32,
        wait: Span,
        /// The streams of a step to which clients may attach.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streams: Option<StepStreams>,
    },
    /// Output of the step's tasks, for attached clients.
    Say {
        number: u32,
        piece: StepPiece,
    },
    /// Requests output of the step's tasks. Answered when there is some, or after `wait`.
    Listen {
        number: u32,
        /// The offset; `None`: the stored output and all that follows.
        from: Option<u64>,
        wait: Span,
    },
    /// Input for the step's tasks.
    Speak {
        number: u32,
        speech: StepSpeech,
    },
    Close {
        number: u32,
        exit: ExitStatus,
    },
    /// A signal for all of the step's tasks.
    Signal {
        number: u32,
        signal: SignalNumber,
    },
    List,
}

/// The GPUs of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepGpus {
    /// All of the job's GPUs.
    #[default]
    All,
    PerNode(u32),
    PerTask(u32),
    Total(u32),
}

/// A request for a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepAsk {
    /// A random number that makes a retry safe: it names the same step.
    pub nonce: TaskNumber,
    pub name: String,
    /// The nodes, and the number of tasks on each.
    pub tasks: Vec<(NodeName, u32)>,
    /// Equally suitable nodes, for when those have no room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<NodeName>,
    /// CPUs per task.
    pub cpus_each: u32,
    pub gpus: StepGpus,
    /// No other exclusive step may use its part at the same time.
    pub exclusive: bool,
    /// The time without renewal after which the step counts as ended.
    pub lease: Span,
}

/// A step's part of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepShare {
    pub node: NodeName,
    /// The number of its tasks.
    pub tasks: u32,
    /// Its own CPUs, or all of the job's there.
    pub cpus: CpuSet,
    /// Positions among the job's GPUs on that node, in ascending order; `None`: all of them.
    pub gpus: Option<Vec<u32>>,
}

/// A step, for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepView {
    pub number: u32,
    pub name: String,
    pub shares: Vec<StepShare>,
    /// It shares its part with no other exclusive step.
    pub exclusive: bool,
    /// By the first node's clock.
    pub opened_at: Time,
    pub ended_at: Option<Time>,
    /// The worst exit of its tasks.
    pub exit: Option<ExitStatus>,
}

/// Answers [`AskSteps`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepNews {
    pub question: u64,
    pub answer: StepAnswer,
}

/// The answer of a job's first node about its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepAnswer {
    Opened(StepView),
    /// Not now: other steps have the requested part. A sentence.
    Busy(String),
    /// Never possible, or no such step. A sentence.
    Refused(String),
    /// Signals since the last answer.
    Words(Vec<SignalNumber>),
    /// Signals and input, for a step that reported its streams.
    Heard(StepHeard),
    /// Output of the step's tasks.
    Said(StepSaid),
    /// All steps, in ascending order.
    List(Vec<StepView>),
    Done,
}
