//! Reasons why a job waits, as data; `sentence` has the text of each.

use super::awaited::Awaited;
use super::bound::{Bound, Counted, QuotaBound};
use crate::gpu::GpuKind;
use crate::gpu_parts::PartSize;
use crate::id::{JobKey, NodeName, QueueName, ReservationName, SwitchName};
use crate::time::Time;
use crate::topology::Level;
use crate::unit::{Bytes, Cpus, Gpus, Nodes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a job needs on each node, and the number of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    pub nodes: Nodes,
    pub cpus: Cpus,
    pub memory: Bytes,
    pub gpus: Gpus,
    pub gpu_kind: Option<GpuKind>,
    /// The fraction of each GPU; `None`: whole GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_part: Option<PartSize>,
}

/// The node that is closest to satisfying a need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nearest {
    pub node: NodeName,
    pub cpus: Cpus,
    pub memory: Bytes,
    /// Free GPUs; for fractions, the GPUs with room for one.
    pub gpus: Gpus,
    /// For fractions: the largest free fraction of one GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_part: Option<PartSize>,
}

/// Why a job waits. Recomputed in each round for each waiting job; never in the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WaitReason {
    /// No round has considered the job yet.
    #[default]
    NotConsidered,
    Held,
    /// The requested begin time has not come.
    BeginTime {
        at: Time,
    },
    /// Other jobs do not satisfy the dependency yet (`--dependency`).
    Dependency {
        /// The first few open conditions; empty: the job itself knows them.
        open: Vec<Awaited>,
        more: u32,
        /// One satisfied condition is enough.
        any: bool,
    },
    /// The dependency can no longer be satisfied.
    DependencyNever {
        /// The first few conditions that failed.
        failed: Vec<Awaited>,
        more: u32,
    },
    /// The last attempt failed to launch; the next one is delayed.
    BackOff {
        until: Time,
    },
    /// The job's queue is no longer configured.
    QueueGone {
        queue: QueueName,
    },
    /// The array already runs as many tasks as it allows.
    ArrayLimit {
        limit: u32,
    },
    /// The job would take its queue, or a queue above it, over its quota.
    QuotaExceeded {
        /// The queue that owns the quota.
        queue: QueueName,
        /// Whether the bound is fixed or depends on what others lend.
        bound: QuotaBound,
        counted: Counted,
    },
    /// The job would exceed a limit of a queue, user, account or QoS.
    LimitReached {
        bound: Bound,
        counted: Counted,
    },
    /// With its time limit the job would end after its deadline.
    DeadlineTooNear {
        deadline: Time,
    },
    /// The job's reservation has not begun, has ended, or was removed.
    ReservationClosed {
        name: ReservationName,
        /// `None`: it has ended or was removed.
        from: Option<Time>,
    },
    /// The nodes are reserved from a time before the job would end.
    NodesReserved {
        /// One of the reservations.
        name: ReservationName,
        /// The begin, which may be past.
        from: Time,
        to: Time,
    },
    /// Enough nodes have room, but they are not close enough to each other.
    Topology {
        /// The nodes must be under one switch of this level.
        level: Level,
        need: Nodes,
        /// The switch with the most such nodes, and their number.
        best: Option<(SwitchName, Nodes)>,
        /// The time by which running jobs free enough, by their time limits.
        expected_at: Option<Time>,
    },
    /// Nodes have room, but as many jobs of the job's group as may share a node.
    GroupPerNode {
        group: String,
        /// How many of them may be on a node.
        most: u32,
        /// The nodes that have room for a part of the job.
        nodes: Nodes,
        /// The time by which enough jobs end, by their time limits.
        expected_at: Option<Time>,
    },
    /// Victims are stopping or shrinking; the job starts when they are done.
    Preempting {
        victims: u32,
        example: JobKey,
    },
    /// Another component of the job is held, or its begin time has not come.
    Component {
        key: JobKey,
    },
    /// The queue is strict: no job starts before its first one.
    BehindHead {
        head: JobKey,
    },
    /// Jobs that the reader does not see go first, or make room for it.
    PrivateJobs,
    /// Jobs earlier in the order wait for the same nodes.
    Priority {
        ahead: u32,
        next: JobKey,
    },
    /// Not enough resources are free.
    Resources {
        need: Need,
        /// Nodes on which the need is free now.
        nodes_free: Nodes,
        nearest: Option<Box<Nearest>>,
        /// The time by which running jobs free enough, by their time limits.
        expected_at: Option<Time>,
    },
    /// The job would fit if these nodes were not down or drained.
    NodesUnavailable {
        need: Need,
        unavailable: Nodes,
        example: NodeName,
    },
    /// The cluster never has enough suitable nodes close to each other, free or not.
    NeverNear {
        /// The nodes must be under one switch of this level.
        level: Level,
        need: Nodes,
        /// The switch with the most suitable nodes, and their number.
        best: Option<(SwitchName, Nodes)>,
    },
    /// No node has connected yet, so the cluster's capacity is unknown.
    NoNodes,
    /// No set of existing nodes, free or not, can hold the job.
    NeverFits {
        need: Need,
        /// The largest amounts on any node of the kind and queue.
        largest: Option<Box<Nearest>>,
        /// Nodes that are large enough.
        nodes_fit: Nodes,
    },
    /// In an answer of a newer release: a reason that this release does not know.
    #[serde(other)]
    Unrecognized,
}

impl WaitReason {
    /// The reason without hidden jobs: it neither names them nor says how far they are.
    #[must_use]
    pub fn without_hidden_jobs(self, is_hidden: impl Fn(JobKey) -> bool) -> Self {
        let without = |terms: Vec<Awaited>| -> Vec<Awaited> {
            let blank = |term: Awaited| match is_hidden(term.on) {
                true => term.without_progress(),
                false => term,
            };
            terms.into_iter().map(blank).collect()
        };
        match self {
            Self::Preempting { example: key, .. }
            | Self::BehindHead { head: key }
            | Self::Priority { next: key, .. }
                if is_hidden(key) =>
            {
                Self::PrivateJobs
            }
            Self::Dependency { open, more, any } => {
                Self::Dependency { open: without(open), more, any }
            }
            Self::DependencyNever { failed, more } => {
                Self::DependencyNever { failed: without(failed), more }
            }
            other => other,
        }
    }

    /// The expected start, of a reason that may have one.
    pub const fn expected_at_mut(&mut self) -> Option<&mut Option<Time>> {
        match self {
            Self::Resources { expected_at, .. }
            | Self::Topology { expected_at, .. }
            | Self::GroupPerNode { expected_at, .. } => Some(expected_at),
            _ => None,
        }
    }

    /// Does the job wait until the job, the nodes or the configuration change?
    #[must_use]
    pub const fn is_for_ever(&self) -> bool {
        match self {
            Self::NeverFits { .. } | Self::NeverNear { .. } | Self::DependencyNever { .. } => true,
            Self::LimitReached { counted, .. } => counted.alone_exceeds_limit(),
            Self::QuotaExceeded { bound, counted, .. } => {
                !matches!(bound, QuotaBound::Lent { .. }) && counted.alone_exceeds_limit()
            }
            _ => false,
        }
    }

    /// The Slurm reason code (man squeue, "JOB REASON CODES").
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotConsidered | Self::Unrecognized => "None",
            Self::Held => "JobHeldUser",
            Self::BeginTime { .. } | Self::BackOff { .. } => "BeginTime",
            Self::QueueGone { .. } => "PartitionDown",
            Self::ArrayLimit { .. } => "JobArrayTaskLimit",
            Self::QuotaExceeded { .. } => "AssocGrpGRES",
            Self::LimitReached { bound, counted } => bound.code(counted.what),
            Self::Component { .. } | Self::Dependency { .. } => "Dependency",
            Self::DependencyNever { .. } => "DependencyNeverSatisfied",
            Self::DeadlineTooNear { .. } => "DeadLine",
            Self::ReservationClosed { .. } | Self::NodesReserved { .. } => "Reservation",
            Self::Topology { .. } | Self::GroupPerNode { .. } => "Resources",
            Self::Preempting { .. }
            | Self::BehindHead { .. }
            | Self::PrivateJobs
            | Self::Priority { .. } => "Priority",
            Self::Resources { .. } => "Resources",
            Self::NodesUnavailable { .. } | Self::NoNodes => "ReqNodeNotAvail",
            Self::NeverFits { .. } | Self::NeverNear { .. } => "BadConstraints",
        }
    }
}
