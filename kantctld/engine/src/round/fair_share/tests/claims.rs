//! Tests of which queue may reclaim what from which.

use super::{borrowed, fair, queue, world};
use crate::round::preempt::tests::{World, of, owed};
use crate::testing::{change_policy, gpu_request, key, request};
use common::policy::YieldsFirst;
use common::policy::queue::Queue;
use common::resource::Request;
use common::time::Span;
use common::unit::Cpus;

/// Jobs 1 and 2 of b hold all GPUs and all CPUs.
fn full(queues: Vec<Queue>) -> World {
    let mut world = fair(queues);
    for job in [1, 2] {
        let all = Request { cpus_per_task: Cpus(16), ..gpu_request(8) };
        world.at(u64::from(job)).submit(of(job, all, "b", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(10);
    world
}

#[test]
fn a_job_without_gpus_takes_none_from_those_who_have_their_share() {
    let mut world = full(vec![queue("a"), queue("b")]);
    world.submit(of(3, request(1, 1), "a", "low"));
    assert_eq!(world.round(), [""; 0], "CPUs are nobody's share");
    // Nor where a borrows, and b is above its fair share.
    world.submit(of(4, Request { cpus_per_task: Cpus(16), ..gpu_request(8) }, "a", "low"));
    assert_eq!(world.round(), ["2 for 4"]);
}

#[test]
fn cpus_that_a_quota_names_are_taken_back() {
    let named = |name: &str| {
        let mut queue = queue(name);
        queue.quota.amounts.cpus = Some(Cpus(16));
        queue
    };
    let mut world = full(vec![named("a"), named("b")]);
    world.submit(of(3, request(1, 1), "a", "low"));
    assert_eq!(world.round(), ["2 for 3"]);
}

#[test]
fn a_job_for_whole_nodes_asks_for_their_gpus() {
    let mut world = fair(vec![queue("a"), queue("b")]);
    let whole = Request { exclusive: true, ..request(1, 1) };
    for job in [1, 2] {
        world.at(u64::from(job)).submit(of(job, gpu_request(8), "b", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(10).submit(of(3, whole.clone(), "a", "low"));
    assert_eq!(world.round(), ["2 for 3"], "8 GPUs of the 8 that a is due");
    assert_eq!(world.at(11).gone(2).round(), ["3 on b"]);
    world.at(12).submit(of(4, whole, "a", "low"));
    assert_eq!(world.round(), [""; 0], "a has its share");
}

#[test]
fn a_job_for_whole_nodes_that_is_not_preemptible_is_within_the_quota() {
    let mut world = fair(vec![owed("a", 4), owed("b", 4)]);
    world.submit(of(1, Request { exclusive: true, ..request(1, 1) }, "a", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert!(world.reason(1).contains('4'), "{}", world.reason(1));
}

/// Top-level queues `lab` and `ops`; `lab-a` below `lab`.
fn departments(change: impl Fn(&mut Queue)) -> World {
    let mut below = queue("lab-a");
    below.parent = Some(queue("lab").name);
    let mut queues = vec![queue("lab"), below, queue("ops")];
    queues.iter_mut().for_each(change);
    let mut world = fair(queues);
    for job in [1, 2] {
        world.at(u64::from(job)).submit(of(job, gpu_request(8), "lab-a", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(10);
    world
}

#[test]
fn the_least_run_time_of_a_queue_holds_against_other_trees() {
    let mut world = departments(|queue| {
        if queue.name.as_str() == "lab-a" {
            queue.preemption.runtime_min = Span::from_minutes(30);
        }
    });
    world.submit(of(3, gpu_request(8), "ops", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.round.next_look, Some(world.minute(31)));
    assert_eq!(world.at(31).round(), ["1 for 3"], "job 2 has run for 29 minutes");
}

#[test]
fn a_look_is_due_when_what_a_queue_above_says_is_over() {
    let mut world = departments(|queue| {
        if queue.name.as_str() == "lab" {
            queue.reclaim_runtime_min = Some(Span::from_minutes(60));
        }
    });
    world.submit(of(3, gpu_request(8), "ops", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.round.next_look, Some(world.minute(61)));
    assert_eq!(world.at(61).round(), ["1 for 3"]);
}

#[test]
fn each_of_two_least_run_times_has_its_look() {
    let mut world = borrowed(world(|queue| {
        queue.preemption.runtime_min = Span::from_minutes(60);
        queue.reclaim_runtime_min = Some(Span::from_minutes(30));
    }));
    change_policy(&mut world.snapshot, |_| ());
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.round.next_look, Some(world.minute(31)));
    assert_eq!(world.at(31).round(), [""; 0], "an hour against everybody");
    assert_eq!(world.at(61).round(), ["1 for 3"]);
}

#[test]
fn of_equal_jobs_the_last_submitted_or_the_one_that_loses_least_yields_first() {
    for (first, decided) in
        [(YieldsFirst::SubmittedLast, "2 for 3"), (YieldsFirst::LosesLeast, "1 for 3")]
    {
        let mut world = borrowed(world(|_| {}));
        change_policy(&mut world.snapshot, |policy| policy.yields_first = first);
        // Job 1 was stopped once, and started again after job 2 had.
        let later = world.minute(5);
        world.change(key(1), |job| job.started_at = later);
        world.submit(of(3, gpu_request(8), "a", "low"));
        assert_eq!(world.round(), [decided]);
    }
}
