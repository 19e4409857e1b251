//! The node that is nearest to what a job needs, and what it has of that. Bookings are not counted.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::group::GroupIndex;
use crate::place::idle_fit::Has;
use crate::round::planner::explain::WaitExplainer;
use common::gpu_parts::PartSize;
use common::reason::{Nearest, Need};
use common::unit::{Bytes, GpuMilli, Gpus};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl WaitExplainer<'_> {
    /// The node that has the most of what is needed.
    pub(super) fn nearest(&self, need: &Need) -> Option<Nearest> {
        let request = self.shape.demand.request;
        let cluster = self.search.cluster();
        let has =
            |at: NodeIndex| Has::of(&cluster.node(at).class, request, self.search.trial.free(at));
        let bound = |group: GroupIndex| self.bound(group).capped_at_need(need);
        // Only few of thousands of groups are examined, so they need not be sorted.
        let mut groups: BinaryHeap<(Has, Reverse<GroupIndex>)> =
            self.search.groups().map(|group| (bound(group), Reverse(group))).collect();
        let mut best: Option<(Has, NodeIndex)> = None;
        while let Some((bound, Reverse(group))) = groups.pop() {
            if best.is_some_and(|(known, _)| known >= bound) {
                break;
            }
            let nodes = self.search.nodes_of(group).iter().copied();
            for at in nodes.filter(|at| self.search.allows(*at)) {
                let found = has(at).capped_at_need(need);
                if best.is_none_or(|(known, _)| found > known) {
                    best = Some((found, at));
                }
            }
        }
        let best = best?.1;
        Some(has(best).to_nearest(cluster.node(best)))
    }

    /// No node of a group has more than the maximum of each resource.
    fn bound(&self, group: GroupIndex) -> Has {
        let sums = self.search.sums(group);
        let (gpus, gpu_part) = match self.shape.demand.request.gpu_parts().map(|parts| parts.each) {
            None => (Gpus(sums.gpus_max().unwrap_or(0)), None),
            Some(PartSize::Milli(part)) => {
                let most = GpuMilli(sums.milli_max.into());
                let gpus = if most < part { Gpus::ZERO } else { Gpus(u32::MAX) };
                (gpus, Some(PartSize::Milli(most)))
            }
            // What a share by memory amounts to depends on the node.
            Some(PartSize::Memory(_)) if sums.milli_max > 0 => {
                (Gpus(u32::MAX), Some(PartSize::Memory(Bytes(u64::MAX))))
            }
            Some(PartSize::Memory(_)) => (Gpus::ZERO, Some(PartSize::Memory(Bytes::ZERO))),
        };
        Has { gpus, gpu_part, cpus: sums.cpus_max, memory: sums.memory_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::node_snapshot::NodeSnapshot;
    use crate::model::snapshot::Snapshot;
    use crate::testing::{gpu_node, key, name, run, share, snapshot, waiting};
    use common::gpu::GpuKind;
    use common::gpu_parts::GpuParts;
    use common::id::GpuIndex;
    use common::reason::WaitReason;
    use common::resource::{GpuRequest, Request, Share};
    use common::time::Time;

    fn milli(milli: u32) -> PartSize {
        PartSize::Milli(GpuMilli(milli))
    }

    fn memory(gib: u64) -> PartSize {
        PartSize::Memory(Bytes(gib << 30))
    }

    fn parts(devices: u32, each: PartSize) -> Request {
        let parts = GpuParts { devices: Gpus(devices), each };
        Request { gpus: Some(GpuRequest::Parts(parts)), ..Request::default() }
    }

    /// Starts a job that holds `milli` thousandths of each of these GPUs.
    fn hold(snapshot: &mut Snapshot, job: u32, node: &NodeSnapshot, gpus: &[u16], milli: u32) {
        let gpus = gpus.iter().copied().map(GpuIndex).collect();
        let gpu_milli = Some(GpuMilli(milli)).filter(|milli| *milli < GpuMilli::WHOLE);
        run(snapshot, job, Share { gpus, gpu_milli, ..share(node.name.as_str(), "0") }, None);
    }

    fn reason(mut snapshot: Snapshot, request: Request) -> WaitReason {
        let now = Time(9_000_000);
        snapshot.set_waiting(waiting(1, request, 60));
        snapshot.prepare_for_round(now);
        crate::schedule(&snapshot, now).waits.reason_of(&snapshot, key(1)).unwrap()
    }

    /// The nearest node now, its GPUs with room, and the most that is free of one.
    fn now(snapshot: &Snapshot, request: Request) -> (String, u32, Option<PartSize>) {
        let reason = reason(snapshot.clone(), request);
        let WaitReason::Resources { nearest: Some(nearest), .. } = reason else {
            panic!("{reason}");
        };
        (nearest.node.to_string(), nearest.gpus.0, nearest.gpu_part)
    }

    /// The same for what an idle cluster lacks.
    fn ever(snapshot: &Snapshot, request: Request) -> (String, u32, Option<PartSize>) {
        let reason = reason(snapshot.clone(), request);
        let WaitReason::NeverFits { largest: Some(largest), .. } = reason else {
            panic!("{reason}");
        };
        (largest.node.to_string(), largest.gpus.0, largest.gpu_part)
    }

    #[test]
    fn for_a_part_the_node_with_the_most_free_of_one_gpu_is_nearest() {
        let nodes = ["a", "b", "c"].map(|name| gpu_node(name, 2));
        let mut snapshot = snapshot(nodes.to_vec());
        for (job, node, held) in [(90, 0, 750), (91, 1, 600), (92, 2, 900)] {
            hold(&mut snapshot, job, &nodes[node], &[0, 1], held);
        }
        let b = |gpus, part| ("b".to_owned(), gpus, Some(part));
        assert_eq!(now(&snapshot, parts(1, milli(500))), b(0, milli(400)));
        assert_eq!(now(&snapshot, parts(2, memory(40))), b(0, memory(32)), "0.4 of 80G");
        let there = Request { only_nodes: vec![name("c")], ..parts(1, milli(500)) };
        assert_eq!(now(&snapshot, there), ("c".to_owned(), 0, Some(milli(100))));
    }

    #[test]
    fn gpus_with_room_for_a_part_count_before_what_is_free_of_others() {
        let nodes = ["a", "b"].map(|name| gpu_node(name, 2));
        let mut snapshot = snapshot(nodes.to_vec());
        hold(&mut snapshot, 90, &nodes[0], &[0, 1], 750);
        hold(&mut snapshot, 91, &nodes[1], &[0], 1000);
        hold(&mut snapshot, 92, &nodes[1], &[1], 500);
        let found = now(&snapshot, parts(2, milli(500)));
        assert_eq!(found, ("b".to_owned(), 1, Some(milli(500))));
        hold(&mut snapshot, 93, &nodes[0], &[0, 1], 250);
        hold(&mut snapshot, 94, &nodes[1], &[1], 500);
        assert_eq!(now(&snapshot, parts(1, memory(1))).2, Some(memory(0)), "nothing is left");
    }

    #[test]
    fn the_best_of_another_group_is_found() {
        let nodes: Vec<_> = (0..40).map(|number| gpu_node(&format!("n{number}"), 1)).collect();
        for each in [milli(500), memory(40)] {
            let mut snapshot = snapshot(nodes.clone());
            for (job, node) in (100..).zip(&nodes) {
                let held = if node.name.as_str() == "n35" { 600 } else { 900 };
                hold(&mut snapshot, job, node, &[0], held);
            }
            assert_eq!(now(&snapshot, parts(1, each)).0, "n35");
        }
    }

    #[test]
    fn a_part_that_no_gpu_has_is_reported_with_what_one_has() {
        let snapshot = snapshot(vec![gpu_node("a", 2)]);
        let a = |gpus, part| ("a".to_owned(), gpus, Some(part));
        assert_eq!(ever(&snapshot, parts(1, memory(90))), a(0, memory(80)));
        assert_eq!(ever(&snapshot, parts(3, memory(20))), a(2, memory(80)));
        assert_eq!(ever(&snapshot, parts(3, milli(500))), a(2, milli(1000)));
        let other = Some(GpuKind("v100".to_owned()));
        let other = Request { gpu_kind: other, ..parts(1, milli(500)) };
        assert_eq!(ever(&snapshot, other), a(0, milli(0)));
    }
}
