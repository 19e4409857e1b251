//! Tests of elastic jobs that give up their last nodes instead of being stopped.

use super::*;
use crate::testing::gpu_node;
use common::resource::GpuRequest;
use common::unit::{Cpus, Tasks};

/// One task of 8 GPUs on each of `most` nodes, with a minimum of `least`.
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
fn no_job_is_stopped_where_others_can_give_nodes_up() {
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
fn its_reason_names_the_fewest_nodes_and_not_the_most() {
    let mut world = World::new(nodes("abc"), vec![queue("q")]);
    world.submit(WaitingJob { request: two_nodes(), ..high(2, 8) });
    world.round();
    world.at(5).submit(elastic(1, 2, 3));
    assert_eq!(world.round(), [""; 0]);
    let decided = world.reason(1);
    assert!(decided.contains("2 nodes") && !decided.contains("3 nodes"), "{decided}");
}

#[test]
fn of_many_nodes_it_gives_as_few_as_are_needed() {
    let names: Vec<String> = (0..40).map(|node| format!("n{node:02}")).collect();
    let all = names.iter().map(|name| gpu_node(name, 8)).collect();
    let mut world = World::new(all, vec![queue("q")]);
    world.submit(elastic(1, 1, 40));
    world.round();
    world.at(5).submit(high(2, 8));
    assert_eq!(world.round(), ["1 keeps 39 for 2"]);
}

#[test]
fn two_give_nodes_back_where_neither_could_be_stopped_for_it() {
    let mut queues = vec![owed("a", 16), owed("q", 16)];
    queues.iter_mut().for_each(|queue| queue.preemption.reclaim = true);
    let mut world = World::new(nodes("abcd"), queues);
    world.submit(elastic(1, 1, 2));
    world.round();
    world.at(1).submit(elastic(2, 1, 2));
    assert_eq!(world.round(), ["2 on c d"]);
    let request = two_nodes();
    world.at(5).submit(WaitingJob { request, ..of(3, gpu_request(8), "a", "low") });
    assert_eq!(world.round(), ["2 keeps 1 for 3", "1 keeps 1 for 3"]);
}

/// Job 1 has four nodes of queue q, of which the last is drained; job 2 of queue a wants one.
fn with_a_drained_node(reclaim_runtime_min: Option<Span>) -> Vec<String> {
    let mut queues = vec![queue("a"), queue("q")];
    queues[1].reclaim_runtime_min = reclaim_runtime_min;
    let mut world = World::new(nodes("abcd"), queues);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    world.submit(elastic(1, 1, 4));
    assert_eq!(world.round(), ["1 on a b c d"]);
    let drained = NodeSnapshot { unusable: Some(crate::Unusable::Drained), ..gpu_node("d", 8) };
    world.snapshot.set_node(&drained);
    world.at(5).submit(of(2, gpu_request(8), "a", "low"));
    let decided = world.round();
    let wrong = crate::check::check_decisions(&world.snapshot, world.now, &[]);
    assert!(wrong.is_empty(), "{wrong:?}");
    decided
}

#[test]
fn the_last_nodes_go_though_one_before_them_would_do() {
    assert_eq!(with_a_drained_node(None), ["1 keeps 2 for 2"]);
}

#[test]
fn what_it_has_beyond_the_fewest_is_not_safe_for_a_while() {
    assert_eq!(with_a_drained_node(Some(Span::from_minutes(60))), ["1 keeps 2 for 2"]);
}

#[test]
fn who_could_give_nodes_up_is_not_moved() {
    let mut world = World::new(nodes("abc"), vec![queue("a"), queue("q")]);
    change_policy(&mut world.snapshot, |policy| {
        policy.fair_sharing = true;
        policy.moves.per_hour = 10;
        policy.moves.lost_gpu_minutes_max = 1000;
    });
    let half = Request {
        tasks: Tasks(2),
        tasks_min: Some(Tasks(1)),
        tasks_per_node: Some(Tasks(1)),
        gpus: Some(GpuRequest::PerTask(Gpus(4))),
        ..gpu_request(4)
    };
    world.submit(of(1, half, "q", "low"));
    assert_eq!(world.round(), ["1 on a b"]);
    world.at(1).submit(of(2, gpu_request(4), "q", "low"));
    let decided = world.round();
    assert_eq!(decided.len(), 1, "{decided:?}");
    world.at(2).submit(WaitingJob { request: two_nodes(), ..of(3, gpu_request(8), "a", "low") });
    let decided = world.round();
    assert!(decided.iter().all(|what| !what.contains(" to ")), "{decided:?}");
}
