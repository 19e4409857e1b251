//! Groups of equivalent nodes under one leaf, with the sums of what is free in them. A search looks
//! at the nodes of a group only if its sums do not rule out a fit. A group has at most
//! [`NODES_MAX`] nodes, so that its sums are cheap to update when a node changes.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::bundle::BundleIndex;
use crate::model::cluster::free::Free;
use crate::model::cluster::node::Node;
use crate::model::cluster::switches::{SwitchIndex, Switches};
use crate::model::cluster::tally::Takes;
use common::resource::Resources;
use common::topology::Level;
use common::unit::{Bytes, Cpus, Gpus};
use std::collections::BTreeMap;

/// The most nodes of a group. A larger leaf has several groups.
pub(crate) const NODES_MAX: usize = 32;

/// A group's position among the groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupIndex(pub u32);

/// Nodes of the same GPU pool under the same leaf.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub nodes: Vec<NodeIndex>,
    /// Their leaf, if it is known.
    pub leaf: Option<SwitchIndex>,
    pub bundle: BundleIndex,
}

/// What the sums count of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<'a> {
    pub usable: bool,
    pub free: &'a Free,
}

/// What is free in a group, on usable nodes that no job holds whole. Each field is exact; together
/// they are only a bound, since the node with the most CPUs need not be the one with the most GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sums {
    /// Nodes where jobs may start.
    pub usable: u32,
    /// Bit f: a partly used node has f wholly free GPUs.
    pub broken: u128,
    /// Bit f: an idle node has f wholly free GPUs.
    pub idle: u128,
    /// The number of idle nodes.
    pub idle_nodes: u32,
    /// Thousandths of GPUs in all.
    pub milli: u32,
    /// Thousandths of GPUs in use.
    pub milli_used: u32,
    /// The most free thousandths of any one GPU.
    pub milli_max: u16,
    /// The most CPUs on one node.
    pub cpus_max: Cpus,
    /// The most memory on one node.
    pub memory_max: Bytes,
}

impl Sums {
    pub fn of<'a>(nodes: impl Iterator<Item = Counted<'a>>) -> Self {
        let mut sums = Self::default();
        for Counted { usable, free } in nodes {
            let all = free.gpu_milli_capacity();
            if !usable {
                continue;
            }
            sums.usable += 1;
            sums.milli += all;
            sums.milli_used += all - free.milli_sum();
            if free.closed {
                continue;
            }
            let gpus = free.gpus.count_ones().min(127);
            if free.is_idle() {
                sums.idle |= 1 << gpus;
                sums.idle_nodes += 1;
            } else {
                sums.broken |= 1 << gpus;
            }
            if sums.milli_max < 1000 {
                sums.milli_max = sums.milli_max.max(free.milli_max());
            }
            sums.cpus_max = sums.cpus_max.max(free.core_cpus);
            sums.memory_max = sums.memory_max.max(free.memory);
        }
        sums
    }

    /// The sums over several groups.
    pub fn sum_over<'s>(sums: impl Iterator<Item = &'s Self>) -> Self {
        sums.fold(Self::default(), |all, one| Self {
            usable: all.usable + one.usable,
            broken: all.broken | one.broken,
            idle: all.idle | one.idle,
            idle_nodes: all.idle_nodes + one.idle_nodes,
            milli: all.milli.saturating_add(one.milli),
            milli_used: all.milli_used.saturating_add(one.milli_used),
            milli_max: all.milli_max.max(one.milli_max),
            cpus_max: all.cpus_max.max(one.cpus_max),
            memory_max: all.memory_max.max(one.memory_max),
        })
    }

    /// Whether the sums show that no node holds this much.
    pub fn rule_out(&self, takes: Takes) -> bool {
        let Resources { cpus, memory, gpus } = takes.resources;
        cpus > self.cpus_max
            || (memory > self.memory_max)
            || (gpus > Gpus::ZERO && self.gpus_max().is_none_or(|most| most < gpus.0))
            || takes.milli.0 > u32::from(self.milli_max)
            || (takes.whole_node && self.idle_nodes == 0)
            || self.broken | self.idle == 0
    }

    /// The fewest wholly free GPUs, but at least `gpus`, on a partly used node.
    pub fn tightest_partly_used(&self, gpus: u32) -> Option<u32> {
        tightest(self.broken, gpus)
    }

    /// The fewest GPUs, but at least `gpus`, on an idle node.
    pub fn tightest_idle(&self, gpus: u32) -> Option<u32> {
        tightest(self.idle, gpus)
    }

    /// The most wholly free GPUs on one node.
    pub fn gpus_max(&self) -> Option<u32> {
        (127 - (self.broken | self.idle).leading_zeros() as i32).try_into().ok()
    }
}

fn tightest(mask: u128, gpus: u32) -> Option<u32> {
    let left = mask.checked_shr(gpus).unwrap_or(0);
    (left != 0).then(|| gpus + left.trailing_zeros())
}

/// Puts nodes into groups by leaf and equipment, at most [`NODES_MAX`] each, in the order of their
/// first nodes.
pub(crate) fn groups(nodes: &[Node], switches: &Switches) -> Vec<Group> {
    let mut open: BTreeMap<(Option<SwitchIndex>, Vec<&str>), usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (at, node) in (0..).map(NodeIndex).zip(nodes) {
        let leaf = node.position.switch_at_level(Level::Leaf);
        let leaf = leaf.and_then(|name| switches.find(Level::Leaf, name));
        let pool = node.class.kinds().iter().map(|(kind, _)| kind.0.as_str()).collect();
        let group = open.entry((leaf, pool)).or_insert(usize::MAX);
        if groups.get(*group).is_none_or(|group| group.nodes.len() >= NODES_MAX) {
            *group = groups.len();
            groups.push(Group { nodes: Vec::new(), leaf, bundle: BundleIndex(0) });
        }
        groups[*group].nodes.push(at);
    }
    groups
}
