//! Tests of the room reserved for a job until its victims are gone.

use super::{World, high, isolated, low, of, on_nodes, owed, queue, with_request};
use crate::model::job::WaitingJob;
use crate::testing::{gpu_node, gpu_request, key};
use common::policy::queue::Queue;
use common::policy::{Backfill, Behind};
use common::time::Span;
use common::unit::Tasks;

fn two_nodes() -> World {
    World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], vec![queue("q")])
}

#[test]
fn it_starts_when_the_last_one_is_gone_and_small_jobs_do_not_take_what_comes_free() {
    let mut world = World::new(vec![gpu_node("a", 8)], vec![queue("q")]);
    for job in 1..=4 {
        world.submit(low(job, 2));
    }
    assert_eq!(world.round(), ["1 on a", "2 on a", "3 on a", "4 on a"]);
    world.at(5).submit(high(9, 6));
    assert_eq!(world.round(), ["4 for 9", "3 for 9", "2 for 9"]);
    assert_eq!(world.reason(9), "3 jobs are making room for it, including 4");
    // Small jobs compete for it, one of them short.
    world.at(6).submit(WaitingJob { time_limit: Some(Span::from_minutes(1)), ..low(10, 1) });
    world.submit(low(11, 2));
    assert_eq!(world.round(), [""; 0], "no job is preempted twice, nothing is free");
    for (minute, job) in [(7, 4), (8, 3)] {
        world.at(minute).gone(job);
        assert_eq!(world.round(), [""; 0], "what job {job} left is kept");
    }
    assert_eq!(world.reason(9), "job 2 is making room for it");
    world.at(9).gone(2);
    assert_eq!(world.round(), ["9 on a"]);
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn what_is_left_beside_its_room_is_free_for_others() {
    let mut world = World::new(vec![gpu_node("a", 8)], vec![queue("q")]);
    world.submit(low(1, 4)).submit(low(2, 4));
    world.round();
    world.at(5).submit(high(3, 1));
    assert_eq!(world.round(), ["2 for 3"]);
    world.at(6).submit(low(4, 3)).gone(2);
    assert_eq!(world.round(), ["3 on a", "4 on a"]);
}

#[test]
fn what_is_kept_for_an_isolated_queue_is_kept_until_its_job_starts() {
    let nodes = vec![gpu_node("a", 4), gpu_node("b", 4)];
    let mut world = World::new(nodes, vec![queue("q"), isolated("iso", 4)]);
    world.submit(low(1, 4));
    assert_eq!(world.round(), ["1 on a"]);
    // It may only go to that node; the other four GPUs are its queue's quota.
    let mut request = gpu_request(4);
    request.only_nodes.push(common::id::NodeName::new("a").unwrap());
    world.at(5).submit(of(2, request, "iso", "low"));
    world.submit(low(3, 1));
    assert_eq!(world.round(), ["1 for 2"], "job 3 would borrow what is kept for iso");
    world.at(6).gone(1);
    assert_eq!(world.round(), ["2 on a", "1 on b"], "nothing is kept any more");
}

#[test]
fn room_that_comes_free_elsewhere_is_taken_at_once() {
    let mut world = two_nodes();
    world.submit(low(1, 8)).submit(low(2, 8));
    world.round();
    world.at(5).submit(high(3, 8));
    assert_eq!(world.round(), ["2 for 3"]);
    world.at(6).over(1);
    assert_eq!(world.round(), ["3 on a"]);
    world.at(7).gone(2);
    assert_eq!(world.round(), ["2 on b"]);
}

#[test]
fn a_job_with_room_once_others_are_gone_that_end_anyway_preempts_none() {
    let mut world = two_nodes();
    world.submit(low(1, 8)).submit(low(2, 8));
    world.round();
    world.change(key(1), |job| job.ending = true);
    world.at(5).submit(high(3, 8));
    assert_eq!(world.round(), [""; 0]);
    world.at(6).submit(high(4, 8));
    assert_eq!(world.round(), [""; 0], "one of the two has room soon");
    world.at(7).over(1);
    assert_eq!(world.round(), ["3 on a", "2 for 4"]);
}

#[test]
fn all_nodes_of_a_job_or_none() {
    let mut world = two_nodes();
    world.submit(low(1, 8)).submit(WaitingJob { preemptible: Some(false), ..low(2, 8) });
    world.round();
    let both = with_request(high(3, 8), on_nodes(2, 8));
    world.at(5).submit(both);
    assert_eq!(world.round(), [""; 0]);
    world.at(6).over(2);
    assert_eq!(world.round(), ["1 for 3"]);
    world.at(7).gone(1);
    assert_eq!(world.round(), ["3 on a b"]);
}

#[test]
fn an_elastic_job_asks_for_its_fewest_tasks_and_takes_more_if_there_are() {
    let mut world = two_nodes();
    world.submit(low(1, 8)).submit(low(2, 8));
    world.round();
    let request = crate::testing::request(8, 1);
    let gpus = Some(common::resource::GpuRequest::PerTask(common::unit::Gpus(1)));
    let request = common::resource::Request { gpus, tasks_min: Some(Tasks(2)), ..request };
    world.at(5).submit(with_request(high(3, 1), request));
    assert_eq!(world.round(), ["2 for 3"]);
    world.at(6).gone(2);
    assert_eq!(world.round(), ["3 on b"]);
    let held = world.snapshot.running_job(key(3)).unwrap().allocation.shares()[0].gpus.len();
    assert_eq!(held, 8);
}

#[test]
fn a_least_run_time_protects_and_the_end_of_it_is_looked_at() {
    let mut guarded = queue("q");
    guarded.preemption.runtime_min = Span::from_minutes(30);
    let mut world = World::new(vec![gpu_node("a", 8)], vec![guarded]);
    world.submit(low(1, 8));
    world.round();
    world.at(5).submit(high(2, 4));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.round.next_look, Some(world.minute(30)));
    world.at(30);
    assert_eq!(world.round(), ["1 for 2"]);
}

#[test]
fn a_full_quota_makes_room_by_priority_too() {
    let nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
    let mut world = World::new(nodes, vec![isolated("q", 8)]);
    world.submit(low(1, 4)).submit(low(2, 4));
    world.round();
    world.at(5).submit(low(3, 4));
    assert_eq!(world.round(), [""; 0]);
    world.at(6).submit(high(4, 4));
    assert_eq!(world.round(), ["2 for 4"]);
    world.at(7);
    assert_eq!(world.round(), [""; 0]);
    world.at(8).gone(2);
    assert_eq!(world.round(), ["4 on a"]);
    assert!(world.reason(2).contains("quota"), "{}", world.reason(2));
}

#[test]
fn two_that_take_back_in_one_round_take_no_more_than_is_owed() {
    let nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
    let mut world = World::new(nodes, vec![owed("q", 8), owed("y", 8)]);
    for job in 1..=4 {
        world.submit(super::of(job, gpu_request(4), "y", "low"));
    }
    world.round();
    world.at(5);
    for job in 5..=7 {
        world.submit(low(job, 4));
    }
    assert_eq!(world.round(), ["4 for 5", "3 for 6"]);
    world.at(6).gone(3).gone(4);
    assert_eq!(world.round().len(), 2);
    assert_eq!(world.round(), [""; 0], "job 7 would borrow itself");
}

#[test]
fn no_job_is_preempted_so_that_a_queue_borrows_more() {
    let nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
    let lent = |name, gpus| Queue { quota: owed(name, gpus).quota, ..queue(name) };
    let mut world = World::new(nodes, vec![lent("q", 6), lent("y", 10)]);
    world.submit(low(1, 5));
    assert_eq!(world.round(), ["1 on a"]);
    world.submit(WaitingJob { nice: 1, ..super::of(2, gpu_request(8), "y", "low") });
    assert_eq!(world.round(), ["2 on b"]);
    world.at(5).submit(high(3, 7));
    assert_eq!(world.round(), [""; 0], "with 7 the queue would borrow, with 5 it does not");
    world.at(6).submit(high(4, 6));
    assert_eq!(world.round(), ["1 for 4"]);
}

#[test]
fn no_job_before_it_is_delayed() {
    let easy = Queue { behind: Behind::Backfill, backfill: Backfill::default(), ..queue("q") };
    let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], vec![easy]);
    let hour = Some(Span::from_minutes(60));
    world.submit(WaitingJob { preemptible: Some(false), time_limit: hour, ..low(1, 8) });
    world.submit(WaitingJob { time_limit: hour, ..low(2, 8) });
    world.round();
    // The first asks for both nodes in an hour; nothing helps it sooner. The second would take one
    // of them for two hours.
    world.at(5).submit(with_request(high(3, 8), on_nodes(2, 8)));
    world.at(6).submit(high(4, 8));
    assert_eq!(world.round(), [""; 0]);
    world.submit(WaitingJob { time_limit: Some(Span::from_minutes(50)), ..high(5, 8) });
    assert_eq!(world.round(), ["2 for 5"]);
}

#[test]
fn a_node_that_is_lost_ends_what_was_kept_on_it() {
    let mut world = two_nodes();
    world.submit(low(1, 8)).submit(WaitingJob { preemptible: Some(false), ..low(2, 8) });
    world.round();
    world.at(5).submit(high(3, 8));
    assert_eq!(world.round(), ["1 for 3"]);
    let mut lost = gpu_node("a", 8);
    lost.unusable = Some(crate::Unusable::Drained);
    world.snapshot.set_node(&lost);
    world.at(6).over(2).submit(low(4, 8));
    assert_eq!(world.round(), ["3 on b"]);
}

#[test]
fn in_a_strict_queue_the_first_job_never_waits_for_itself() {
    let strict = Queue { behind: Behind::Wait, ..queue("q") };
    let mut world = World::new(vec![gpu_node("a", 8)], vec![strict]);
    let firm = WaitingJob { preemptible: Some(false), ..low(1, 4) };
    world.submit(firm).submit(low(2, 4));
    world.round();
    // Job 3 has room when jobs 1 and 2 are gone; other jobs of its class are shorter.
    world.at(5).submit(high(3, 8));
    let short = |job| WaitingJob { time_limit: Some(Span::from_minutes(5)), ..high(job, 8) };
    world.submit(short(4)).submit(short(5));
    assert_eq!(world.round(), [""; 0]);
    assert!(world.reason(3).starts_with("needs 8 GPUs"), "{}", world.reason(3));
    assert!(world.reason(4).contains("job 3"), "{}", world.reason(4));
}
