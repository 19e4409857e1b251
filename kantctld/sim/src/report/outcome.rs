//! What a replay records for the report.

use super::{Heatmap, Series, SizeClass};
use common::id::QueueName;
use common::time::{Span, Time};
use common::unit::GpuMilli;
use trace::Node;

/// A node by its index in [`Outcome::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

/// One replay of one trace under one policy.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The policy's name.
    pub policy: String,
    pub placement: String,
    pub trace: String,
    /// The seed of random choices.
    pub seed: u64,
    /// The cluster, in the order of its file.
    pub nodes: Vec<Node>,
    /// Every job that the cluster could run at all.
    pub jobs: Vec<JobOutcome>,
    /// The numbers of jobs that the cluster cannot hold even if idle.
    pub never_fit: Vec<u64>,
    /// Jobs that the policy did not admit.
    pub refused: Vec<RefusedJob>,
    /// The cluster after every pass of the scheduler.
    pub series: Series,
    /// Which nodes were busy when.
    pub heatmap: Heatmap,
    /// CPU time of the scheduler only, in seconds; zero if it was not measured.
    pub scheduler_cpu_seconds: f64,
    /// How many searches for nodes the rounds made.
    pub searches: u64,
    /// Starts, including repeated ones.
    pub starts: u64,
    /// Preemptions by reason.
    pub preemptions: Preemptions,
    /// The outcome of each queue, if there are several.
    pub teams: Vec<TeamOutcome>,
}

/// The outcome of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamOutcome {
    pub queue: QueueName,
    /// The GPUs it is guaranteed. `None`: it has no quota.
    pub quota: Option<GpuMilli>,
    /// The longest uninterrupted time in which one of its jobs waited that would have left it
    /// within its quota.
    pub below: Span,
    /// The same for jobs of at most one GPU.
    pub below_by_one: Span,
}

/// A job that would have been refused at submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedJob {
    /// Its number in the trace.
    pub id: u64,
    /// The reason, with what to do.
    pub why: String,
}

/// Preemptions of running jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preemptions {
    /// For jobs of higher priority.
    pub priority: u64,
    /// For queues that reclaimed lent quota.
    pub reclaim: u64,
    /// Of backfilled jobs, for the first job of a queue that had waited too long.
    pub backfill: u64,
    /// To be moved.
    pub moves: u64,
}

impl Preemptions {
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.priority + self.reclaim + self.backfill + self.moves
    }
}

/// The outcome of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutcome {
    /// Its number in the trace.
    pub id: u64,
    pub submit: Time,
    /// Its first start. `None` if the replay ended before.
    pub start: Option<Time>,
    /// Its end. `None` if the replay ended before.
    pub end: Option<Time>,
    /// Its real run time, without work repeated after preemption.
    pub run: Span,
    /// The walltime it asked for.
    pub walltime: Option<Span>,
    /// The nodes of its last attempt.
    pub nodes: Vec<NodeIndex>,
    /// The total of GPUs it held.
    pub gpus: GpuMilli,
}

impl JobOutcome {
    /// The class in which its waiting time is reported.
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
