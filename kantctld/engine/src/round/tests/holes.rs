//! A GPU's number is its name, not its place: a node whose GPU 1 is gone has GPUs 0, 2 and 3.

use super::*;
use crate::snapshot::NodeSnapshot;
use crate::testing::node_without_gpu_1;
use common::id::GpuIndex;

fn nodes() -> Vec<NodeSnapshot> {
    vec![node_without_gpu_1("a")]
}

#[test]
fn the_pair_that_is_left_is_found_by_its_numbers_and_so_are_its_cpus() {
    let mut snapshot = snapshot(nodes());
    snapshot.waiting = vec![
        waiting(1, gpu_request(2), 10),
        waiting(2, gpu_request(1), 10),
        waiting(3, gpu_request(1), 10),
    ];
    let round = judged(&snapshot);
    assert_eq!(given(&round, 1), ["a: 1x 8 [2, 3]"]);
    assert_eq!(given(&round, 2), ["a: 1x 0 [0]"]);
    assert!(reason(&round, 3).contains("best is a with 0 GPUs free"), "{}", reason(&round, 3));
}

#[test]
fn all_of_them_are_given_rising_and_one_more_never_fits() {
    let mut snapshot = snapshot(nodes());
    let mut whole = gpu_request(3);
    whole.exclusive = true;
    snapshot.waiting = vec![waiting(1, whole, 10), waiting(2, gpu_request(4), 10)];
    let round = judged(&snapshot);
    assert_eq!(given(&round, 1), ["a: 1x 0-15 [0, 2, 3]"]);
    assert!(reason(&round, 2).contains("a has at most 3 GPUs"), "{}", reason(&round, 2));
}

#[test]
fn what_ends_gives_its_numbers_back() {
    let mut snapshot = snapshot(nodes());
    let held = Share { gpus: vec![GpuIndex(0), GpuIndex(3)], ..share("a", "0-1") };
    run(&mut snapshot, 9, held, Some(in_minutes(30)));
    snapshot.waiting = vec![
        waiting(1, gpu_request(3), 10),
        waiting(2, gpu_request(1), 10),
        waiting(3, gpu_request(1), 60),
    ];
    // Job 2 ends before job 1 can start; job 3 would be in its way.
    let round = judged(&snapshot);
    assert_eq!(given(&round, 2), ["a: 1x 8 [2]"]);
    assert_eq!(given(&round, 3), [""; 0]);
    assert!(reason(&round, 1).contains("expected by"), "{}", reason(&round, 1));
}
