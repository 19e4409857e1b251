//! MIG devices: only jobs that name their kind get them.

use super::*;
use crate::testing::{cpu_node, set_placement_policy, share_request};
use common::gpu::GpuKind;
use common::node::Inventory;
use common::policy::Placement;
use std::sync::Arc;

const MIG: &str = "h100-1g.10gb";

/// A node with `whole` whole GPUs, followed by `mig` MIG devices.
fn node_of(text: &str, whole: u16, mig: u16) -> NodeSnapshot {
    let node = gpu_node(text, whole + mig);
    let mut inventory = Inventory::clone(&node.inventory);
    for gpu in &mut inventory.gpus[usize::from(whole)..] {
        (gpu.kind, gpu.memory) = (GpuKind(MIG.to_owned()), Bytes(10 << 30));
    }
    NodeSnapshot::usable(node.name, Arc::new(inventory))
}

fn of_kind(gpus: u32, kind: &str) -> Request {
    Request { gpu_kind: Some(GpuKind(kind.to_owned())), ..gpu_request(gpus) }
}

#[test]
fn who_names_no_kind_gets_whole_gpus_in_every_way_to_place() {
    use Placement::{Binpack, EBinpack, ESpread, Fgd, First, Spread};
    for placement in [First, Binpack, EBinpack, Spread, ESpread, Fgd] {
        let mut snapshot = snapshot(vec![node_of("a", 2, 4), node_of("b", 0, 8)]);
        set_placement_policy(&mut snapshot, placement);
        wait(
            &mut snapshot,
            [
                waiting(1, gpu_request(2), 10),
                waiting(2, gpu_request(1), 10),
                waiting(3, share_request(500), 10),
            ],
        );
        let seen = judged(&snapshot);
        assert_eq!(crate::testing::placed(&snapshot), ["1 a:0-1"], "{placement:?}");
        assert!(seen.given(2).is_empty() && seen.given(3).is_empty(), "{placement:?}");
    }
}

#[test]
fn who_names_mig_devices_gets_those_and_nothing_else() {
    let mut snapshot = snapshot(vec![node_of("a", 4, 2)]);
    wait(
        &mut snapshot,
        [waiting(1, of_kind(2, MIG), 10), waiting(2, of_kind(1, MIG), 10)]
            .into_iter()
            .chain([waiting(3, of_kind(3, "h100"), 10)]),
    );
    judged(&snapshot);
    assert_eq!(crate::testing::placed(&snapshot), ["1 a:4-5", "3 a:0-2"]);
}

#[test]
fn who_takes_whole_ones_or_mig_devices_gets_one_of_both_kinds_where_one_has_enough() {
    let mut snapshot = snapshot(vec![node_of("a", 2, 3)]);
    let gpu_kinds_or = vec![GpuKind(MIG.to_owned())];
    let either = |gpus| Request { gpu_kinds_or: gpu_kinds_or.clone(), ..of_kind(gpus, "h100") };
    wait(&mut snapshot, [waiting(1, either(3), 10), waiting(2, gpu_request(2), 10)]);
    judged(&snapshot);
    assert_eq!(crate::testing::placed(&snapshot), ["1 a:2-4", "2 a:0-1"]);
}

#[test]
fn a_cluster_that_is_all_cut_says_that_it_has_no_gpus_for_others() {
    let mut snapshot = snapshot(vec![node_of("a", 0, 8), cpu_node("b", 8)]);
    wait(&mut snapshot, [waiting(1, gpu_request(1), 10), waiting(2, request(1, 1), 10)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2).len(), 1, "who wants no GPU may be there");
    let says = seen.reason(1).to_string();
    assert!(says.contains("no node it may use has GPUs for it"), "{says}");
}

#[test]
fn a_whole_node_comes_with_its_mig_devices() {
    let mut snapshot = snapshot(vec![node_of("a", 1, 2)]);
    let whole = Request { exclusive: true, ..gpu_request(1) };
    wait(&mut snapshot, [waiting(1, whole, 10)]);
    judged(&snapshot);
    assert_eq!(crate::testing::placed(&snapshot), ["1 a:0-2"]);
}
