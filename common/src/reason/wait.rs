//! Why a job waits, as data; `sentence` puts it in words. Never decides; the engine does.

use super::awaited::Awaited;
use super::bound::{Bound, Counted, QuotaBound};
use crate::gpu::GpuKind;
use crate::gpu_parts::PartSize;
use crate::id::{JobKey, NodeName, QueueName, ReservationName, SwitchName};
use crate::time::Time;
use crate::topology::Level;
use crate::unit::{Bytes, Cpus, Gpus, Nodes};
use serde::{Deserialize, Serialize};

/// What a job needs on one node, and how many such nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub nodes: Nodes,
    pub cpus: Cpus,
    pub memory: Bytes,
    pub gpus: Gpus,
    pub gpu_kind: Option<GpuKind>,
    /// Only so much of each of them; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_part: Option<PartSize>,
}

/// The node that comes nearest to a need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearest {
    pub node: NodeName,
    pub cpus: Cpus,
    pub memory: Bytes,
    /// GPUs free there; where parts are needed, those with room for one.
    pub gpus: Gpus,
    /// Where parts are needed: the most of one GPU that is free there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_part: Option<PartSize>,
}

/// Why a job waits. One for each waiting job and round; never in the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WaitReason {
    /// No round has looked at it yet.
    #[default]
    NotConsidered,
    /// Held by its user or an operator.
    Held,
    /// Not before a time.
    BeginTime { at: Time },
    /// Other jobs are not as far as it asked (`--dependency`).
    Dependency {
        /// What is still to come, the first few; nothing: that is the job's own to say.
        open: Vec<Awaited>,
        more: u32,
        /// One of all is enough.
        any: bool,
    },
    /// What it waits for of other jobs cannot come any more.
    DependencyNever {
        /// What cannot, the first few.
        failed: Vec<Awaited>,
        more: u32,
    },
    /// Its last attempt did not get off the ground; the next is delayed.
    BackOff { until: Time },
    /// Its queue is no longer configured.
    QueueGone { queue: QueueName },
    /// Its array runs as many tasks as it may.
    ArrayLimit { limit: u32 },
    /// With it, its queue (or one above) would have more than it may.
    QuotaExceeded {
        /// The queue that has the quota.
        queue: QueueName,
        /// Whether that is for ever, or until others lend more.
        bound: QuotaBound,
        counted: Counted,
    },
    /// With it, somebody would have more than a limit allows.
    LimitReached { bound: Bound, counted: Counted },
    /// By its time limit it would not be over by its deadline.
    DeadlineTooNear { deadline: Time },
    /// The reservation it runs in has not begun, is over, or is gone.
    ReservationClosed {
        name: ReservationName,
        /// When it begins; `None`: it is over or gone.
        from: Option<Time>,
    },
    /// It would fit, were nodes not kept for a reservation that begins before it would end.
    NodesReserved {
        /// That reservation, or one of them.
        name: ReservationName,
        /// When it begins or began.
        from: Time,
        to: Time,
    },
    /// Enough nodes have room, but not near enough to each other.
    Topology {
        /// They must be under one switch of this level.
        level: Level,
        need: Nodes,
        /// The switch with the most of them, and how many.
        best: Option<(SwitchName, Nodes)>,
        /// When running jobs will have made room, by their time limits.
        expected_at: Option<Time>,
    },
    /// Jobs were made to yield to it; it starts when they are gone.
    Preempting { victims: u32, example: JobKey },
    /// It starts together with a component of its job that is held, or whose time has not come.
    Component { key: JobKey },
    /// Its queue is strict: nobody passes its first job.
    BehindHead { head: JobKey },
    /// Jobs ordered before it wait for the same nodes.
    Priority {
        ahead: u32,
        /// The next of them.
        next: JobKey,
    },
    /// Not enough is free.
    Resources {
        need: Need,
        /// How many nodes have that free now.
        nodes_free: Nodes,
        nearest: Option<Box<Nearest>>,
        /// When running jobs will have made room, by their time limits.
        expected_at: Option<Time>,
    },
    /// It would fit, were these nodes not down or drained.
    NodesUnavailable {
        need: Need,
        /// How many nodes that could hold it are down or drained.
        unavailable: Nodes,
        example: NodeName,
    },
    /// So many nodes that could hold it are nowhere near enough to each other, free or not.
    NeverNear {
        /// They must be under one switch of this level.
        level: Level,
        need: Nodes,
        /// The switch with the most of them, and how many.
        best: Option<(SwitchName, Nodes)>,
    },
    /// No node has connected yet, so nobody knows what the cluster can hold.
    NoNodes,
    /// No nodes of the cluster, free or not, can ever hold it.
    NeverFits {
        need: Need,
        /// The most any node (of the kind, in the queue) has.
        largest: Option<Box<Nearest>>,
        /// How many nodes are large enough.
        nodes_fit: Nodes,
    },
}

impl WaitReason {
    /// Will it wait for ever, unless the job, the nodes or the configuration change?
    #[must_use]
    pub const fn is_for_ever(&self) -> bool {
        match self {
            Self::NeverFits { .. } | Self::NeverNear { .. } | Self::DependencyNever { .. } => true,
            Self::LimitReached { counted, .. } => counted.is_beyond(),
            Self::QuotaExceeded { bound, counted, .. } => {
                !matches!(bound, QuotaBound::Lent { .. }) && counted.is_beyond()
            }
            _ => false,
        }
    }

    /// Slurm's word for it (man squeue, "JOB REASON CODES").
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotConsidered => "None",
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
            Self::Topology { .. } => "Resources",
            Self::Preempting { .. } | Self::BehindHead { .. } | Self::Priority { .. } => "Priority",
            Self::Resources { .. } => "Resources",
            Self::NodesUnavailable { .. } | Self::NoNodes => "ReqNodeNotAvail",
            Self::NeverFits { .. } | Self::NeverNear { .. } => "BadConstraints",
        }
    }
}
