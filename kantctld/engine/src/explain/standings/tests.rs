//! Tests of the standing of queues on two nodes of 8 GPUs.

use super::*;
use crate::round::preempt::tests::{World, of, queue};
use crate::testing::{change_policy, gpu_node, gpu_request};
use common::policy::queue::Queue;

fn world(queues: Vec<Queue>, is_fair: bool) -> World {
    let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], queues);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = is_fair);
    world
}

/// A queue with this quota, of preemptible jobs.
fn owed(name: &str, gpus: u32) -> Queue {
    Queue { quota: crate::round::preempt::tests::owed(name, gpus).quota, ..queue(name) }
}

/// GPUs of each queue: guaranteed, held, waited for, fair share, lent; and its lenders.
fn gpus(world: &World) -> Vec<String> {
    let all = standings(&world.snapshot, world.minute(100));
    let said = |view: &ShareView| {
        let of = &view.of[0];
        let shown = |amount: Option<u64>| amount.map_or(-1, |milli| milli.cast_signed() / 1000);
        let from = of.from.iter().map(|lender| {
            let name = lender.queue.as_ref().map_or("rest", |name| name.as_str());
            format!(" {name}:{}", lender.amount / 1000)
        });
        format!(
            "{}{} {} {} {} {} {}{}",
            " ".repeat(view.depth as usize),
            view.queue,
            shown(of.quota),
            of.held / 1000,
            of.waiting / 1000,
            shown(of.share),
            of.lent / 1000,
            from.collect::<String>()
        )
    };
    all.iter().map(said).collect()
}

#[test]
fn shares_are_those_that_a_round_goes_by() {
    let mut world = world(vec![owed("a", 6), owed("b", 6), queue("c")], true);
    world.submit(of(1, gpu_request(8), "a", "low")).submit(of(2, gpu_request(4), "c", "low"));
    assert_eq!(world.round().len(), 2);
    world.submit(of(3, gpu_request(8), "b", "low"));
    // Guaranteed are 6 of what a holds and 6 of what b waits for; of the 4 that no quota guarantees
    // a has 2, and of the other 2 b and c one each.
    assert_eq!(gpus(&world), ["a 6 8 0 8 0 rest:2", "b 6 0 8 7 2", "c 0 4 0 1 0 rest:2 b:2"]);
}

#[test]
fn a_tree_shows_parents_and_what_passes_through_them() {
    let below = |name: &str, gpus: u32| Queue {
        parent: Some(common::id::QueueName::new("lab").unwrap()),
        ..owed(name, gpus)
    };
    let queues = vec![owed("lab", 8), owed("ops", 8), below("x", 4), below("y", 4)];
    let mut world = world(queues, true);
    world.submit(of(1, gpu_request(8), "x", "low")).submit(of(2, gpu_request(4), "x", "low"));
    assert_eq!(world.round().len(), 2);
    let expected =
        ["lab 8 12 0 12 0 ops:4", " x 4 12 0 12 0 y:4 ops:4", " y 4 0 0 0 4", "ops 8 0 0 0 4"];
    assert_eq!(gpus(&world), expected);
}

#[test]
fn without_fair_sharing_quotas_alone_are_shown() {
    let mut world = world(vec![owed("a", 4), queue("b"), owed("c", 12)], false);
    world.submit(of(1, gpu_request(8), "a", "low")).submit(of(2, gpu_request(4), "b", "low"));
    assert_eq!(world.round().len(), 2);
    world.submit(of(3, gpu_request(8), "b", "low"));
    assert_eq!(gpus(&world), ["a 4 8 0 -1 0 c:4", "b -1 4 8 -1 0", "c 12 0 0 -1 4"]);
}

#[test]
fn all_that_is_due_is_no_more_than_there_is_and_looking_changes_nothing() {
    let mut world = world(vec![owed("a", 4), queue("b"), owed("c", 12)], true);
    for job in 1..9 {
        let name = ["a", "b", "c"][job as usize % 3];
        world.submit(of(job, gpu_request(3), name, "low"));
    }
    world.round();
    let before = world.snapshot.clone();
    let all = standings(&world.snapshot, world.minute(100));
    assert_eq!(world.snapshot, before);
    assert_eq!(all.iter().filter_map(|view| view.of[0].share).sum::<u64>(), 16_000);
    assert_eq!(all, standings(&world.snapshot, world.minute(100)));
}
