//! What is free under each leaf, summed over its groups.
//!
//! Source: Kant (arXiv 2510.01256) page 9, LeafGroup.

use crate::model::cluster::group::GroupIndex;
use crate::place::node_search::NodeSearch;
use common::topology::Level;

/// What is free under one leaf.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Leaf {
    pub usable: u32,
    pub idle_nodes: u32,
    pub milli: u32,
    pub milli_used: u32,
}

impl Leaf {
    pub const fn is_whole(&self) -> bool {
        self.usable > 0 && self.idle_nodes == self.usable
    }

    /// Free thousandths of GPUs.
    pub const fn milli_free(&self) -> u32 {
        self.milli - self.milli_used
    }
}

/// All leafs, by position. Nodes whose leaf is not known are in none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leafs(Vec<Leaf>);

impl Leafs {
    pub fn of(search: &NodeSearch<'_>) -> Self {
        let cluster = search.cluster();
        let mut leafs = vec![Leaf::default(); cluster.switches().count(Level::Leaf)];
        for (group, at) in cluster.groups().iter().zip(search.groups()) {
            let sums = search.sums(at);
            let Some(leaf) = group.leaf.and_then(|leaf| leafs.get_mut(leaf.0 as usize)) else {
                continue;
            };
            leaf.usable += sums.usable;
            leaf.idle_nodes += sums.idle_nodes;
            leaf.milli += sums.milli;
            leaf.milli_used += sums.milli_used;
        }
        Self(leafs)
    }

    pub fn of_group(&self, search: &NodeSearch<'_>, group: GroupIndex) -> Option<&Leaf> {
        let leaf = search.cluster().groups()[group.0 as usize].leaf?;
        self.0.get(leaf.0 as usize)
    }
}
