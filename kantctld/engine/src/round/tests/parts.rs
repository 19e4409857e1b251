//! Shares of GPUs: of several at once, and by memory, which is a smaller fraction of a larger GPU.

use super::*;
use crate::testing::{change_policy, share_request, use_share};
use common::gpu_parts::{GpuParts, PartSize};
use common::id::GpuIndex;
use common::node::Inventory;
use common::policy::Placement;
use common::unit::GpuMilli;
use std::sync::Arc;

fn parts(devices: u32, each: PartSize) -> Request {
    let parts = GpuParts { devices: Gpus(devices), each };
    Request { gpus: Some(GpuRequest::Parts(parts)), ..Request::default() }
}

fn milli(devices: u32, milli: u32) -> Request {
    parts(devices, PartSize::Milli(GpuMilli(milli)))
}

fn memory(devices: u32, gib: u64) -> Request {
    parts(devices, PartSize::Memory(Bytes(gib << 30)))
}

/// GPUs with this much memory each.
fn node_of(text: &str, gib: &[u64]) -> NodeSnapshot {
    let node = gpu_node(text, u16::try_from(gib.len()).unwrap());
    let mut inventory = Inventory::clone(&node.inventory);
    for (gpu, gib) in inventory.gpus.iter_mut().zip(gib) {
        gpu.memory = Bytes(gib << 30);
    }
    NodeSnapshot::usable(node.name, Arc::new(inventory))
}

fn part_of(seen: &Seen, job: u32) -> Vec<Option<GpuMilli>> {
    let of = |decision: &Decision| match decision {
        Decision::Start { key: started, allocation, .. } if *started == key(job) => {
            Some(allocation.shares().iter().map(|share| share.gpu_milli).collect())
        }
        _ => None,
    };
    seen.round.decisions.iter().find_map(of).unwrap_or_default()
}

#[test]
fn parts_of_several_gpus_go_where_the_placement_says() {
    for (placement, gpus) in [
        (Placement::EBinpack, "[0, 1]"),
        // Jobs like this one could not use what is left of the first GPU.
        (Placement::Fgd, "[1, 2]"),
        (Placement::First, "[0, 1]"),
        (Placement::Spread, "[1, 2]"),
    ] {
        let mut snapshot = snapshot(vec![gpu_node("a", 4)]);
        use_share(&mut snapshot, "a", 400);
        change_policy(&mut snapshot, |policy| policy.queues[0].placement = placement);
        wait(&mut snapshot, [waiting(1, milli(2, 500), 10)]);
        let seen = judged(&snapshot);
        let given = seen.given(1);
        assert!(given.len() == 1 && given[0].ends_with(gpus), "{placement:?}: {given:?}");
        assert_eq!(part_of(&seen, 1), [Some(GpuMilli(500))]);
    }
}

#[test]
fn parts_of_more_gpus_than_have_room_wait() {
    let mut snapshot = snapshot(vec![gpu_node("a", 2)]);
    use_share(&mut snapshot, "a", 600);
    wait(&mut snapshot, [waiting(1, milli(2, 500), 10), waiting(2, milli(2, 400), 10)]);
    wait(&mut snapshot, [waiting(3, milli(3, 100), 10), waiting(4, share_request(500), 10)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), [""; 0], "the first has 400 left, and there is one more");
    assert_eq!(seen.given(2), ["a: 1x 1 [0, 1]"]);
    assert_eq!(seen.given(4), ["a: 1x 8 [1]"], "beside it");
    assert_eq!(seen.given(3), [""; 0]);
    assert!(seen.reason(3).contains("which this cluster does not have"), "{}", seen.reason(3));
}

#[test]
fn a_part_by_memory_is_a_smaller_part_of_a_larger_gpu() {
    let nodes = vec![node_of("small", &[40]), node_of("large", &[80])];
    let mut snapshot = snapshot(nodes);
    let only = |mut request: Request, node: &str| {
        request.only_nodes = vec![name(node)];
        request
    };
    wait(
        &mut snapshot,
        [
            waiting(1, only(memory(1, 30), "small"), 10),
            waiting(2, only(memory(1, 30), "large"), 10),
            waiting(3, memory(1, 30), 10),
            waiting(4, memory(1, 30), 10),
            waiting(5, memory(1, 60), 10),
        ],
    );
    let seen = judged(&snapshot);
    assert_eq!(part_of(&seen, 1), [Some(GpuMilli(750))]);
    assert_eq!(part_of(&seen, 2), [Some(GpuMilli(375))]);
    assert_eq!(part_of(&seen, 3), [Some(GpuMilli(375))], "beside the one on the large GPU");
    assert_eq!(part_of(&seen, 4), [], "the small one holds one");
    assert_eq!(part_of(&seen, 5), []);
}

#[test]
fn of_gpus_of_several_sizes_on_one_node_the_smallest_counts() {
    let mut snapshot = snapshot(vec![node_of("a", &[80, 40])]);
    wait(&mut snapshot, [waiting(1, memory(2, 20), 10), waiting(2, memory(1, 60), 10)]);
    let seen = judged(&snapshot);
    assert_eq!(part_of(&seen, 1), [Some(GpuMilli(500))]);
    assert_eq!(part_of(&seen, 2), []);
}

#[test]
fn no_job_is_planned_onto_a_part_of_a_gpu_that_is_too_small_for_it() {
    let mut snapshot = snapshot(vec![node_of("small", &[40]), node_of("large", &[80])]);
    change_policy(&mut snapshot, |policy| policy.queues[0].backfill.depth = 0);
    let busy = Share { gpus: [GpuIndex(0)].into(), ..share("large", "0") };
    run(&mut snapshot, 9, busy, Some(in_minutes(30)));
    let both = Request { nodes: Some(Nodes(2)), tasks: Tasks(2), ..gpu_request(1) };
    wait(&mut snapshot, [waiting(1, both, 60), waiting(2, memory(1, 60), 10)]);
    let seen = judged(&snapshot);
    assert_eq!((seen.given(1), seen.given(2)), (vec![], vec![]));
    let planned_start =
        |job| seen.round.planned_starts.get(&key(job)).map(|planned_start| planned_start.at);
    assert_eq!(planned_start(1), Some(in_minutes(30)));
    assert_eq!(planned_start(2), Some(in_minutes(90)), "behind it, on the large one");
}

#[test]
fn by_limits_it_counts_as_on_the_smallest_gpu_that_it_may_have() {
    let mut snapshot = snapshot(vec![node_of("small", &[24]), node_of("large", &[80])]);
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].nodes = vec![name("large")];
        policy.queues[0].limits_per_user.gpus = Some(Gpus(1));
    });
    wait(&mut snapshot, (1..=5).map(|job| waiting(job, memory(1, 20), 10)));
    let seen = judged(&snapshot);
    for job in 1..=4 {
        assert_eq!(part_of(&seen, job), [Some(GpuMilli(250))], "job {job}");
    }
    assert!(seen.reason(5).contains("may have 1 GPU at once"), "{}", seen.reason(5));
}
