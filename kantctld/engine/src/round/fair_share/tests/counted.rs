//! Tests of how requests are counted: kinds of GPU, arrays, coarse requests, and turns.

use super::{fair, owed, queue};
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use crate::round::preempt::tests::{World, of};
use crate::testing::{change_policy, gpu_node, gpu_request};
use common::gpu::GpuKind;
use common::policy::queue::Queue;
use common::policy::{Amounts, Order};
use common::resource::Request;
use common::unit::{Gpus, Tasks};
use std::collections::BTreeMap;
use std::sync::Arc;

fn kind(name: &str) -> GpuKind {
    GpuKind(name.to_owned())
}

fn a100_node(name: &str) -> NodeSnapshot {
    let mut node = gpu_node(name, 8);
    let inventory = Arc::make_mut(&mut node.inventory);
    inventory.gpus.iter_mut().for_each(|gpu| gpu.kind = kind("a100"));
    node
}

fn fair_on(nodes: Vec<NodeSnapshot>, queues: Vec<Queue>) -> World {
    let mut world = World::new(nodes, queues);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    world
}

/// A queue with a quota, of jobs that are not preemptible.
fn with_quota(quota: Amounts, at_most: Amounts) -> Queue {
    let mut queue = owed("a", 0);
    (queue.quota.amounts, queue.quota.at_most) = (quota, at_most);
    queue
}

fn of_kind(name: &str, gpus: u32) -> Amounts {
    Amounts { gpus: BTreeMap::from([(kind(name), Gpus(gpus))]), ..Amounts::default() }
}

#[test]
fn a_quota_of_one_kind_does_not_bind_jobs_on_another() {
    let queue = with_quota(of_kind("h100", 8), Amounts::default());
    let mut world = fair_on(vec![gpu_node("a", 8), a100_node("b")], vec![queue]);
    for (job, name) in [(1, "h100"), (2, "a100")] {
        let asked = Request { gpu_kind: Some(kind(name)), ..gpu_request(8) };
        world.submit(of(job, asked, "a", "low"));
    }
    assert_eq!(world.round(), ["1 on a", "2 on b"]);
}

#[test]
fn where_there_is_no_other_kind_it_binds() {
    let queue = with_quota(of_kind("h100", 4), Amounts::default());
    let mut world = fair_on(vec![gpu_node("a", 8)], vec![queue]);
    world.submit(of(1, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn a_job_too_large_for_a_limit_by_kind_does_not_slip_past_its_quota() {
    let quota = Amounts { gpus_any: Some(Gpus(4)), ..Amounts::default() };
    let queue = with_quota(quota, of_kind("h100", 4));
    let mut world = fair_on(vec![a100_node("a")], vec![queue]);
    world.submit(of(1, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert!(world.reason(1).contains('4'), "{}", world.reason(1));
}

#[test]
fn of_an_array_no_more_tasks_make_others_yield_than_may_run() {
    let nodes = ["a", "b", "c", "d"].map(|node| gpu_node(node, 8)).to_vec();
    let mut world = fair_on(nodes, vec![queue("a"), queue("b")]);
    (1..5).for_each(|job| _ = world.submit(of(job, gpu_request(8), "b", "low")));
    assert_eq!(world.round().len(), 4);
    world.at(10);
    for index in 0..2 {
        let key = format!("9_{index}").parse().unwrap();
        let task = of(9, gpu_request(8), "a", "low");
        world.submit(WaitingJob { key, array_limit: Some(1), ..task });
    }
    assert_eq!(world.round(), ["4 for 9_0"]);
    assert_eq!(world.at(11).round(), [""; 0]);
    assert_eq!(world.at(12).gone(4).round(), ["9_0 on d"]);
    assert_eq!(world.at(13).round(), [""; 0]);
}

#[test]
fn no_job_yields_to_one_that_fits_beside_it_and_counts_as_more() {
    let nodes = ["a", "b", "c", "d"].map(|node| gpu_node(node, 8)).to_vec();
    let mut world = fair_on(nodes, vec![queue("a"), queue("b")]);
    (1..4).for_each(|job| _ = world.submit(of(job, gpu_request(8), "b", "low")));
    assert_eq!(world.round().len(), 3);
    let asked = Request { tasks: Tasks(4), ..gpu_request(4) };
    world.at(10).submit(of(4, asked, "a", "low"));
    assert_eq!(world.round(), ["4 on d"]);
}

#[test]
fn a_start_in_a_kept_room_takes_no_quota_from_jobs_that_are_not_preemptible() {
    let mut own = owed("a", 8);
    own.preemption.preemptible = true;
    let nodes = ["a", "b", "c"].map(|node| gpu_node(node, 8)).to_vec();
    let mut world = fair_on(nodes, vec![own, queue("b")]);
    (1..4).for_each(|job| _ = world.submit(of(job, gpu_request(8), "b", "low")));
    assert_eq!(world.round().len(), 3);
    world.at(10).submit(of(4, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["3 for 4"]);
    world.at(11).gone(3).over(2);
    world.submit(WaitingJob { preemptible: Some(false), ..of(5, gpu_request(8), "a", "low") });
    assert_eq!(world.round(), ["4 on c", "5 on b"]);
}

#[test]
fn inside_a_queue_turns_are_as_its_order_says() {
    let mut queue = queue("q");
    queue.order = Order::Multifactor;
    let mut world = fair(vec![queue]);
    change_policy(&mut world.snapshot, |policy| {
        (policy.factors.size, policy.factors.age) = (10_000, 0);
    });
    for (job, gpus) in [(1, 1), (2, 8), (3, 8)] {
        world.submit(of(job, gpu_request(gpus), "q", "low"));
    }
    assert_eq!(world.round(), ["2 on a", "3 on b"], "the largest come first");
}
