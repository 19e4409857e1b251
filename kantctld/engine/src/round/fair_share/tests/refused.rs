//! Tests of jobs that a round refuses. Most use one such node or job.

use super::{fair, owed, queue};
use crate::model::job::WaitingJob;
use crate::round::preempt::tests::{World, of};
use crate::testing::{change_policy, gpu_node, gpu_request, key, name};
use common::id::{ReservationName, Uid};
use common::reservation::Reservation;
use common::resource::{GpuRequest, Request};
use common::time::Span;
use common::unit::{Gpus, Tasks};

/// Nodes that jobs 1, 2 and so on of b hold, and idle ones that are booked in three hours.
fn booked(held: u16, idle: u16) -> World {
    let idle: Vec<String> = (0..idle).map(|at| format!("idle{at}")).collect();
    let mut nodes: Vec<_> = (1..=held).map(|at| gpu_node(&format!("held{at:02}"), 8)).collect();
    nodes.extend(idle.iter().map(|node| gpu_node(node, 8)));
    let mut world = World::new(nodes, vec![queue("a"), queue("b")]);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    (1..=held).for_each(|job| _ = world.submit(of(job.into(), gpu_request(8), "b", "low")));
    assert_eq!(world.round().len(), usize::from(held));
    let from = world.minute(180);
    world.snapshot.set_reservations([Reservation {
        name: ReservationName::new("maintenance").unwrap(),
        nodes: idle.iter().map(|node| name(node)).collect(),
        from,
        to: from + Span::from_minutes(60),
        access: common::policy::Access::default(),
        maintenance: true,
        by: Uid(0),
        comment: String::new(),
    }]);
    world.at(10);
    world
}

/// A job with a time limit beyond the booking.
fn long(job: u32, gpus: u32) -> WaitingJob {
    let limit = Span::from_minutes(1440 - u64::from(job));
    WaitingJob { time_limit: Some(limit), ..of(job, gpu_request(gpus), "a", "low") }
}

#[test]
fn a_queue_takes_back_what_it_is_due_though_a_node_is_idle_that_is_booked() {
    let mut world = booked(2, 1);
    world.submit(long(3, 8)).submit(long(4, 8));
    assert_eq!(world.round(), ["2 for 3"]);
}

#[test]
fn so_it_does_where_more_jobs_are_in_vain_than_plans_are_made() {
    let mut world = booked(30, 9);
    (101..128).for_each(|job| _ = world.submit(long(job, 8)));
    // The fair share of each is 156 of 312 GPUs: b gives back until it no longer holds more.
    assert_eq!(world.round().len(), 11);
}

#[test]
fn a_short_job_goes_to_the_booked_node_and_the_long_one_takes_back() {
    let mut world = booked(2, 1);
    world.submit(long(3, 4)).submit(of(4, gpu_request(8), "a", "low"));
    let mut decided = world.round();
    decided.sort();
    assert_eq!(decided, ["2 for 3", "4 on idle0"]);
}

#[test]
fn an_elastic_job_that_is_not_preemptible_starts_within_the_quota() {
    let mut world = fair(vec![owed("a", 2), owed("b", 2)]);
    let request = Request {
        tasks: Tasks(8),
        tasks_min: Some(Tasks(2)),
        gpus: Some(GpuRequest::PerTask(Gpus(1))),
        ..gpu_request(1)
    };
    world.submit(of(1, request, "a", "low"));
    assert_eq!(world.round(), ["1 on a"]);
    let runs = world.snapshot.running_job(key(1)).unwrap();
    let gpus: usize = runs.allocation.shares().iter().map(|share| share.gpus.len()).sum();
    assert_eq!(gpus, 2, "it is owed two, though eight are free");
}

#[test]
fn what_a_job_of_a_queue_that_is_gone_holds_is_not_free() {
    let nodes = ["a", "b", "c"].map(|node| gpu_node(node, 8)).to_vec();
    let mut world = World::new(nodes, vec![queue("a"), queue("b"), queue("gone")]);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    world.submit(of(1, gpu_request(8), "gone", "low"));
    assert_eq!(world.round(), ["1 on a"]);
    world.submit(of(2, gpu_request(8), "b", "low")).submit(of(3, gpu_request(8), "b", "low"));
    assert_eq!(world.round(), ["2 on b", "3 on c"]);
    change_policy(&mut world.snapshot, |policy| {
        policy.queues.retain(|queue| queue.name.as_str() != "gone");
    });
    world.at(5).submit(of(4, gpu_request(8), "a", "low"));
    world.submit(of(5, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["3 for 4"]);
}

#[test]
fn a_job_that_is_not_preemptible_is_known_to_be_over_its_quota_before_it_is_tried() {
    let mut world = fair(vec![owed("a", 4), queue("b")]);
    world.submit(of(1, gpu_request(4), "a", "low")).submit(of(2, gpu_request(5), "a", "low"));
    world.submit(of(3, gpu_request(8), "b", "low"));
    world.snapshot.prepare_for_round(world.now);
    let over = |job| crate::round::fair_share::exceeded_quota(&world.snapshot, world.now, key(job));
    assert_eq!((over(1), over(3)), (None, None));
    let decided = over(2).unwrap().to_string();
    assert!(decided.contains("queue a") && decided.contains('4'), "{decided}");
}
