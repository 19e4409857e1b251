//! Where resources were freed that plans had counted as in use. A job whose plan cannot improve
//! with what is free there need not be planned again. A node is forgotten only after all jobs were
//! checked.
//!
//! Source: ours; "compression" of A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, plans every
//! job again.

use crate::model::cluster::NodeIndex;

/// Nodes on which resources were freed.
#[derive(Debug, Clone, Default)]
pub(crate) enum Freed {
    /// Possibly on all nodes.
    #[default]
    Everywhere,
    /// How often on each node. Nodes after the last one have none.
    On(Vec<u32>),
}

impl Freed {
    pub const fn nowhere() -> Self {
        Self::On(Vec::new())
    }

    /// Notes that resources were freed on this node.
    pub fn add(&mut self, at: NodeIndex) {
        let Self::On(times) = self else { return };
        if times.len() <= at.at() {
            times.resize(at.at() + 1, 0);
        }
        times[at.at()] += 1;
    }

    pub fn take_back(&mut self, at: NodeIndex) {
        if let Self::On(times) = self
            && let Some(times) = times.get_mut(at.at())
        {
            *times = times.saturating_sub(1);
        }
    }

    /// The nodes on which resources were freed, ascending. `None`: possibly all.
    pub fn nodes(&self) -> Option<impl Iterator<Item = NodeIndex> + '_> {
        let Self::On(times) = self else { return None };
        let nodes = (0..).map(NodeIndex).zip(times);
        Some(nodes.filter(|(_, times)| **times > 0).map(|(at, _)| at))
    }
}
