//! Small clusters under fair sharing, over time. Each test is about one thing.

mod claims;
mod counted;
mod later;
mod moves;
mod refused;
mod rules;
mod sets;
mod steps;

use crate::round::preempt::tests::{World, low, of, owed, queue};
use crate::testing::{change_policy, gpu_node, gpu_request};
use common::policy::queue::Queue;
use common::time::Span;

/// Two nodes of 8 GPUs and queues a and b, with nothing but weights.
fn world(change: impl Fn(&mut Queue)) -> World {
    let mut queues = vec![queue("a"), queue("b")];
    queues.iter_mut().for_each(change);
    fair(queues)
}

fn fair(queues: Vec<Queue>) -> World {
    let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], queues);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    world
}

/// Jobs 1 and 2 of queue b hold both nodes.
fn borrowed(mut world: World) -> World {
    for job in [1, 2] {
        world.at(u64::from(job)).submit(of(job, gpu_request(8), "b", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(10);
    world
}

#[test]
fn the_example() {
    let mut world = borrowed(world(|_| {}));
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["2 for 3"]);
    assert_eq!(world.at(11).gone(2).round(), ["3 on b"]);
    assert_eq!(world.at(12).round(), [""; 0], "b has its share, and a too");
    world.submit(of(4, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0], "a would have more than its share");
}

#[test]
fn a_queue_takes_back_by_and_by_what_is_due_to_it() {
    let mut world = borrowed(world(|_| {}));
    world.submit(of(3, gpu_request(4), "a", "low"));
    assert_eq!(world.round(), ["2 for 3"]);
    assert_eq!(world.at(11).gone(2).round(), ["3 on b"]);
    world.submit(of(4, gpu_request(4), "a", "low"));
    assert_eq!(world.round(), ["4 on b"], "it is free, and due to a");
}

#[test]
fn a_job_is_safe_for_as_long_as_its_queue_says() {
    let mut world = borrowed(world(|queue| {
        queue.reclaim_runtime_min = Some(Span::from_minutes(60));
    }));
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.round.next_look, Some(world.minute(61)));
    assert_eq!(world.at(61).round(), ["1 for 3"], "job 2 has run for 59 minutes");
}

#[test]
fn a_job_that_is_not_preemptible_stays_within_the_quota() {
    let mut world = fair(vec![owed("a", 4), owed("b", 4)]);
    world.submit(of(1, gpu_request(4), "a", "low"));
    assert_eq!(world.round(), ["1 on a"]);
    world.submit(of(2, gpu_request(4), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert!(world.reason(2).contains('4'), "{}", world.reason(2));
}

#[test]
fn in_a_queue_the_higher_priority_is_made_room_for() {
    let mut world = fair(vec![queue("q")]);
    world.submit(low(1, 8)).submit(low(2, 8));
    world.round();
    world.at(5).submit(crate::round::preempt::tests::high(3, 8));
    assert_eq!(world.round(), ["2 for 3"]);
}

#[test]
fn two_queues_that_both_want_everything_come_to_rest() {
    let mut world = borrowed(world(|_| {}));
    for job in 3..7 {
        let queue = if job % 2 == 0 { "a" } else { "b" };
        world.submit(of(job, gpu_request(8), queue, "low"));
    }
    let mut last = Vec::new();
    for minute in 20..40 {
        let ending: Vec<_> = world.snapshot.ending.keys().map(|key| key.job.0).collect();
        ending.into_iter().for_each(|job| _ = world.gone(job));
        last = world.at(minute).round();
    }
    assert_eq!(last, [""; 0]);
    let queues: Vec<_> = world.snapshot.all_running().map(|job| job.queue.to_string()).collect();
    assert_eq!(queues.iter().filter(|queue| *queue == "a").count(), 1, "{queues:?}");
}

/// Pseudo-random numbers, the same for the same seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Up to three top-level queues and three below one of them, with quotas and weights.
fn any_queues(draw: &mut Draw) -> Vec<Queue> {
    let mut queues: Vec<Queue> = Vec::new();
    for (at, name) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let is_below = at > 2 && draw.below(2) == 0;
        let quota = draw.below(4) as u32 * if is_below { 1 } else { 2 };
        queues.push(Queue {
            parent: is_below.then(|| queues[0].name.clone()),
            weight: draw.below(4) as u32,
            quota: owed(name, quota).quota,
            reclaim_runtime_min: [None, Some(Span::from_minutes(30))][draw.below(2) as usize],
            ..queue(name)
        });
    }
    queues
}

#[test]
fn where_no_job_comes_and_none_ends_nothing_starts_or_yields_after_a_while() {
    let mut yielded = 0;
    for seed in 0..150 {
        let mut draw = Draw(seed);
        let mut world = fair(any_queues(&mut draw));
        for job in 1..=8 + draw.below(16) as u32 {
            let name = ["a", "b", "c", "d", "e", "f"][draw.below(6) as usize];
            let gpus = [1, 1, 2, 4, 8][draw.below(5) as usize];
            world.at(u64::from(job)).submit(of(job, gpu_request(gpus), name, "low"));
            yielded += world.round().iter().filter(|decided| decided.contains("for")).count();
        }
        // Each round is half an hour later, so no job stays protected. Victims are gone at once.
        let mut still = 0;
        for round in 1..=60 {
            let ending: Vec<_> = world.snapshot.ending.keys().map(|key| key.job.0).collect();
            let is_idle = ending.is_empty();
            ending.into_iter().for_each(|job| _ = world.gone(job));
            let decided = world.at(60 + 30 * round).round();
            yielded += decided.iter().filter(|decided| decided.contains("for")).count();
            still = if is_idle && decided.is_empty() { still + 1 } else { 0 };
        }
        assert!(still > 20, "seed {seed}: rounds change something again and again");
    }
    assert!(yielded > 50, "{yielded}: too few yield for this to say anything");
}
