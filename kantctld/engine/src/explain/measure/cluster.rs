//! The cluster as the metrics see it: sums over its nodes, taken from its groups' sums wherever all
//! nodes of a group are idle or all are in use. Nodes that are down do not count. What is free on a
//! drained node counts as neither free nor useless.

use super::{
    fragmentation_ratio, gpu_allocation_rate, gpu_fragmentation_rate, is_partly_used,
    unusable_free_gpus,
};
use crate::model::cluster::ClusterIndex;
use crate::model::cluster::class::{Class, bits};
use crate::model::cluster::group::{Group, Sums};
use crate::model::cluster::node::Node;
use crate::model::node_snapshot::Unusable;
use crate::model::snapshot::Snapshot;
use crate::model::typical::Typical;
use crate::place::score::fgd::fragmentation;
use common::gpu::GpuKind;
use common::topology::Level;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Nodes};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The GPUs of a job that fills a typical node.
const EIGHT: Gpus = Gpus(8);

/// GPUs of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KindMeasure {
    pub gpus: Gpus,
    pub used: GpuMilli,
}

/// The cluster's nodes with GPUs that are not down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterMeasure {
    pub gpus: Gpus,
    pub used: GpuMilli,
    /// The same by kind.
    pub kinds: BTreeMap<GpuKind, KindMeasure>,
    pub nodes: Nodes,
    /// Nodes with any GPU in use.
    pub nodes_used: Nodes,
    /// Nodes with some GPUs in use and some free.
    pub nodes_broken: Nodes,
    /// Idle nodes where jobs may start.
    pub nodes_free: Nodes,
    /// Leaf groups with GPUs.
    pub leaf_groups: u32,
    /// Leaf groups whose nodes with GPUs are all idle and usable.
    pub leaf_groups_free: u32,
    /// Free GPUs on usable nodes.
    pub free: GpuMilli,
    /// Free GPUs that jobs of 8 GPUs on one node cannot use.
    pub useless_to_8: GpuMilli,
}

impl ClusterMeasure {
    /// GPU allocation rate, of all GPUs on nodes that are not down.
    #[must_use]
    pub fn gpu_allocation_rate(&self) -> Option<f64> {
        gpu_allocation_rate(self.used, GpuMilli::WHOLE.times(self.gpus.0))
    }

    /// GPU fragmentation rate, of all nodes with GPUs that are not down.
    #[must_use]
    pub fn gpu_fragmentation_rate(&self) -> Option<f64> {
        gpu_fragmentation_rate(self.nodes_broken, self.nodes)
    }

    /// The same, of those with any GPU in use.
    #[must_use]
    pub fn fragmentation_rate_of_used(&self) -> Option<f64> {
        gpu_fragmentation_rate(self.nodes_broken, self.nodes_used)
    }

    /// `FR_8`, of the free GPUs on usable nodes.
    #[must_use]
    pub fn fragmentation_ratio_of_8(&self) -> f64 {
        fragmentation_ratio(self.useless_to_8, self.free)
    }

    fn add_node(&mut self, node: &Node) {
        let free = &node.free;
        let all = GpuMilli(free.gpu_milli_capacity());
        let used = all - GpuMilli(free.milli_sum());
        self.nodes += Nodes(1);
        self.gpus += Gpus(all.0 / 1000);
        self.used += used;
        self.nodes_used.0 += u32::from(used.0 > 0);
        self.nodes_broken.0 += u32::from(is_partly_used(used, all));
        if node.is_usable() {
            self.nodes_free.0 += u32::from(free.is_idle());
            self.free += GpuMilli(free.milli_sum());
            self.useless_to_8 += unusable_free_gpus(
                EIGHT,
                GpuMilli(free.milli_sum()),
                free.whole_count(&node.class),
            );
        }
        for (kind, mask) in node.class.kinds() {
            let used = |at: usize| GpuMilli::WHOLE - GpuMilli(u32::from(free.milli_of(at)));
            let used = bits(*mask).map(used).sum();
            self.add_kind(kind, Gpus(mask.count_ones()), used);
        }
    }

    fn add_kind(&mut self, kind: &GpuKind, gpus: Gpus, used: GpuMilli) {
        if !self.kinds.contains_key(kind) {
            self.kinds.insert(kind.clone(), KindMeasure::default());
        }
        if let Some(sum) = self.kinds.get_mut(kind) {
            sum.gpus += gpus;
            sum.used += used;
        }
    }

    /// Adds a group by its sums if they suffice: all of its nodes are usable, have one kind of GPU,
    /// and are all idle and equal, or wholly in use. Returns whether they do.
    fn try_add_group_sums(&mut self, class: &Class, count: u32, sums: &Sums) -> bool {
        let [(kind, _)] = class.kinds() else { return false };
        if class.has_mig() {
            return false;
        }
        let is_idle = sums.idle_nodes == count && sums.idle.is_power_of_two();
        let is_full = sums.milli_used == sums.milli;
        if sums.usable != count || !(is_idle || is_full) {
            return false;
        }
        self.nodes += Nodes(count);
        self.gpus += Gpus(sums.milli / 1000);
        self.used += GpuMilli(sums.milli_used);
        self.add_kind(kind, Gpus(sums.milli / 1000), GpuMilli(sums.milli_used));
        if is_full {
            self.nodes_used += Nodes(count);
            return true;
        }
        let each = Gpus(sums.milli / 1000 / count);
        let useless = unusable_free_gpus(EIGHT, GpuMilli::WHOLE.times(each.0), each);
        self.nodes_free += Nodes(count);
        self.free += GpuMilli(sums.milli);
        self.useless_to_8 += useless.times(count);
        true
    }
}

/// One leaf, by its nodes with GPUs that are not down.
#[derive(Debug, Clone, Copy, Default)]
struct Leaf {
    nodes: u32,
    free: u32,
}

/// Measures the cluster. The cost grows with the number of partly used groups, not of nodes.
#[must_use]
pub fn measure_cluster(snapshot: &Snapshot) -> ClusterMeasure {
    let cluster = index_with_grouped_nodes(snapshot);
    let mut sum = ClusterMeasure::default();
    let mut leafs = vec![Leaf::default(); cluster.switches().count(Level::Leaf)];
    for (group, sums) in cluster.groups().iter().zip(cluster.sums()) {
        let (nodes, free) = (sum.nodes.0, sum.nodes_free.0);
        add_group(&mut sum, &cluster, group, sums);
        if let Some(leaf) = group.leaf.and_then(|leaf| leafs.get_mut(leaf.0 as usize)) {
            leaf.nodes += sum.nodes.0 - nodes;
            leaf.free += sum.nodes_free.0 - free;
        }
    }
    let count = |of: fn(&Leaf) -> bool| {
        u32::try_from(leafs.iter().filter(|leaf| of(leaf)).count()).unwrap_or(u32::MAX)
    };
    sum.leaf_groups = count(|leaf| leaf.nodes > 0);
    sum.leaf_groups_free = count(|leaf| leaf.nodes > 0 && leaf.free == leaf.nodes);
    sum
}

fn add_group(sum: &mut ClusterMeasure, cluster: &ClusterIndex, group: &Group, sums: &Sums) {
    let count = u32::try_from(group.nodes.len()).unwrap_or(u32::MAX);
    let first = group.nodes.first().map(|at| cluster.node(*at));
    if first.is_some_and(|first| sum.try_add_group_sums(&first.class, count, sums)) {
        return;
    }
    let nodes = group.nodes.iter().map(|at| cluster.node(*at));
    nodes.filter(|node| is_counted(node)).for_each(|node| sum.add_node(node));
}

/// Whether the node has GPUs and is not down.
fn is_counted(node: &Node) -> bool {
    node.free.gpu_milli_capacity() > 0 && node.unusable != Some(Unusable::Down)
}

/// Usable nodes with GPUs.
fn open_nodes(cluster: &ClusterIndex) -> impl Iterator<Item = &Node> {
    let nodes = cluster.nodes().map(|(_, node)| node);
    nodes.filter(|node| node.is_usable() && node.free.gpu_milli_capacity() > 0)
}

/// `FR_g` of the free GPUs on usable nodes, for jobs of `gpus` GPUs on one node. The cost grows
/// with the number of nodes.
#[must_use]
pub fn fragmentation_ratio_for(snapshot: &Snapshot, gpus: Gpus) -> f64 {
    let cluster = index_with_grouped_nodes(snapshot);
    let (mut useless, mut all) = (GpuMilli::ZERO, GpuMilli::ZERO);
    for node in open_nodes(&cluster) {
        let free = GpuMilli(node.free.milli_sum());
        useless += unusable_free_gpus(gpus, free, node.free.whole_count(&node.class));
        all += free;
    }
    fragmentation_ratio(useless, all)
}

/// What fragmentation depends on: the class, free CPUs, memory and GPUs of a node.
type FreeOf<'a> = (*const Class, Cpus, Bytes, u128, &'a [(u8, u16)]);

/// FGD's ratio: the fraction of the free GPUs on usable nodes that the typical job, drawn by its
/// weight, cannot use. `None`: no typical jobs are known. The cost grows with the number of
/// different nodes times the number of shapes.
#[must_use]
pub fn fgd_fragmentation(snapshot: &Snapshot, typical: &[Typical]) -> Option<f64> {
    if typical.is_empty() {
        return None;
    }
    let cluster = index_with_grouped_nodes(snapshot);
    let mut known: BTreeMap<FreeOf<'_>, f64> = BTreeMap::new();
    let (mut lost, mut all) = (0.0, 0.0);
    for node in open_nodes(&cluster).filter(|node| node.free.milli_sum() > 0) {
        let free = &node.free;
        let like = (
            Arc::as_ptr(&node.class),
            free.core_cpus,
            free.memory,
            free.gpus,
            free.partly_used_gpus(),
        );
        lost += *known.entry(like).or_insert_with(|| fragmentation(node, typical));
        all += f64::from(free.milli_sum());
    }
    Some(super::ratio(lost, all).unwrap_or(0.0))
}

/// The index of the cluster with all nodes in their groups, as a round would see it.
fn index_with_grouped_nodes(snapshot: &Snapshot) -> Cow<'_, ClusterIndex> {
    if snapshot.cluster.is_grouped() {
        return Cow::Borrowed(&snapshot.cluster);
    }
    let mut cluster = snapshot.cluster.clone();
    cluster.group_nodes(&snapshot.policy);
    Cow::Owned(cluster)
}

#[cfg(test)]
mod tests;
