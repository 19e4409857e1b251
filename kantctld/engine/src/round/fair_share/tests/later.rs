//! Tests of nodes reserved for a future time for the first job of a queue.

use super::{World, fair, queue};
use crate::model::job::WaitingJob;
use crate::round::preempt::tests::{of, on_nodes};
use crate::testing::{gpu_request, key};
use common::time::Span;

/// A job with this number of GPUs on one node, and this time limit in minutes.
fn lasting(job: u32, gpus: u32, queue: &str, minutes: u64) -> WaitingJob {
    let limit = Some(Span::from_minutes(minutes));
    WaitingJob { time_limit: limit, ..of(job, gpu_request(gpus), queue, "low") }
}

fn promised(world: &World, job: u32) -> Option<u64> {
    let promise = world.round.planned_starts.get(&key(job))?;
    Some((promise.at.0 - world.minute(0).0) / 60_000)
}

#[test]
fn the_example() {
    let mut world = fair(vec![queue("q")]);
    world.submit(lasting(1, 8, "q", 60));
    assert_eq!(world.round(), ["1 on a"]);
    world.at(1).submit(of(2, on_nodes(2, 8), "q", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(promised(&world, 2), Some(60));
    world.at(2).submit(lasting(3, 4, "q", 120)).submit(lasting(4, 4, "q", 30));
    assert_eq!(world.round(), ["4 on b"]);
    assert_eq!(promised(&world, 2), Some(60), "what is promised stands, whoever starts beside it");
    assert_eq!(world.at(32).over(4).round(), [""; 0]);
    assert_eq!(world.at(60).over(1).round(), ["2 on a b"]);
}

/// Whenever a job of 4 GPUs ends, the next one is submitted; each runs an hour, and their ends are
/// staggered.
#[test]
fn a_stream_of_small_jobs_does_not_keep_a_large_one_waiting() {
    let mut world = fair(vec![queue("q")]);
    for job in 1..=4 {
        world.at(u64::from(job) * 15).submit(lasting(job, 4, "q", 60));
        assert_eq!(world.round().len(), 1);
    }
    world.submit(of(100, on_nodes(2, 8), "q", "low"));
    world.round();
    for (next, minute) in (5..).zip((75..=400).step_by(15)) {
        world.at(minute);
        let ended = |ends: common::time::Time| ends <= world.now;
        let over: Vec<u32> = world
            .snapshot
            .all_running()
            .filter(|job| job.ends_by.is_some_and(ended))
            .map(|job| job.key.job.0)
            .collect();
        over.into_iter().for_each(|job| _ = world.over(job));
        world.submit(lasting(next, 4, "q", 60));
        if world.round().contains(&"100 on a b".to_owned()) {
            assert_eq!(minute, 120, "when all are over that ran as it came");
            return;
        }
    }
    panic!("it has not started");
}

#[test]
fn nothing_is_kept_while_another_queue_waits_for_what_it_is_due() {
    let mut queues = vec![queue("a"), queue("b")];
    queues.iter_mut().for_each(|queue| queue.preemption.preemptible = false);
    let mut world = fair(queues);
    world.submit(lasting(1, 8, "a", 60));
    assert_eq!(world.round(), ["1 on a"]);
    world.at(1).submit(of(2, on_nodes(2, 8), "a", "low"));
    world.round();
    assert_eq!(promised(&world, 2), Some(60));
    world.at(2).submit(lasting(4, 8, "b", 600));
    let decided = [world.round(), world.round()].concat();
    assert_eq!(decided, ["4 on b"]);
}
