//! Where resources were freed that plans had counted as in use. A job whose plan cannot improve
//! with what is free there need not be planned again. A node is forgotten only after all jobs were
//! checked.
//!
//! Source: ours; "compression" of A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, plans every
//! job again.

use crate::model::cluster::NodeIndex;
use std::collections::BTreeMap;

/// Nodes on which resources were freed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Freed {
    /// Possibly on all nodes.
    #[default]
    Everywhere,
    /// How often on each node.
    On(BTreeMap<NodeIndex, u32>),
}

impl Freed {
    pub const fn nowhere() -> Self {
        Self::On(BTreeMap::new())
    }

    /// Notes that resources were freed on this node.
    pub fn add(&mut self, at: NodeIndex) {
        if let Self::On(nodes) = self {
            *nodes.entry(at).or_default() += 1;
        }
    }

    pub fn take_back(&mut self, at: NodeIndex) {
        if let Self::On(nodes) = self
            && let Some(times) = nodes.get_mut(&at)
        {
            *times -= 1;
            if *times == 0 {
                nodes.remove(&at);
            }
        }
    }
}
