//! The nodes of a snapshot as a list with an index by name. Never says what is free; `trial` does.

use crate::snapshot::Snapshot;
use common::id::NodeName;
use common::node::Inventory;
use std::collections::BTreeMap;

/// A node's position in the snapshot. Never outlives the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeIndex(pub usize);

/// The unchanging side of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    pub name: &'a NodeName,
    pub inventory: &'a Inventory,
    /// May jobs start here now?
    pub usable: bool,
}

/// All nodes.
#[derive(Debug)]
pub(crate) struct Cluster<'a> {
    nodes: Vec<Node<'a>>,
    by_name: BTreeMap<&'a NodeName, NodeIndex>,
}

impl<'a> Cluster<'a> {
    /// The nodes of a snapshot, in its order.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        Self::new(snapshot.nodes.iter().map(|node| Node {
            name: &node.name,
            inventory: &node.inventory,
            usable: node.unusable.is_none(),
        }))
    }

    /// These nodes.
    pub fn new(nodes: impl Iterator<Item = Node<'a>>) -> Self {
        let nodes: Vec<Node<'a>> = nodes.collect();
        let by_name = nodes.iter().enumerate().map(|(i, n)| (n.name, NodeIndex(i))).collect();
        Self { nodes, by_name }
    }

    /// A node of this list.
    pub fn node(&self, at: NodeIndex) -> Node<'a> {
        self.nodes[at.0]
    }

    /// Where a node is; `None`: not registered.
    pub fn find(&self, name: &NodeName) -> Option<NodeIndex> {
        self.by_name.get(name).copied()
    }

    /// All positions, rising.
    pub fn indices(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        (0..self.nodes.len()).map(NodeIndex)
    }
}
