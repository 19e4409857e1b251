//! The first time at which enough nodes are ready at once. `earliest` supplies when each node is
//! ready.
//!
//! Source: the sweep line of computational geometry, over time.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::place::backfill::earliest::{Earliest, Size};
use common::time::Time;
use std::collections::BTreeMap;

/// Intervals of start times of many nodes, swept over time.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// (time, leaves, size, node): arrivals before departures at equal times.
    edges: Vec<(Time, bool, usize, NodeIndex)>,
}

impl Sweep {
    pub fn add(&mut self, size: usize, at: NodeIndex, from: Time, to: Time) {
        self.edges.push((from, false, size, at));
        if to < NEVER {
            self.edges.push((to, true, size, at));
        }
    }

    /// The first time at which every size has enough nodes.
    pub fn find(mut self, sizes: &[Size]) -> Option<Earliest> {
        self.edges.sort_unstable();
        let mut counts = vec![0_u32; sizes.len()];
        for number in 0..self.edges.len() {
            let (time, leaves, size, _) = self.edges[number];
            if leaves {
                counts[size] -= 1;
                continue;
            }
            counts[size] += 1;
            let is_last =
                self.edges.get(number + 1).is_none_or(|next| (next.0, next.1) != (time, false));
            if is_last && counts.iter().zip(sizes).all(|(count, size)| *count >= size.need) {
                let nodes = self.nodes_ready_at(time, sizes.len() - 1);
                return Some(Earliest { at: time, nodes });
            }
        }
        None
    }

    /// The nodes that are ready for the smallest part at a time, in order.
    fn nodes_ready_at(&self, time: Time, smallest: usize) -> Vec<NodeIndex> {
        let mut nodes: BTreeMap<NodeIndex, i32> = BTreeMap::new();
        for (at, leaves, size, node) in &self.edges {
            if *size == smallest && (*at < time || (*at == time && !leaves)) {
                *nodes.entry(*node).or_default() += if *leaves { -1 } else { 1 };
            }
        }
        nodes.into_iter().filter(|(_, count)| *count > 0).map(|(node, _)| node).collect()
    }
}
