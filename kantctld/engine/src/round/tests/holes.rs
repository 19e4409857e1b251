//! A GPU's number is a name, not a position: a node that lost GPU 1 has GPUs 0, 2 and 3.

use super::*;
use crate::testing::node_without_gpu_1;
use common::id::GpuIndex;

#[test]
fn the_pair_that_is_left_is_found_by_its_numbers_and_so_are_its_cpus() {
    let mut snapshot = snapshot(vec![node_without_gpu_1("a")]);
    let asks = [2, 1, 1].map(gpu_request);
    wait(&mut snapshot, (1..).zip(asks).map(|(job, asks)| waiting(job, asks, 10)));
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["a: 1x 8 [2, 3]"]);
    assert_eq!(seen.given(2), ["a: 1x 0 [0]"]);
    assert!(seen.reason(3).contains("no node it may use has a free GPU"), "{}", seen.reason(3));
}

#[test]
fn all_of_them_are_given_rising_and_one_more_never_fits() {
    let mut snapshot = snapshot(vec![node_without_gpu_1("a")]);
    let whole = Request { exclusive: true, ..gpu_request(3) };
    wait(&mut snapshot, [waiting(1, whole, 10), waiting(2, gpu_request(4), 10)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["a: 1x 0-15 [0, 2, 3]"]);
    assert!(seen.reason(2).contains("a has at most 3 GPUs"), "{}", seen.reason(2));
}

#[test]
fn what_ends_gives_its_numbers_back() {
    let mut snapshot = snapshot(vec![node_without_gpu_1("a")]);
    let held = Share { gpus: [GpuIndex(0), GpuIndex(3)].into(), ..share("a", "0-1") };
    run(&mut snapshot, 9, held, Some(in_minutes(30)));
    let jobs = [(1, 3, 10), (2, 1, 10), (3, 1, 60)];
    wait(&mut snapshot, jobs.map(|(job, gpus, minutes)| waiting(job, gpu_request(gpus), minutes)));
    // Job 2 ends before job 1 can start; job 3 would delay it.
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2), ["a: 1x 8 [2]"]);
    assert_eq!(seen.given(3), [""; 0]);
    assert!(seen.reason(1).contains("expected by"), "{}", seen.reason(1));
}
