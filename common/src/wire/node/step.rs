//! Steps: programs that are started together in a job, which has a number for each. The first of
//! the job's nodes keeps the book: it gives out the numbers, and parts of the job to steps that
//! want a part to themselves. Never a program itself; those are tasks' business.

use super::attach::{StepHeard, StepPiece, StepSaid, StepSpeech, StepStreams};
use crate::cpuset::CpuSet;
use crate::id::{AttemptId, NodeName, TaskNumber};
use crate::job::{ExitStatus, SignalNumber};
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// Asks the first node of a job about its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskSteps {
    /// Repeated in the answer.
    pub question: u64,
    pub id: AttemptId,
    pub wish: StepWish,
}

/// What is asked about steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepWish {
    /// A number, and a part of the job.
    Open(StepAsk),
    /// It still runs; is there a word for it? Answered when there is one, or after so long.
    Hold {
        number: u32,
        wait: Span,
        /// Its streams, of one that others may attach to. Nodes of builds before do not read it,
        /// and answer with signals alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streams: Option<StepStreams>,
    },
    /// What its tasks wrote, since somebody listens. This and the next two only to a node whose
    /// Hello said that it reads them.
    Say {
        number: u32,
        piece: StepPiece,
    },
    /// What do its tasks write? Answered when there is something, or after so long.
    Listen {
        number: u32,
        /// From this byte of it on; `None`: what is kept of it, and what comes.
        from: Option<u64>,
        wait: Span,
    },
    /// Something for its tasks to read.
    Speak {
        number: u32,
        speech: StepSpeech,
    },
    Close {
        number: u32,
        exit: ExitStatus,
    },
    /// A signal for all of its tasks.
    Signal {
        number: u32,
        signal: SignalNumber,
    },
    List,
}

/// GPUs that a step asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepGpus {
    /// It may see all that the job has.
    #[default]
    All,
    /// So many on each of its nodes.
    PerNode(u32),
    /// So many for each of its tasks.
    PerTask(u32),
    /// So many on all of its nodes together.
    Total(u32),
}

/// A step to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepAsk {
    /// Chosen at random: the same one again is the same step.
    pub nonce: TaskNumber,
    pub name: String,
    /// Its nodes, and how many tasks each runs.
    pub tasks: Vec<(NodeName, u32)>,
    /// Nodes that would do as well as those, where there is more room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<NodeName>,
    /// CPUs for each task.
    pub cpus_each: u32,
    pub gpus: StepGpus,
    /// Nobody else of those that say the same may have them meanwhile.
    pub exclusive: bool,
    /// It counts as over, for others, when nobody holds it for so long.
    pub lease: Span,
}

/// A step's part of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepShare {
    pub node: NodeName,
    /// How many tasks it runs.
    pub tasks: u32,
    /// The CPUs: its own, or all of the job's there.
    pub cpus: CpuSet,
    /// The GPUs, by their places among the job's on that node, rising; `None`: all of them.
    pub gpus: Option<Vec<u32>>,
}

/// A step, for who looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepView {
    /// Its number in the job.
    pub number: u32,
    pub name: String,
    /// Its part of each node.
    pub shares: Vec<StepShare>,
    /// It shares them with no other that says the same.
    pub exclusive: bool,
    /// Since when, by the first node's clock.
    pub opened_at: Time,
    pub ended_at: Option<Time>,
    /// How it ended: the worst of its tasks.
    pub exit: Option<ExitStatus>,
}

/// Answers [`AskSteps`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepNews {
    pub question: u64,
    pub answer: StepAnswer,
}

/// What a job's first node says about its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepAnswer {
    Opened(StepView),
    /// Not now: others have what it asks for. In a sentence.
    Busy(String),
    /// Never, or there is none. In a sentence.
    Refused(String),
    /// Signals for it since the last time.
    Words(Vec<SignalNumber>),
    /// The same and more, for one that told of its streams.
    Heard(StepHeard),
    /// What its tasks wrote.
    Said(StepSaid),
    /// All of them, rising.
    List(Vec<StepView>),
    Done,
}
