//! Rules of fair rounds, each on a small cluster.

use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use crate::round::preempt::tests::{World, of, owed, queue};
use crate::testing::{
    change_policy, gpu_node, gpu_request, key, name, request, set_leaf_groups, share_request,
};
use crate::{check, schedule};
use common::policy::queue::Queue;
use common::policy::{Moves, Placement};
use common::resource::{GpuRequest, Request};
use common::topology::{Level, Nearness};
use common::unit::{Gpus, Nodes, Tasks};

fn fair(nodes: Vec<NodeSnapshot>, queues: Vec<Queue>) -> World {
    let mut world = World::new(nodes, queues);
    change_policy(&mut world.snapshot, |policy| {
        policy.fair_sharing = true;
        policy.moves = Moves { per_hour: 10, ..Moves::default() };
    });
    world
}

/// A request for GPUs on one of these nodes.
fn only_on(node: &str, gpus: u32) -> Request {
    Request { only_nodes: vec![name(node)], ..gpu_request(gpus) }
}

/// A queue of preemptible jobs with this quota.
fn guaranteed(of: &str, gpus: u32) -> Queue {
    Queue { quota: owed(of, gpus).quota, ..queue(of) }
}

#[test]
fn jobs_with_their_minimum_get_more_before_jobs_with_more_than_it() {
    let mut world = fair(vec![gpu_node("a", 5)], vec![queue("q")]);
    let elastic = Request {
        tasks_min: Some(Tasks(1)),
        gpus: Some(GpuRequest::PerTask(Gpus(1))),
        ..request(4, 1)
    };
    for job in [1, 2] {
        world.submit(of(job, elastic.clone(), "q", "low"));
    }
    world.round();
    let tasks = |job| world.snapshot.running_job(key(job)).map(|job| job.allocation.tasks());
    assert_eq!((tasks(1), tasks(2)), (Some(Tasks(3)), Some(Tasks(2))));
}

#[test]
fn where_a_limit_is_reached_the_higher_priority_takes_the_place_of_a_lower_one() {
    let mut limited = queue("q");
    limited.quota.at_most.gpus_any = Some(Gpus(4));
    let mut world = fair(vec![gpu_node("a", 8)], vec![limited]);
    world.submit(of(1, gpu_request(4), "q", "low"));
    assert_eq!(world.round(), ["1 on a"]);
    world.at(1).submit(of(2, gpu_request(4), "q", "high"));
    assert_eq!(world.round(), ["1 for 2"], "the other half of the node is free");
    assert_eq!(world.at(2).gone(1).round(), ["2 on a"]);
    assert_eq!(world.at(3).round(), [""; 0]);
}

#[test]
fn a_victim_moves_if_there_is_room_elsewhere() {
    let queues = || vec![guaranteed("a", 2), guaranteed("b", 2)];
    let mut world = fair(vec![gpu_node("a", 3), gpu_node("b", 2)], queues());
    world.submit(of(1, only_on("a", 2), "a", "low")).submit(of(9, only_on("a", 1), "a", "low"));
    world.round();
    world.submit(of(2, gpu_request(1), "a", "low"));
    assert_eq!(world.round(), ["2 on b"]);
    world.over(9).at(1).submit(of(3, gpu_request(2), "b", "low"));
    assert_eq!(world.round(), ["2 for 3 to a"]);
    assert_eq!(world.at(2).gone(2).round(), ["3 on b", "2 on a"]);
}

#[test]
fn fgd_shares_no_gpu_that_is_kept_whole() {
    let mut queues = vec![guaranteed("a", 1), guaranteed("b", 0)];
    for queue in &mut queues {
        (queue.share_gpus, queue.placement) = (true, Placement::Fgd);
    }
    let mut world = fair(vec![gpu_node("a", 2)], queues);
    change_policy(&mut world.snapshot, |policy| policy.moves.per_hour = 0);
    let half = |job| of(job, share_request(500), "b", "low");
    for job in [7, 8, 2, 9] {
        world.submit(half(job));
        assert_eq!(world.round(), [format!("{job} on a")]);
    }
    // Job 1 takes the place of job 7 on the first GPU; it is younger than job 2 on the second.
    world.over(7).at(1).submit(half(1));
    assert_eq!(world.round(), ["1 on a"]);
    world.over(8).over(9).at(2).submit(of(3, gpu_request(1), "a", "low"));
    assert_eq!(world.round(), ["1 for 3"]);
    world.at(3).submit(half(4));
    assert_eq!(world.round(), ["4 on a"]);
    assert_eq!(world.at(4).gone(1).round(), ["3 on a"], "job 4 is beside job 2");
}

#[test]
fn a_gpu_that_is_kept_whole_is_not_shared_meanwhile() {
    let mut queues = vec![guaranteed("a", 1), guaranteed("b", 0)];
    queues.iter_mut().for_each(|queue| queue.share_gpus = true);
    let mut world = fair(vec![gpu_node("a", 1)], queues);
    world.submit(of(1, share_request(500), "b", "low"));
    assert_eq!(world.round(), ["1 on a"]);
    world.at(1).submit(of(3, gpu_request(1), "a", "low"));
    assert_eq!(world.round(), ["1 for 3"]);
    world.at(2).submit(of(4, share_request(500), "b", "low"));
    assert_eq!(world.round(), [""; 0], "half of the GPU is free, but kept");
    assert_eq!(world.at(3).gone(1).round(), ["3 on a"]);
}

#[test]
fn of_two_queues_above_their_quotas_the_higher_priority_keeps_what_it_has() {
    let yields = |priority: i32| {
        let idle = Queue { priority, weight: 0, ..guaranteed("b", 0) };
        let mut world = fair(vec![gpu_node("a", 2)], vec![guaranteed("a", 0), idle]);
        for job in [1, 2] {
            world.submit(of(job, gpu_request(1), "b", "low"));
        }
        world.round();
        world.at(1).submit(of(3, gpu_request(1), "a", "low"));
        world.round()
    };
    assert_eq!(yields(0), ["2 for 3"], "b has no part of the surplus");
    assert_eq!(yields(1), [""; 0]);
}

#[test]
fn components_start_as_near_to_each_other_as_they_require() {
    let started = |near: Option<Nearness>| {
        let nodes = ["a", "b", "c", "d"].map(|name| gpu_node(name, 8));
        let mut world = fair(nodes.to_vec(), vec![queue("q")]);
        set_leaf_groups(&mut world.snapshot, &[("l", "a b"), ("m", "c d")]);
        world.submit(of(9, only_on("a", 8), "q", "low"));
        assert_eq!(world.round(), ["9 on a"]);
        for job in [1, 2] {
            let one = of(job, gpu_request(8), "q", "low");
            world.submit(WaitingJob { together: Some(key(1)), near_all: near, ..one });
        }
        let round = schedule(&world.snapshot, world.now);
        assert_eq!(check::check(&world.snapshot, world.now, &round), []);
        world.round()
    };
    let near = |level| Some(Nearness { level, required: true });
    assert_eq!(started(near(Level::Leaf)), ["1 on c", "2 on d"]);
    assert_eq!(started(near(Level::Spine)), [""; 0], "their spine is not known");
    assert_eq!(started(None), ["1 on b", "2 on c"]);
}

/// Taken from the younger queue alone, the other would keep more than its share, and the younger
/// less.
#[test]
fn of_two_queues_above_their_shares_each_gives_up_one_job_for_a_gang_of_two() {
    let nodes = (1..=6).map(|node| gpu_node(&format!("n{node}"), 1)).collect();
    let mut world = fair(nodes, ["a", "b", "c"].map(|name| guaranteed(name, 2)).to_vec());
    for job in 1..=6 {
        let queue = if job <= 3 { "b" } else { "c" };
        world.at(job.into()).submit(of(job, gpu_request(1), queue, "low"));
        assert_eq!(world.round().len(), 1);
    }
    let gang = Request {
        nodes: Some(Nodes(2)),
        gpus: Some(GpuRequest::PerTask(Gpus(1))),
        ..request(2, 1)
    };
    world.at(10).submit(of(7, gang, "a", "low"));
    let mut victims = world.round();
    victims.sort_unstable();
    assert_eq!(victims, ["3 for 7", "6 for 7"]);
}

#[test]
fn a_queue_that_may_lose_nothing_does_not_hide_a_victim_of_another() {
    for moves in [0, 10] {
        let nodes = vec![gpu_node("a", 8), gpu_node("b", 8), gpu_node("c", 8)];
        let mut world =
            fair(nodes, vec![guaranteed("a", 8), guaranteed("b", 8), guaranteed("c", 8)]);
        change_policy(&mut world.snapshot, |policy| policy.moves.per_hour = moves);
        world.submit(of(1, only_on("c", 5), "b", "low")).submit(of(2, only_on("a", 4), "a", "low"));
        world.submit(of(3, only_on("b", 4), "c", "low")).submit(of(4, only_on("b", 4), "c", "low"));
        assert_eq!(world.round().len(), 4);
        world.at(1).submit(of(5, only_on("a", 1), "b", "low"));
        assert_eq!(world.round(), ["5 on a"]);
        for job in [6, 7, 8] {
            world.at(2).submit(of(job, only_on("c", 1), "b", "low"));
        }
        assert_eq!(world.round().len(), 3);
        // Of b, which alone is above its share, the younger jobs make no room. Job 4 would, but c
        // has only its share.
        world.at(3).submit(of(9, gpu_request(4), "a", "low"));
        assert_eq!(world.round(), ["5 for 9"], "with {moves} moves");
    }
}
