//! Whether nodes near enough to each other exist that could hold a job together, up or down.

use super::{Sight, count};
use crate::cluster::class::{Class, ClassKey};
use crate::cluster::switches::SwitchIndex;
use crate::cluster::{ClusterIndex, NodeIndex};
use crate::fit::demand::Part;
use crate::shape::Shape;
use common::reason::WaitReason;
use common::topology::Level;
use common::unit::Nodes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The level at which all nodes of a shape must share one switch, and their number. `None`: they
/// need not.
fn one_switch_of(cluster: &ClusterIndex, shape: &Shape<'_>) -> Option<(Level, Nodes)> {
    let request = shape.demand.request;
    let near = request.near.filter(|near| near.required && request.segment.is_none())?;
    let nodes = shape.nodes().filter(|nodes| nodes.0 > 1)?;
    (cluster.switches().count(near.level) > 0).then_some((near.level, nodes))
}

/// Whether nodes under one switch could hold the shape, if it requires that and all were up and
/// idle. If the network is not described, nothing is refused.
///
/// # Errors
/// [`WaitReason::NeverNear`], in numbers.
pub(crate) fn could_be_near(cluster: &ClusterIndex, shape: &Shape<'_>) -> Result<(), WaitReason> {
    let shape = shape.fewest();
    let Some((level, nodes)) = one_switch_of(cluster, &shape) else { return Ok(()) };
    let switches = cluster.switches();
    let mut under: BTreeMap<SwitchIndex, BTreeMap<ClassKey, (Arc<Class>, u32)>> = BTreeMap::new();
    for (at, node) in cluster.nodes().filter(|(at, _)| shape.may_have(cluster, *at)) {
        if let Some(switch) = switches.of(level, at) {
            let sizes = under.entry(switch).or_default();
            sizes.entry(node.class.key()).or_insert_with(|| (node.class.clone(), 0)).1 += 1;
        }
    }
    let last = shape.demand.even_part(nodes, nodes.0.saturating_sub(1));
    let mut best: Option<(SwitchIndex, u32)> = None;
    for (switch, sizes) in under {
        let sizes: Vec<_> = sizes.into_values().collect();
        if shape.could_hold(&sizes, nodes) {
            return Ok(());
        }
        let able = sizes.iter().filter(|(class, _)| shape.fits_idle(class, last));
        let able: u32 = able.map(|(_, nodes)| nodes).sum();
        if able > 0 && best.is_none_or(|(_, most)| able > most) {
            best = Some((switch, able));
        }
    }
    let best = best.and_then(|(at, able)| Some((switches.name(level, at)?.clone(), Nodes(able))));
    Err(WaitReason::NeverNear { level, need: nodes, best })
}

impl Sight<'_> {
    /// Of the switches with enough nodes for the job, up or down, the nodes of the one with the
    /// fewest that are down. `None`: the job does not require one switch, or a switch has enough
    /// nodes that are up.
    pub(super) fn near_enough(&self, part: Part, need: Nodes) -> Option<BTreeSet<NodeIndex>> {
        let cluster = self.search.cluster();
        let (level, _) = one_switch_of(cluster, self.shape)?;
        let mut under: BTreeMap<SwitchIndex, Vec<NodeIndex>> = BTreeMap::new();
        for (at, node) in cluster.nodes() {
            let is_able = self.shape.allows(at) && self.shape.fits_idle(&node.class, part);
            if let Some(switch) = cluster.switches().of(level, at).filter(|_| is_able) {
                under.entry(switch).or_default().push(at);
            }
        }
        under.retain(|_, nodes| count(nodes.len()) >= need);
        let up = |nodes: &&Vec<NodeIndex>| {
            nodes.iter().filter(|at| cluster.node(**at).is_usable()).count() >= need.0 as usize
        };
        if under.values().any(|nodes| up(&nodes)) {
            return None;
        }
        // The switch that lacks the fewest: the job waits for its nodes that are down.
        let lacks = |nodes: &Vec<NodeIndex>| {
            nodes.iter().filter(|at| !cluster.node(**at).is_usable()).count()
        };
        let nodes = under.into_values().min_by_key(lacks)?;
        Some(nodes.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{change_policy, gpu_node, gpu_request, key, snapshot, waiting};
    use common::reason::WaitReason;
    use common::time::Time;
    use common::topology::{Level, Nearness, Position};
    use common::unit::{Nodes, Tasks};

    /// Two leafs of two nodes and one.
    fn cluster() -> crate::Snapshot {
        let mut snapshot = snapshot(["a", "b", "c"].map(|name| gpu_node(name, 8)).into());
        change_policy(&mut snapshot, |policy| {
            for (node, leaf) in [("a", "left"), ("b", "left"), ("c", "right")] {
                let leaf = common::id::SwitchName::new(leaf).ok();
                let position = Position { leaf, ..Position::default() };
                policy.topology.0.insert(crate::testing::name(node), position);
            }
        });
        snapshot
    }

    fn reason(snapshot: &mut crate::Snapshot, nodes: u32) -> Option<WaitReason> {
        let mut request = gpu_request(8);
        (request.nodes, request.tasks) = (Some(Nodes(nodes)), Tasks(nodes));
        request.gpus = Some(common::resource::GpuRequest::PerNode(common::unit::Gpus(8)));
        request.near = Some(Nearness { level: Level::Leaf, required: true });
        snapshot.set_waiting(waiting(1, request, 60));
        let now = Time(9_000_000);
        snapshot.settle(now);
        crate::schedule(snapshot, now).waits.of(snapshot, key(1))
    }

    #[test]
    fn what_no_switch_has_nodes_for_never_fits() {
        let best = common::id::SwitchName::new("left").ok().map(|leaf| (leaf, Nodes(2)));
        let never = WaitReason::NeverNear { level: Level::Leaf, need: Nodes(3), best };
        assert_eq!(reason(&mut cluster(), 3), Some(never));
        assert_eq!(reason(&mut cluster(), 2), None, "it starts");
    }

    #[test]
    fn a_switch_whose_nodes_are_down_is_what_it_waits_for() {
        let mut snapshot = cluster();
        let mut down = gpu_node("a", 8);
        down.unusable = Some(crate::Unusable::Drained);
        snapshot.set_node(&down);
        let reason = reason(&mut snapshot, 2);
        let Some(WaitReason::NodesUnavailable { unavailable, example, .. }) = reason else {
            panic!("{reason:?}")
        };
        assert_eq!((unavailable, example.as_str()), (Nodes(1), "a"));
    }
}
