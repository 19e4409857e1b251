//! The nodes by name. Each share of a job is found by the name of its node, several times, so this
//! is a table of hashes: a search in an ordered map reads a dozen other names.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::Node;
use common::id::NodeName;

/// An open-addressing table of the indices of nodes.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// A power of two of slots, at least half of them empty; an index is near the slot of its hash.
    slots: Vec<Option<NodeIndex>>,
}

impl Names {
    pub fn of(nodes: &[Node]) -> Self {
        let mut names = Self { slots: vec![None; (2 * nodes.len()).next_power_of_two()] };
        for (at, node) in (0..).map(NodeIndex).zip(nodes) {
            let free = names.slots_of(&node.name).find(|slot| names.slots[*slot].is_none());
            if let Some(slot) = free {
                names.slots[slot] = Some(at);
            }
        }
        names
    }

    /// The position of a node among these. `None`: it is none of them.
    pub fn find(&self, nodes: &[Node], name: &NodeName) -> Option<NodeIndex> {
        let known = self.slots_of(name).map_while(|slot| self.slots[slot]);
        known.into_iter().find(|at| nodes[at.at()].name == *name)
    }

    /// The slots where this name may be, the most likely one first.
    fn slots_of(&self, name: &NodeName) -> impl Iterator<Item = usize> + use<> {
        // FNV-1a.
        let hash = name.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let (count, first) = (self.slots.len(), (hash ^ (hash >> 32)) as usize);
        (0..count).map(move |step| first.wrapping_add(step) & (count - 1))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{gpu_node, name, snapshot};

    #[test]
    fn each_node_is_found_by_its_name_and_no_other_is() {
        for count in [0, 1, 2, 3, 100] {
            let names: Vec<String> = (0..count).map(|at| format!("n{at}")).collect();
            let mut snapshot = snapshot(names.iter().map(|name| gpu_node(name, 1)).collect());
            snapshot.settle(common::time::Time(0));
            let cluster = &snapshot.cluster;
            for (at, node) in cluster.nodes() {
                assert_eq!(cluster.find(&node.name), Some(at));
            }
            assert_eq!(cluster.find(&name("other")), None);
        }
    }
}
