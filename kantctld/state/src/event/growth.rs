//! The progress of a running job that grows onto more nodes.

use crate::timeline::TimelineEvent;
use common::hostlist;
use common::id::NodeName;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};

/// How far a job has grown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Growth {
    /// It runs, and may take more nodes than it began with.
    MayGrow,
    /// It is given nodes, which prepare it.
    Given {
        /// The nodes, in rank order.
        joins: Vec<NodeName>,
    },
    /// Every joining node is ready, or only one joining node is left, which waits for no other:
    /// they may run it.
    Ready { nodes: Vec<NodeName> },
    /// The nodes that joined run it, and belong to its allocation.
    Grew {
        /// The number of tasks that it has now.
        tasks: Tasks,
        /// All nodes that it has now, in rank order.
        has: Vec<NodeName>,
        /// The nodes that joined.
        joined: Vec<NodeName>,
        /// All nodes that hold it.
        nodes: Vec<NodeName>,
    },
    /// A node failed to join. The job goes on without that node and those that were to join after
    /// it.
    NotJoined {
        /// The nodes that do not join.
        leaves: Vec<NodeName>,
        /// The reason, if the first of them gave one.
        why: Option<String>,
    },
}

impl Growth {
    /// The nodes whose desired state may have changed.
    pub(crate) fn touches(&self) -> &[NodeName] {
        match self {
            Self::MayGrow => &[],
            Self::Given { joins: nodes }
            | Self::Ready { nodes }
            | Self::Grew { nodes, .. }
            | Self::NotJoined { leaves: nodes, .. } => nodes,
        }
    }

    /// Whether a round may now decide something else.
    pub(crate) const fn wakes_scheduler(&self) -> bool {
        matches!(self, Self::MayGrow | Self::Grew { .. } | Self::NotJoined { .. })
    }

    /// The line in the job's timeline; `None` if the event is too small for one.
    pub(crate) fn timeline_event(&self) -> Option<TimelineEvent> {
        Some(match self {
            Self::MayGrow | Self::Ready { .. } => return None,
            Self::Given { joins } => TimelineEvent::Grows { joins: hostlist::compress(joins) },
            Self::Grew { tasks, has, joined, .. } => TimelineEvent::Grew {
                tasks: *tasks,
                has: hostlist::compress(has),
                joined: hostlist::compress(joined),
            },
            Self::NotJoined { leaves, why } => {
                TimelineEvent::DidNotGrow { leaves: hostlist::compress(leaves), why: why.clone() }
            }
        })
    }
}
