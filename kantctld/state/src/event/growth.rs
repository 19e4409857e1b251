//! How nodes come to a job while it runs. Never which, or why.

use crate::story::StoryEvent;
use common::hostlist;
use common::id::NodeName;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};

/// How far a job is with growing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Growth {
    /// It runs, and takes more than it began with.
    MayGrow,
    /// It is given nodes, which are to prepare it.
    Given {
        /// Which, in rank order.
        joins: Vec<NodeName>,
    },
    /// Every node that joins it is ready, or one alone is left of them: all of them may run it.
    Ready { nodes: Vec<NodeName> },
    /// The nodes that joined it run it: it has them.
    Grew {
        /// It has so many tasks now.
        tasks: Tasks,
        /// On these nodes, in rank order.
        has: Vec<NodeName>,
        /// Those of them that joined it.
        joined: Vec<NodeName>,
        /// All that hold it.
        nodes: Vec<NodeName>,
    },
    /// A node failed to join it; it goes on without that and those that were to join after it.
    NotJoined {
        /// These do not join.
        leaves: Vec<NodeName>,
        /// Why, if the first of them said so.
        why: Option<String>,
    },
}

impl Growth {
    /// The nodes whose desired state may be another than before.
    pub(crate) fn touches(&self) -> &[NodeName] {
        match self {
            Self::MayGrow => &[],
            Self::Given { joins: nodes }
            | Self::Ready { nodes }
            | Self::Grew { nodes, .. }
            | Self::NotJoined { leaves: nodes, .. } => nodes,
        }
    }

    /// Could a round decide otherwise than before?
    pub(crate) const fn wakes_scheduler(&self) -> bool {
        matches!(self, Self::MayGrow | Self::Grew { .. } | Self::NotJoined { .. })
    }

    /// Its line in the job's story; `None`: it is too small for one.
    pub(crate) fn story(&self) -> Option<StoryEvent> {
        Some(match self {
            Self::MayGrow | Self::Ready { .. } => return None,
            Self::Given { joins } => StoryEvent::Grows { joins: hostlist::fold(joins) },
            Self::Grew { tasks, has, joined, .. } => StoryEvent::Grew {
                tasks: *tasks,
                has: hostlist::fold(has),
                joined: hostlist::fold(joined),
            },
            Self::NotJoined { leaves, why } => {
                StoryEvent::DidNotGrow { leaves: hostlist::fold(leaves), why: why.clone() }
            }
        })
    }
}
