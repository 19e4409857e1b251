//! The nodes near enough to each other that could hold a job together, where some are down.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::switches::SwitchIndex;
use crate::model::demand::Part;
use crate::place::idle_fit::{one_switch_of, to_nodes};
use crate::round::planner::explain::WaitExplainer;
use common::unit::Nodes;
use std::collections::{BTreeMap, BTreeSet};

impl WaitExplainer<'_> {
    /// Of the switches with enough nodes for the job, up or down, the nodes of the one with the
    /// fewest that are down. `None`: the job does not require one switch, or a switch has enough
    /// nodes that are up.
    pub(super) fn nodes_of_switch_with_fewest_down(
        &self,
        part: Part,
        need: Nodes,
    ) -> Option<BTreeSet<NodeIndex>> {
        let cluster = self.search.cluster();
        let (level, _) = one_switch_of(cluster, self.shape)?;
        let mut under: BTreeMap<SwitchIndex, Vec<NodeIndex>> = BTreeMap::new();
        for (at, node) in cluster.nodes() {
            let is_able = self.shape.allows(at) && self.shape.fits_idle(&node.class, part);
            if let Some(switch) = cluster.switches().switch_of_node(level, at).filter(|_| is_able) {
                under.entry(switch).or_default().push(at);
            }
        }
        under.retain(|_, nodes| to_nodes(nodes.len()) >= need);
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
        snapshot.prepare_for_round(now);
        crate::schedule(snapshot, now).waits.reason_of(snapshot, key(1))
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
