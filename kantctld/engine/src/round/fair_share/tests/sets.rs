//! Tests of preemption for all components of a job, or for none.

use super::queue;
use crate::model::job::WaitingJob;
use crate::round::preempt::tests::{World, of, owed};
use crate::testing::{change_policy, gpu_node, gpu_request, key};
use common::policy::queue::Queue;

/// Nodes of 8 GPUs that jobs 1, 2 and so on of b hold.
fn full(nodes: u32, queues: Vec<Queue>) -> World {
    let all = (1..=nodes).map(|node| gpu_node(&format!("n{node}"), 8)).collect();
    let mut world = World::new(all, queues);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    for job in 1..=nodes {
        world.at(job.into()).submit(of(job, gpu_request(8), "b", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(10);
    world
}

fn two() -> Vec<Queue> {
    vec![queue("a"), queue("b")]
}

/// Components from job 4 on that ask for these numbers of GPUs.
fn set(world: &mut World, queue: &str, qos: &str, gpus: &[u32]) {
    for (job, gpus) in (4..).zip(gpus) {
        let one = of(job, gpu_request(*gpus), queue, qos);
        world.submit(WaitingJob { together: Some(key(4)), ..one });
    }
}

#[test]
fn the_example() {
    let mut world = full(3, two());
    set(&mut world, "a", "low", &[8, 4]);
    assert_eq!(world.round(), ["3 for 4", "2 for 4"]);
    assert_eq!(world.reason(4), "2 jobs are making room for it, including 3");
    assert_eq!(world.reason(4), world.reason(5), "both wait for the same");
    let half = world.at(11).gone(2).round();
    assert_eq!(half, [""; 0], "one component would have room, the other not yet");
    assert_eq!(world.at(12).gone(3).round(), ["4 on n2", "5 on n3"]);
}

#[test]
fn no_job_takes_what_is_kept_for_components_meanwhile() {
    let mut world = full(3, two());
    set(&mut world, "a", "low", &[8, 4]);
    world.round();
    world.at(11).over(3).submit(of(9, gpu_request(1), "b", "low"));
    assert_eq!(world.round(), ["9 on n3"], "beside the 4 GPUs that are kept there");
    world.at(12).submit(of(10, gpu_request(4), "b", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.at(13).over(2).round(), ["4 on n2", "5 on n3"]);
}

#[test]
fn no_job_yields_to_components_of_which_one_would_still_lack_room() {
    let mut world = full(3, two());
    // The fair shares are 12 each: with 16 the queue would be above its share.
    set(&mut world, "a", "low", &[8, 8]);
    assert_eq!(world.round(), [""; 0]);
    // Nor where jobs that are not preemptible hold what the second one needs.
    let mut world = full(2, vec![owed("a", 16), queue("b")]);
    change_policy(&mut world.snapshot, |policy| {
        policy.queues[1].preemption.preemptible = false;
    });
    world.change(key(1), |job| job.preemptible = false);
    set(&mut world, "a", "low", &[8, 4]);
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn a_component_that_has_room_waits_for_the_others() {
    let mut world = full(3, two());
    world.over(1);
    set(&mut world, "a", "low", &[8, 4]);
    assert_eq!(world.round(), ["3 for 4"]);
    assert_eq!(world.at(11).round(), [""; 0]);
    let starts = world.at(12).gone(3).round();
    assert_eq!(starts.len(), 2, "{starts:?}");
}

#[test]
fn in_a_queue_lower_priorities_yield_to_all_components() {
    let mut world = full(3, vec![queue("b")]);
    set(&mut world, "b", "high", &[8, 4]);
    assert_eq!(world.round(), ["3 for 4", "2 for 4"]);
    // The lowest priority of the components counts.
    let mut world = full(3, vec![queue("b")]);
    set(&mut world, "b", "high", &[8, 4]);
    let last = WaitingJob { together: Some(key(4)), ..of(5, gpu_request(4), "b", "low") };
    assert_eq!(world.submit(last).round(), [""; 0]);
}

#[test]
fn components_that_are_not_preemptible_are_within_the_quota_together() {
    let mut world = World::new(vec![gpu_node("n1", 8)], vec![owed("a", 4)]);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    set(&mut world, "a", "low", &[4, 2]);
    assert_eq!(world.round(), [""; 0]);
    assert!(world.reason(5).contains('4'), "{}", world.reason(5));
    let small = WaitingJob { together: Some(key(4)), ..of(4, gpu_request(2), "a", "low") };
    assert_eq!(world.submit(small).round(), ["4 on n1", "5 on n1"]);
}

#[test]
fn who_is_kept_room_for_gives_it_up_when_a_component_is_held() {
    let mut world = full(3, two());
    set(&mut world, "a", "low", &[8, 4]);
    world.round();
    for (job, gpus) in [(4, 8), (5, 4)] {
        let one = of(job, gpu_request(gpus), "a", "low");
        world.submit(WaitingJob { together: Some(key(4)), held: true, ..one });
    }
    let again = world.at(11).gone(2).gone(3).round();
    assert_eq!(again.len(), 2, "those who yielded go on: {again:?}");
    assert!(world.round.planned_starts.is_empty());
}

#[test]
fn components_of_two_queues_make_no_job_yield() {
    let mut world = full(3, two());
    set(&mut world, "a", "low", &[8]);
    let other = of(5, gpu_request(4), "b", "low");
    world.submit(WaitingJob { together: Some(key(4)), ..other });
    assert_eq!(world.round(), [""; 0]);
}
