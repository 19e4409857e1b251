//! Jobs that are content with less give up their last nodes instead of being stopped.

use super::*;
use crate::testing::gpu_node;
use common::resource::GpuRequest;
use common::unit::{Cpus, Tasks};

/// One task of 8 GPUs on each of these nodes, at least so many.
fn elastic(job: u32, least: u32, most: u32) -> WaitingJob {
    let request = Request {
        tasks: Tasks(most),
        tasks_min: Some(Tasks(least)),
        tasks_per_node: Some(Tasks(1)),
        cpus_per_task: Cpus(1),
        gpus: Some(GpuRequest::PerTask(Gpus(8))),
        ..gpu_request(8)
    };
    of(job, request, "q", "low")
}

fn nodes(names: &str) -> Vec<NodeSnapshot> {
    names.chars().map(|name| gpu_node(&name.to_string(), 8)).collect()
}

#[test]
fn who_is_content_with_less_gives_its_last_nodes_up_and_runs_on() {
    let mut world = World::new(nodes("abcd"), vec![queue("q")]);
    world.submit(elastic(1, 1, 4));
    assert_eq!(world.round(), ["1 on a b c d"]);
    world.at(5).submit(high(2, 8));
    assert_eq!(world.round(), ["1 keeps 3 for 2"], "no more than makes room");
    assert!(world.reason(2).contains("job 1"), "{}", world.reason(2));
    assert_eq!(world.at(6).round(), [""; 0], "it has not let go");
    assert_eq!(world.shrunk(1).round(), ["2 on d"]);
    world.at(7).submit(WaitingJob { request: two_nodes(), ..high(3, 8) });
    assert_eq!(world.round(), ["1 keeps 1 for 3"]);
    assert_eq!(world.shrunk(1).round(), ["3 on b c"]);
    world.at(8).submit(high(4, 8));
    assert_eq!(world.round(), ["1 for 4"], "it has the fewest: now it is stopped");
}

fn two_nodes() -> Arc<Request> {
    Arc::new(on_nodes(2, 8))
}

#[test]
fn nobody_is_stopped_where_others_can_give_nodes_up() {
    let mut world = World::new(nodes("abc"), vec![queue("q")]);
    world.submit(elastic(1, 1, 2));
    world.round();
    // It started last and would lose least.
    world.at(5).submit(low(2, 8));
    assert_eq!(world.round(), ["2 on c"]);
    world.at(6).submit(high(3, 8));
    assert_eq!(world.round(), ["1 keeps 1 for 3"]);
}

#[test]
fn who_would_be_stopped_runs_on_with_less_if_that_is_enough() {
    let mut world = World::new(nodes("abc"), vec![queue("q")]);
    world.submit(elastic(1, 1, 2));
    world.round();
    world.at(5).submit(low(2, 8));
    world.round();
    world.at(6).submit(WaitingJob { request: two_nodes(), ..high(3, 8) });
    assert_eq!(world.round(), ["2 for 3", "1 keeps 1 for 3"]);
}

#[test]
fn who_gives_nodes_up_is_not_asked_again_until_those_are_gone() {
    let mut world = World::new(nodes("abc"), vec![queue("q")]);
    world.submit(elastic(1, 1, 3));
    world.round();
    world.at(5).submit(high(2, 8));
    assert_eq!(world.round(), ["1 keeps 2 for 2"]);
    world.at(6).submit(high(3, 8));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.shrunk(1).round(), ["2 on c", "1 keeps 1 for 3"]);
}

#[test]
fn a_queue_takes_back_nodes_and_not_the_job() {
    let mut queues = vec![owed("a", 8), owed("q", 8)];
    queues.iter_mut().for_each(|queue| queue.preemption.reclaim = true);
    let mut world = World::new(nodes("ab"), queues);
    world.submit(elastic(1, 1, 2));
    assert_eq!(world.round(), ["1 on a b"]);
    world.at(5).submit(of(2, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["1 keeps 1 for 2"]);
    assert_eq!(world.shrunk(1).round(), ["2 on b"]);
}

#[test]
fn where_shares_are_fair_nodes_are_taken_back_and_not_the_job() {
    let mut world = World::new(nodes("abcd"), vec![queue("a"), queue("q")]);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    world.submit(elastic(1, 1, 4));
    assert_eq!(world.round(), ["1 on a b c d"]);
    world.at(5).submit(of(2, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["1 keeps 3 for 2"]);
    assert_eq!(world.at(6).round(), [""; 0]);
    assert_eq!(world.shrunk(1).round(), ["2 on d"]);
    world.at(7).submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["1 keeps 2 for 3"]);
    assert_eq!(world.shrunk(1).round(), ["3 on c"]);
    world.at(8).submit(of(4, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0], "both have their share");
}

#[test]
fn where_shares_are_fair_it_starts_with_what_there_is() {
    let mut world = World::new(nodes("abc"), vec![queue("a"), queue("q")]);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    let rigid = WaitingJob { preemptible: Some(false), ..of(2, gpu_request(8), "a", "low") };
    world.submit(rigid);
    world.round();
    world.at(5).submit(elastic(1, 1, 4));
    assert_eq!(world.round(), ["1 on b c"]);
}

#[test]
fn it_is_told_that_it_lacks_the_fewest_nodes_and_not_the_most() {
    let mut world = World::new(nodes("abc"), vec![queue("q")]);
    world.submit(WaitingJob { request: two_nodes(), ..high(2, 8) });
    world.round();
    world.at(5).submit(elastic(1, 2, 3));
    assert_eq!(world.round(), [""; 0]);
    let told = world.reason(1);
    assert!(told.contains("2 nodes") && !told.contains("3 nodes"), "{told}");
}
