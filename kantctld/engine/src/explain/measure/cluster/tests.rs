//! Tests of the cluster's sums: each number is computed by hand, and the fast path is compared with
//! the slow one.

use super::*;
use crate::model::typical::typical;
use crate::testing::{
    cpu_node, gpu_node, gpu_request, linked_node, name, request, run, set_leaf_groups, share,
    share_request, snapshot, use_gpus, use_share,
};
use common::gpu::GpuPath;

/// The same by nodes only.
fn the_long_way(snapshot: &Snapshot) -> ClusterMeasure {
    let cluster = index_with_grouped_nodes(snapshot);
    let mut sum = ClusterMeasure::default();
    let nodes = cluster.nodes().map(|(_, node)| node);
    nodes.filter(|node| is_counted(node)).for_each(|node| sum.add_node(node));
    sum
}

/// Two leafs of two nodes with 8 GPUs; one leaf also has a node without GPUs.
fn two_leafs() -> Snapshot {
    let gpu_nodes = ["a1", "a2", "b1", "b2"].map(|name| gpu_node(name, 8));
    let mut snapshot = snapshot([&gpu_nodes[..], &[cpu_node("b3", 4)]].concat());
    set_leaf_groups(&mut snapshot, &[("a", "a1 a2"), ("b", "b1 b2 b3")]);
    snapshot
}

fn set_unusable(snapshot: &mut Snapshot, node: &str, why: Unusable) {
    let mut nodes = snapshot.nodes();
    let node = nodes.iter_mut().find(|known| known.name == name(node)).unwrap();
    node.unusable = Some(why);
    snapshot.set_node(node);
}

fn free(snapshot: &Snapshot) -> (u32, u32) {
    let measure = measure_cluster(snapshot);
    (measure.nodes_free.0, measure.leaf_groups_free)
}

#[test]
fn what_is_in_use_is_counted_by_kind_and_node() {
    let mut snapshot = two_leafs();
    use_gpus(&mut snapshot, "a1", 8);
    use_share(&mut snapshot, "b1", 250);
    let measure = measure_cluster(&snapshot);
    assert_eq!((measure.gpus, measure.used), (Gpus(32), GpuMilli(8250)));
    let h100 = KindMeasure { gpus: Gpus(32), used: GpuMilli(8250) };
    assert_eq!(measure.kinds.into_iter().collect::<Vec<_>>(), [(GpuKind("h100".into()), h100)]);
    assert_eq!((measure.nodes, measure.nodes_used), (Nodes(4), Nodes(2)));
    assert_eq!((measure.nodes_broken, measure.free), (Nodes(1), GpuMilli(23_750)));
    assert_eq!(measure.useless_to_8, GpuMilli(7750));
    assert_eq!(measure.leaf_groups, 2);
}

#[test]
fn a_leaf_is_free_while_no_job_is_on_its_nodes_with_gpus() {
    let mut snapshot = two_leafs();
    assert_eq!(free(&snapshot), (4, 2));
    run(&mut snapshot, 1, share("b3", "0"), None);
    assert_eq!(free(&snapshot), (4, 2), "a node without GPUs is in no job's way");
    run(&mut snapshot, 2, share("b2", "0"), None);
    assert_eq!(free(&snapshot), (3, 1), "a job without GPUs is in the way of a whole node");
    assert_eq!(
        measure_cluster(&snapshot).gpu_fragmentation_rate(),
        Some(0.0),
        "but breaks no node's GPUs"
    );
}

#[test]
fn a_down_node_counts_for_nothing_and_a_drained_one_offers_nothing() {
    let mut snapshot = two_leafs();
    set_unusable(&mut snapshot, "a1", Unusable::Down);
    let measure = measure_cluster(&snapshot);
    assert_eq!((measure.gpus, free(&snapshot)), (Gpus(24), (3, 2)));
    set_unusable(&mut snapshot, "a1", Unusable::Drained);
    let measure = measure_cluster(&snapshot);
    assert_eq!((measure.gpus, measure.free), (Gpus(32), GpuMilli(24_000)));
    assert_eq!((measure.fragmentation_ratio_of_8(), free(&snapshot)), (0.0, (3, 1)));
}

#[test]
fn sums_of_groups_say_the_same_as_their_nodes() {
    let two_kinds = linked_node(&[0, 1], |_, _| GpuPath::Sys);
    let mut snapshot = two_leafs();
    snapshot.set_node(&two_kinds);
    let compare = |snapshot: &Snapshot| {
        let mut short = measure_cluster(snapshot);
        (short.leaf_groups, short.leaf_groups_free) = (0, 0);
        assert_eq!(short, the_long_way(snapshot));
    };
    compare(&snapshot);
    for (node, gpus) in [("a1", 8), ("b1", 3), ("a2", 8), ("n", 2), ("b2", 0)] {
        use_gpus(&mut snapshot, node, gpus);
        compare(&snapshot);
        snapshot.prepare_for_round(common::time::Time(0));
        compare(&snapshot);
    }
    set_unusable(&mut snapshot, "a2", Unusable::Drained);
    compare(&snapshot);
}

#[test]
fn fr_depends_on_the_size_of_job() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 4)]);
    use_gpus(&mut snapshot, "a", 3);
    let fr = [1, 2, 4, 8].map(|gpus| fragmentation_ratio_for(&snapshot, Gpus(gpus)));
    assert_eq!(fr, [0.0, 1.0 / 9.0, 1.0 / 9.0, 1.0]);
    assert_eq!(measure_cluster(&snapshot).fragmentation_ratio_of_8(), 1.0);
}

#[test]
fn fgd_weighs_what_typical_jobs_cannot_have() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 2)]);
    assert_eq!(fgd_fragmentation(&snapshot, &[]), None);
    let (one, four, none) = (gpu_request(1), gpu_request(4), request(1, 1));
    let weights = typical([(&one, 1), (&four, 1)].into_iter());
    assert_eq!(
        fgd_fragmentation(&snapshot, &weights),
        Some(0.1),
        "half of them cannot have b's 2 of 10"
    );
    use_gpus(&mut snapshot, "a", 5);
    assert_eq!(fgd_fragmentation(&snapshot, &weights), Some(0.5), "half of them cannot have any");
    let weights = typical([(&none, 1)].into_iter());
    assert_eq!(fgd_fragmentation(&snapshot, &weights), Some(1.0), "who needs no GPU can use none");
    let half = share_request(500);
    use_share(&mut snapshot, "b", 700);
    let weights = typical([(&half, 1)].into_iter());
    assert_eq!(
        fgd_fragmentation(&snapshot, &weights),
        Some(300.0 / 4300.0),
        "0.3 of a GPU is left of b's first"
    );
    use_gpus(&mut snapshot, "a", 8);
    use_gpus(&mut snapshot, "b", 2);
    assert_eq!(
        fgd_fragmentation(&snapshot, &weights),
        Some(0.0),
        "where none is free none is lost"
    );
}
