//! The sentence for each reason to wait, for readers without a manual. Advice that needs more than
//! the reason is given by `explain`.

use super::bound::{Counted, QuotaBound};
use super::need::write_nearest;
use super::wait::{Need, WaitReason};
use crate::id::QueueName;
use crate::topology::Level;
use std::fmt;

pub(super) const fn level_text(level: Level) -> &'static str {
    match level {
        Level::NvlinkDomain => "NVLink domain",
        Level::Leaf => "leaf switch",
        Level::Spine => "spine switch",
        Level::Superspine => "superspine switch",
    }
}

const fn along_with_gpus_text(need: &Need) -> &'static str {
    if need.gpus.0 > 0 { " along with free GPUs" } else { "" }
}

/// The ending of a noun after a count.
#[must_use]
pub const fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// What a quota allows a queue to hold, and why it allows no more.
fn quota(
    f: &mut fmt::Formatter<'_>,
    queue: &QueueName,
    bound: QuotaBound,
    counted: &Counted,
) -> fmt::Result {
    let limit = counted.limit_text();
    let (QuotaBound::AtMost { owed } | QuotaBound::Lent { owed }) = bound else {
        return write!(f, "queue {queue} has a quota of {limit} and neither lends nor borrows");
    };
    let is_lent = matches!(bound, QuotaBound::Lent { .. });
    let now = if is_lent { " now" } else { "" };
    let borrowed = counted.limit.saturating_sub(owed);
    write!(f, "queue {queue} may hold ")?;
    match (owed, borrowed) {
        (0, 0) if is_lent => {
            write!(f, "{limit} now: it has no quota, and nothing is left to borrow")
        }
        (0, 0) => write!(f, "{limit}: it has no quota and may borrow nothing"),
        (_, 0) if is_lent => {
            write!(f, "{limit} now, its own quota: nothing is left to borrow")
        }
        (_, 0) => write!(f, "{limit} and borrow no more"),
        (0, _) => write!(f, "{limit}{now}, which other queues lend it"),
        _ => {
            let (own, lent) =
                (counted.amount_without_unit(owed), counted.amount_without_unit(borrowed));
            let up_to = if is_lent { "" } else { "up to " };
            write!(f, "{limit}{now} ({own} of its own, {up_to}{lent} borrowed)")
        }
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConsidered => write!(f, "the scheduler has not looked at it yet"),
            Self::Unrecognized => write!(f, "a reason that only newer releases know"),
            Self::Held => write!(f, "held: release it with `kantctl release`"),
            Self::BeginTime { at } => {
                write!(f, "it may not start before {at}, as requested with --begin")
            }
            Self::BackOff { until } => {
                write!(f, "its last attempt failed through no fault of its own; retried at {until}")
            }
            Self::QueueGone { queue } => write!(
                f,
                "queue {queue} is no longer configured: cancel the job, or add the queue to \
                 kantctld.toml again"
            ),
            Self::Component { key } => write!(
                f,
                "starts together with component {key} of its job, which is held or not due yet"
            ),
            Self::ArrayLimit { limit } => write!(
                f,
                "its array already runs {limit} task{}, the most that it allows at once",
                plural(*limit)
            ),
            Self::QuotaExceeded { .. } | Self::LimitReached { .. } => self.write_bounds(f),
            Self::DeadlineTooNear { deadline } => write!(
                f,
                "it is too late to start: with its time limit it would end after its deadline, \
                 {deadline}"
            ),
            Self::ReservationClosed { name, from: Some(from) } => {
                write!(f, "its reservation {name} begins at {from}")
            }
            Self::ReservationClosed { name, from: None } => {
                write!(f, "its reservation {name} has ended or was removed")
            }
            Self::NodesReserved { name, from, to } => {
                write!(f, "free nodes are kept for reservation {name}, from {from} to {to}")
            }
            Self::Preempting { victims: 1, example } => {
                write!(f, "job {example} is making room for it")
            }
            Self::Preempting { victims, example } => {
                write!(f, "{victims} jobs are making room for it, including {example}")
            }
            Self::BehindHead { head } => write!(
                f,
                "job {head} is first in the same queue, which starts jobs strictly in order"
            ),
            Self::PrivateJobs => {
                write!(f, "jobs of other users go first, or are making room for it")
            }
            Self::Priority { ahead, next } => {
                write!(f, "free resources are kept for job {next}")?;
                match ahead.saturating_sub(1) {
                    0 => write!(f, ", which comes before it"),
                    others => write!(f, " and {others} more, which come before it"),
                }
            }
            Self::Dependency { .. } | Self::DependencyNever { .. } => {
                super::awaited::write_dependency(self, f)
            }
            Self::Topology { .. } | Self::NeverNear { .. } | Self::GroupPerNode { .. } => {
                super::topology::write_topology(self, f)
            }
            _ => self.write_room(f),
        }
    }
}

impl WaitReason {
    fn write_bounds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QuotaExceeded { queue, bound, counted } => {
                quota(f, queue, *bound, counted)?;
            }
            Self::LimitReached { bound, counted } => {
                write!(f, "{bound} may have {} at once", counted.limit_text())?;
            }
            _ => {}
        }
        match self {
            Self::QuotaExceeded { counted, .. } | Self::LimitReached { counted, .. } => {
                if self.is_for_ever() {
                    return write!(f, ", and {}: it never starts", counted.own_request_text());
                }
                match self {
                    Self::LimitReached { bound, .. } if bound.is_of_one_user() => {
                        write!(f, "; for this user, {counted}")
                    }
                    _ => write!(f, "; {counted}"),
                }
            }
            _ => Ok(()),
        }
    }

    /// Reasons about resources: free, available, or existing at all.
    fn write_room(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resources { need, nodes_free, nearest, expected_at } => {
                write!(f, "needs {need}")?;
                match nearest {
                    Some(n) if need.nodes.0 == 1 && need.gpus.0 > 0 && n.has_no_gpu() => {
                        match need.gpu_part {
                            None => write!(f, "; no node it may use has a free GPU")?,
                            Some(_) => {
                                write!(f, "; no node it may use has any part of a GPU free")?;
                            }
                        }
                    }
                    Some(n) if need.nodes.0 == 1 && n.gpus >= need.gpus && n.cpus.0 == 0 => {
                        write!(
                            f,
                            "; no node it may use has a free CPU{}",
                            along_with_gpus_text(need)
                        )?;
                    }
                    Some(n) if need.nodes.0 == 1 => {
                        write!(f, "; best is ")?;
                        write_nearest(f, need, n, true)?;
                        write!(f, " free")?;
                    }
                    _ if nodes_free.0 == 1 => write!(f, "; 1 node has that free now")?,
                    _ => write!(f, "; {nodes_free} nodes have that free now")?,
                }
                expected_at.map_or(Ok(()), |at| write!(f, "; expected by {at}"))
            }
            Self::NodesUnavailable { need, unavailable, example } => {
                write!(f, "needs {need}; ")?;
                match unavailable.0 {
                    1 => write!(f, "{example}, which could hold it, is down or drained"),
                    n => write!(
                        f,
                        "{n} nodes that could hold it are down or drained, including {example}"
                    ),
                }
            }
            Self::NoNodes => write!(f, "no node has connected to the controller yet"),
            Self::NeverFits { need, largest, nodes_fit } => {
                write!(f, "needs {need}, which this cluster does not have: ")?;
                match largest {
                    _ if nodes_fit.0 == 1 => write!(f, "only 1 node is large enough"),
                    _ if nodes_fit.0 > 1 => write!(f, "only {nodes_fit} nodes are large enough"),
                    Some(n) if n.has_no_gpu() && need.gpus.0 > 0 => match &need.gpu_kind {
                        Some(kind) => write!(f, "no node it may use has {kind} GPUs"),
                        None => write!(f, "no node it may use has GPUs for it"),
                    },
                    Some(n) => write_nearest(f, need, n, false),
                    None => write!(f, "no node satisfies the request"),
                }
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Nearest;
    use super::*;
    use crate::id::NodeName;
    use crate::time::Time;
    use crate::unit::{Bytes, Cpus, Gpus, Nodes};

    fn need(nodes: u32) -> Need {
        Need {
            nodes: Nodes(nodes),
            cpus: Cpus(8),
            memory: Bytes::from_mib(1024),
            gpus: Gpus(8),
            gpu_kind: None,
            gpu_part: None,
        }
    }

    #[test]
    fn a_shortage_names_the_need_the_nearest_node_and_the_time() {
        let reason = WaitReason::Resources {
            need: need(1),
            nodes_free: Nodes(0),
            nearest: Some(Box::new(Nearest {
                node: NodeName::new("g-012").unwrap(),
                cpus: Cpus(64),
                memory: Bytes::from_mib(4096),
                gpus: Gpus(6),
                gpu_part: None,
            })),
            expected_at: Some(Time(1_700_000_000_000)),
        };
        assert_eq!(
            reason.to_string(),
            "needs 8 GPUs, 8 CPUs, 1G memory on one node; best is g-012 with 6 GPUs free; \
             expected by 2023-11-14T22:13:20Z"
        );
    }

    #[test]
    fn a_count_of_one_is_singular() {
        let example: crate::id::JobKey = "7".parse().unwrap();
        let preempting = |victims| WaitReason::Preempting { victims, example }.to_string();
        assert_eq!(preempting(1), "job 7 is making room for it");
        assert_eq!(preempting(3), "3 jobs are making room for it, including 7");
        let unavailable = |nodes| {
            let example = NodeName::new("g1").unwrap();
            WaitReason::NodesUnavailable { need: need(2), unavailable: Nodes(nodes), example }
                .to_string()
        };
        assert!(unavailable(1).ends_with("; g1, which could hold it, is down or drained"));
        assert!(
            unavailable(2)
                .ends_with("; 2 nodes that could hold it are down or drained, including g1")
        );
        let never = |nodes_fit| {
            let nodes_fit = Nodes(nodes_fit);
            WaitReason::NeverFits { need: need(4), largest: None, nodes_fit }.to_string()
        };
        assert!(never(1).ends_with("only 1 node is large enough"));
        assert!(never(3).ends_with("only 3 nodes are large enough"));
        let next = example;
        let behind = |ahead| WaitReason::Priority { ahead, next }.to_string();
        assert_eq!(behind(1), "free resources are kept for job 7, which comes before it");
        assert_eq!(behind(3), "free resources are kept for job 7 and 2 more, which come before it");
    }
}
