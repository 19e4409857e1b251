//! What a replay hands to the report. Never computed here: a replay fills it.

use super::{Heatmap, Series, SizeClass};
use crate::trace::Node;
use common::id::QueueName;
use common::time::{Span, Time};
use common::unit::GpuMilli;

/// A node by its place in [`Outcome::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

/// One replay of one trace under one policy.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The queue policy's name.
    pub policy: String,
    pub placement: String,
    pub trace: String,
    /// The seed of whatever was drawn.
    pub seed: u64,
    /// The cluster, in the order of its file.
    pub nodes: Vec<Node>,
    /// Every job that the cluster could run at all.
    pub jobs: Vec<JobOutcome>,
    /// The numbers of those it could not, however empty.
    pub never_fit: Vec<u64>,
    /// Those that the policy did not let in.
    pub refused: Vec<RefusedJob>,
    /// The cluster after every pass of the scheduler.
    pub series: Series,
    /// Which nodes were busy when.
    pub heatmap: Heatmap,
    /// CPU time of the scheduler alone, in seconds; zero if nobody measured it.
    pub scheduler_cpu_seconds: f64,
    /// How often rounds searched for nodes that hold a job.
    pub searches: u64,
    /// Starts, repeated ones counted.
    pub starts: u64,
    /// Preemptions by what for.
    pub preemptions: Preemptions,
    /// What became of each queue, where there is more than one.
    pub teams: Vec<TeamOutcome>,
}

/// What became of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamOutcome {
    pub queue: QueueName,
    /// The GPUs that it is owed; `None`: nothing is said.
    pub quota: Option<GpuMilli>,
    /// The longest time without a break in which one of its jobs waited that would have left it
    /// within its quota.
    pub below: Span,
    /// The same of jobs of one GPU or less.
    pub below_by_one: Span,
}

/// A job that would have been refused at its submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedJob {
    /// Its number in the trace.
    pub id: u64,
    /// In a sentence, with what to do.
    pub why: String,
}

/// How often running jobs had to yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preemptions {
    /// To jobs of higher priority.
    pub priority: u64,
    /// To queues that took lent quota back.
    pub reclaim: u64,
    /// As backfilled jobs, to a head of queue that had waited too long.
    pub backfill: u64,
    /// To go on elsewhere.
    pub moves: u64,
}

impl Preemptions {
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.priority + self.reclaim + self.backfill + self.moves
    }
}

/// What became of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutcome {
    /// Its number in the trace.
    pub id: u64,
    /// When it was submitted.
    pub submit: Time,
    /// Its first start; nothing if the replay ended before.
    pub start: Option<Time>,
    /// When it was done; nothing if the replay ended before.
    pub end: Option<Time>,
    /// Its true run time, without what preemption made it repeat.
    pub run: Span,
    /// The walltime it asked for.
    pub walltime: Option<Span>,
    /// The nodes of its last attempt.
    pub nodes: Vec<NodeIndex>,
    /// What it held of all GPUs together.
    pub gpus: GpuMilli,
}

impl JobOutcome {
    /// The class its waiting time is reported in.
    #[must_use]
    pub fn size(&self) -> SizeClass {
        SizeClass::of(self.gpus)
    }

    /// From its submission to its first start.
    #[must_use]
    pub fn wait(&self) -> Option<Span> {
        self.start.map(|start| start.since(self.submit))
    }
}
