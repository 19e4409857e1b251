//! Why a job waits: typed, and each with a sentence that says what is missing. Never decides; the
//! engine does.

use super::bound::{Bound, Counted};
use crate::gpu::GpuKind;
use crate::id::{JobKey, NodeName, QueueName, ReservationName, SwitchName};
use crate::time::Time;
use crate::topology::Level;
use crate::unit::{Bytes, Cpus, Gpus, Nodes};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a job needs on one node, and how many such nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// So many nodes.
    pub nodes: Nodes,
    /// CPUs on each.
    pub cpus: Cpus,
    /// Memory on each.
    pub memory: Bytes,
    /// GPUs on each.
    pub gpus: Gpus,
    /// Of this kind.
    pub gpu_kind: Option<GpuKind>,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.gpus.0 > 0 {
            let kind = self.gpu_kind.as_ref().map(|k| format!("{k} ")).unwrap_or_default();
            parts.push(format!("{} {kind}GPU{}", self.gpus, plural(self.gpus.0)));
        }
        parts.push(format!("{} CPU{}", self.cpus, plural(self.cpus.0)));
        parts.push(format!("{} memory", self.memory));
        let on = match self.nodes.0 {
            1 => "on one node".to_owned(),
            n => format!("on each of {n} nodes"),
        };
        write!(f, "{} {on}", parts.join(", "))
    }
}

const fn level_text(level: Level) -> &'static str {
    match level {
        Level::NvlinkDomain => "NVLink domain",
        Level::Leaf => "leaf switch",
        Level::Spine => "spine switch",
        Level::Superspine => "superspine",
    }
}

const fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The node that comes nearest to a need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearest {
    /// The node.
    pub node: NodeName,
    /// CPUs free there.
    pub cpus: Cpus,
    /// Memory free there.
    pub memory: Bytes,
    /// GPUs free there.
    pub gpus: Gpus,
}

/// Why a job waits. One for each waiting job and round; never in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WaitReason {
    /// No round has looked at it yet.
    NotConsidered,
    /// Held by its user or an operator.
    Held,
    /// Not before a time.
    BeginTime {
        /// That time.
        at: Time,
    },
    /// Its last attempt did not get off the ground; the next is delayed.
    BackOff {
        /// Until then.
        until: Time,
    },
    /// Its queue is no longer configured.
    QueueGone {
        /// That queue.
        queue: QueueName,
    },
    /// Its array runs as many tasks as it may.
    ArrayLimit {
        /// The bound.
        limit: u32,
    },
    /// With it, its queue (or one above) would have more than it may.
    QuotaExceeded {
        /// The queue that has the quota.
        queue: QueueName,
        /// An isolated queue gets no more than its quota; a shared one borrows up to a bound, or
        /// until nobody has anything to lend.
        isolated: bool,
        /// The numbers.
        counted: Counted,
    },
    /// With it, somebody would have more than a limit allows.
    LimitReached {
        /// Whose limit.
        bound: Bound,
        /// The numbers.
        counted: Counted,
    },
    /// By its time limit it would not be over by its deadline.
    DeadlineTooNear {
        /// Its deadline.
        deadline: Time,
    },
    /// The reservation it runs in has not begun, is over, or is gone.
    ReservationClosed {
        /// That reservation.
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
        /// When it ends.
        to: Time,
    },
    /// Enough nodes have room, but not near enough to each other.
    Topology {
        /// They must be under one switch of this level.
        level: Level,
        /// So many nodes.
        need: Nodes,
        /// The switch with the most of them, and how many.
        best: Option<(SwitchName, Nodes)>,
        /// When running jobs will have made room, by their time limits.
        expected_at: Option<Time>,
    },
    /// Jobs were made to yield to it; it starts when they are gone.
    Preempting {
        /// So many.
        victims: u32,
        /// One of them.
        example: JobKey,
    },
    /// Its queue is strict: nobody passes its first job.
    BehindHead {
        /// That job.
        head: JobKey,
    },
    /// Jobs ordered before it wait for the same nodes.
    Priority {
        /// How many.
        ahead: u32,
        /// The next of them.
        next: JobKey,
    },
    /// Not enough is free.
    Resources {
        /// What it needs.
        need: Need,
        /// How many nodes have that free now.
        nodes_free: Nodes,
        /// The nearest miss.
        nearest: Option<Nearest>,
        /// When running jobs will have made room, by their time limits.
        expected_at: Option<Time>,
    },
    /// It would fit, were these nodes not down or drained.
    NodesUnavailable {
        /// What it needs.
        need: Need,
        /// How many nodes that could hold it are down or drained.
        unavailable: Nodes,
        /// One of them.
        example: NodeName,
    },
    /// No nodes of the cluster, free or not, can ever hold it.
    NeverFits {
        /// What it needs.
        need: Need,
        /// The most any node (of the kind, in the queue) has.
        largest: Option<Nearest>,
        /// How many nodes are large enough.
        nodes_fit: Nodes,
    },
}

impl WaitReason {
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
            Self::DeadlineTooNear { .. } => "DeadLine",
            Self::ReservationClosed { .. } | Self::NodesReserved { .. } => "Reservation",
            Self::Topology { .. } => "Resources",
            Self::Preempting { .. } | Self::BehindHead { .. } | Self::Priority { .. } => "Priority",
            Self::Resources { .. } => "Resources",
            Self::NodesUnavailable { .. } => "ReqNodeNotAvail",
            Self::NeverFits { .. } => "BadConstraints",
        }
    }
}

fn show_nearest(f: &mut fmt::Formatter<'_>, need: &Need, n: &Nearest, verb: &str) -> fmt::Result {
    if need.gpus.0 > 0 && n.gpus < need.gpus {
        write!(f, "{} {verb} {} GPU{}", n.node, n.gpus, plural(n.gpus.0))
    } else if n.cpus < need.cpus {
        write!(f, "{} {verb} {} CPU{}", n.node, n.cpus, plural(n.cpus.0))
    } else if n.memory < need.memory {
        write!(f, "{} {verb} {} memory", n.node, n.memory)
    } else {
        write!(f, "{} {verb} enough", n.node)
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConsidered => write!(f, "the scheduler has not looked at it yet"),
            Self::Held => write!(f, "held: `kantctl release` lets it go"),
            Self::BeginTime { at } => write!(f, "not before {at}, as asked with --begin"),
            Self::BackOff { until } => {
                write!(f, "its last attempt failed for no fault of its own; tried again at {until}")
            }
            Self::QueueGone { queue } => write!(
                f,
                "queue {queue} is no longer configured: cancel it, or add the queue to \
                 kantctld.toml again"
            ),
            Self::ArrayLimit { limit } => {
                write!(f, "its array already runs {limit} tasks, as many as it allows at once")
            }
            Self::QuotaExceeded { queue, isolated: true, counted } => write!(
                f,
                "queue {queue} has a quota of {} and neither lends nor borrows: {}",
                counted.limit_text(),
                counted
            ),
            Self::QuotaExceeded { queue, isolated: false, counted } => write!(
                f,
                "queue {queue} may have {}, what it could borrow included: {counted}",
                counted.limit_text(),
            ),
            Self::LimitReached { bound, counted } => {
                write!(f, "{bound} may have {} at once: {counted}", counted.limit_text())
            }
            Self::DeadlineTooNear { deadline } => {
                write!(f, "started now, it would not be over by its deadline, {deadline}")
            }
            Self::ReservationClosed { name, from: Some(from) } => {
                write!(f, "reservation {name} begins at {from}")
            }
            Self::ReservationClosed { name, from: None } => {
                write!(f, "reservation {name} is over or was removed")
            }
            Self::NodesReserved { name, from, to } => write!(
                f,
                "nodes it could have are kept for reservation {name} from {from} to {to}, and it \
                 would not be over before"
            ),
            Self::Topology { level, need, best, expected_at } => {
                write!(f, "needs {need} nodes under one {}", level_text(*level))?;
                match best {
                    Some((switch, nodes)) => write!(f, "; best is {switch} with {nodes} free")?,
                    None => write!(f, "; none has any free")?,
                }
                expected_at.map_or(Ok(()), |at| write!(f, "; expected by {at}"))
            }
            Self::Preempting { victims, example } => write!(
                f,
                "{victims} job{} ({example}, for one) make{} way for it",
                plural(*victims),
                if *victims == 1 { "s" } else { "" },
            ),
            Self::BehindHead { head } => {
                write!(f, "its queue is strict: nobody passes its first job, {head}")
            }
            Self::Priority { ahead, next } => {
                write!(f, "{ahead} job{} before it, next is {next}", plural(*ahead))
            }
            Self::Resources { need, nodes_free, nearest, expected_at } => {
                write!(f, "needs {need}")?;
                match nearest {
                    Some(n) if need.nodes.0 == 1 => {
                        write!(f, "; best is ")?;
                        show_nearest(f, need, n, "with")?;
                        write!(f, " free")?;
                    }
                    _ => write!(f, "; {nodes_free} have that free now")?,
                }
                match expected_at {
                    Some(at) => write!(f, "; expected by {at}"),
                    None => Ok(()),
                }
            }
            Self::NodesUnavailable { need, unavailable, example } => write!(
                f,
                "needs {need}; {unavailable} node{} that could hold it {} down or drained \
                 ({example}, for one): see `kantctl nodes`",
                plural(unavailable.0),
                if unavailable.0 == 1 { "is" } else { "are" },
            ),
            Self::NeverFits { need, largest, nodes_fit } => {
                write!(f, "needs {need}, which this cluster does not have: ")?;
                match largest {
                    _ if nodes_fit.0 > 0 => {
                        write!(f, "only {nodes_fit} node{} large enough", plural(nodes_fit.0))
                    }
                    Some(n) => show_nearest(f, need, n, "has at most"),
                    None => write!(f, "no node qualifies"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_names_the_need_the_nearest_node_and_the_time() {
        let reason = WaitReason::Resources {
            need: Need {
                nodes: Nodes(1),
                cpus: Cpus(8),
                memory: Bytes::from_mib(1024),
                gpus: Gpus(8),
                gpu_kind: None,
            },
            nodes_free: Nodes(0),
            nearest: Some(Nearest {
                node: NodeName::new("g-012").unwrap(),
                cpus: Cpus(64),
                memory: Bytes::from_mib(4096),
                gpus: Gpus(6),
            }),
            expected_at: Some(Time(1_700_000_000_000)),
        };
        assert_eq!(
            reason.to_string(),
            "needs 8 GPUs, 8 CPUs, 1G memory on one node; best is g-012 with 6 GPUs free; \
             expected by 2023-11-14T22:13:20Z"
        );
    }
}
