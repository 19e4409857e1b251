//! Tests that a round does not depend on how many running jobs are in sight at first, and that the
//! index kept of all running jobs equals one made from scratch.

use super::{Draw, World, any_queues, fair, of, owed};
use crate::Snapshot;
use crate::fair::bars::Bars;
use crate::fair::plan::{Act, plan};
use crate::fair::round::{STEPS, WITH_MOVES, seeing};
use crate::fair::sight::Sight;
use crate::fair::view::View;
use crate::job::WaitingJob;
use crate::planner::RoundState;
use crate::preempt::tests::on_nodes;
use crate::testing::{change_policy, gpu_node, gpu_request, name, share_request};
use common::policy::Moves;
use common::policy::queue::Queue;
use common::resource::{GpuRequest, Request};
use common::time::{Span, Time};
use common::unit::{Gpus, Tasks};
use std::sync::Arc;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Three nodes with 4 GPUs, at least one.
fn elastic() -> Request {
    Request {
        tasks: Tasks(3),
        tasks_min: Some(Tasks(1)),
        tasks_per_node: Some(Tasks(1)),
        gpus: Some(GpuRequest::PerTask(Gpus(4))),
        ..gpu_request(4)
    }
}

/// One, two, half or all GPUs of a node, a part of one, two nodes, or an elastic request.
fn any_request(draw: &mut Draw) -> Request {
    match draw.below(10) {
        0..=3 => gpu_request(1),
        4 => gpu_request(2),
        5 => gpu_request(4),
        6 => gpu_request(8),
        7 => share_request(500),
        8 => on_nodes(2, 4),
        _ => elastic(),
    }
}

fn any_job(draw: &mut Draw, job: u32) -> WaitingJob {
    let qos = ["low", "low", "high"][draw.below(3) as usize];
    let queue = NAMES[draw.below(6) as usize];
    let preemptible = (draw.below(5) == 0).then_some(false);
    let nice = draw.below(2) as i32;
    WaitingJob { preemptible, nice, ..of(job, any_request(draw), queue, qos) }
}

fn any_world(draw: &mut Draw) -> World {
    let mut world = fair(any_queues(draw));
    for node in ["c", "d"].into_iter().take(draw.below(3) as usize) {
        world.snapshot.set_node(&gpu_node(node, 8));
    }
    let (is_safe, moves) = (draw.below(3) == 0, draw.below(4) == 0);
    change_policy(&mut world.snapshot, |policy| {
        if is_safe {
            let safe = |queue: &mut Queue| queue.preemption.runtime_min = Span::from_minutes(7);
            policy.queues.iter_mut().step_by(2).for_each(safe);
        }
        if moves {
            policy.moves = Moves { per_hour: 10, lost_gpu_minutes_max: 600 };
        }
    });
    world
}

/// Changes something other than jobs.
fn surprise(world: &mut World, draw: &mut Draw) {
    let snapshot = &mut world.snapshot;
    match draw.below(6) {
        0 => change_policy(snapshot, |policy| {
            let queue = &mut policy.queues[draw.below(5) as usize];
            queue.reclaim_runtime_min =
                [None, Some(Span::from_minutes(20))][draw.below(2) as usize];
        }),
        1 => change_policy(snapshot, |policy| {
            policy.qos[1].priority = [0, 20][draw.below(2) as usize];
        }),
        2 => change_policy(snapshot, |policy| policy.fair_sharing = !policy.fair_sharing),
        3 => snapshot.remove_node(&name("b")),
        4 => snapshot.set_node(&gpu_node("b", 8)),
        // A queue is removed, and its jobs run on.
        _ => change_policy(snapshot, |policy| {
            policy.queues.retain(|queue| queue.name.as_str() != "f");
        }),
    }
}

/// Whether a plan with this sight leaves running jobs unnamed, whether it is short, and whether it
/// is complete and stops a job.
fn one_plan(snapshot: &Snapshot, now: Time, sight: Sight) -> (bool, bool, bool) {
    let mut desk = RoundState::new(snapshot, now);
    desk.honour_planned_starts();
    let view = View::of(&mut desk, &Bars::default(), sight);
    let steps = if view.world.settings.moves_max > 0 { &WITH_MOVES[..] } else { &STEPS };
    let plan = plan(&view.world, steps);
    let hides = view.world.unseen.queues.iter().any(|rest| rest.yields);
    let yields = plan.acts.values().any(|act| matches!(act, Act::Evict(..)));
    (hides, plan.is_short, yields && !plan.is_short)
}

/// Checks that the index kept up to date equals one made from scratch.
fn is_kept_up(snapshot: &Snapshot, now: Time) {
    let text = serde_json::to_string(snapshot).unwrap();
    let mut rebuilt: Snapshot = serde_json::from_str(&text).unwrap();
    rebuilt.settle(now);
    assert_eq!(snapshot.running_index, rebuilt.running_index);
}

#[test]
fn a_round_is_the_same_however_few_are_in_sight_at_first() {
    // Plans that left jobs unnamed and stopped others, and plans that needed a wider sight.
    let (mut enough, mut short) = (0, 0);
    for seed in 0..120 {
        let mut draw = Draw(seed);
        let mut world = any_world(&mut draw);
        let mut job = 0;
        for step in 0..25 {
            for _ in 0..draw.below(if step < 10 { 5 } else { 2 }) {
                job += 1;
                world.submit(any_job(&mut draw, job));
            }
            let (snapshot, now) = (&mut world.snapshot, world.now);
            snapshot.settle(now);
            is_kept_up(snapshot, now);
            if snapshot.policy().fair_sharing {
                let all = seeing(snapshot, now, Sight::All);
                for few in [1, 2, 3, 64] {
                    let round = seeing(snapshot, now, Sight::First(few));
                    assert_eq!(round, all, "seed {seed}, step {step}, {few} in sight");
                    let (hides, is_short, yields) = one_plan(snapshot, now, Sight::First(few));
                    enough += u32::from(hides && yields);
                    short += u32::from(is_short);
                }
            }
            world.round();
            go_on(&mut world, &mut draw);
            world.at(draw.below(6) + 4 * (step + 1));
            if draw.below(6) == 0 {
                surprise(&mut world, &mut draw);
            }
        }
    }
    assert!(enough > 300 && short > 300, "{enough} enough, {short} short: this says nothing");
}

/// Now and then, jobs that are leaving are gone, and some end.
fn go_on(world: &mut World, draw: &mut Draw) {
    let ending: Vec<u32> = world.snapshot.ending.keys().map(|key| key.job.0).collect();
    for job in ending {
        if draw.below(3) > 0 {
            world.gone(job);
        }
    }
    let leaving: Vec<u32> = world.snapshot.giving_up.keys().map(|key| key.job.0).collect();
    for job in leaving {
        if draw.below(3) > 0 {
            world.shrunk(job);
        }
    }
    let over: Vec<u32> = world.snapshot.all_running().map(|job| job.key.job.0).collect();
    for job in over {
        if draw.below(16) == 0 {
            world.over(job);
        }
    }
}

/// Four nodes of 8 GPUs with a job on each GPU, nearly all of one queue. In every other world the
/// first job of each node is not preemptible, and of the other jobs one in `firm`.
fn full(draw: &mut Draw, firm: u64) -> World {
    let mut queues = any_queues(draw);
    // So that jobs that are not preemptible may start.
    queues.iter_mut().for_each(|queue| queue.quota = owed("b", 8).quota);
    let mut world = fair(queues);
    ["c", "d"].into_iter().for_each(|node| world.snapshot.set_node(&gpu_node(node, 8)));
    let is_firm_first = draw.below(2) == 0;
    for job in 0..32 {
        let is_firm = is_firm_first && job % 8 == 0 || draw.below(firm) == 0;
        let name = if draw.below(12) == 0 { "c" } else { "b" };
        let job = of(job + 1, gpu_request(1), name, ["low", "high"][draw.below(2) as usize]);
        world.submit(WaitingJob { preemptible: Some(!is_firm), ..job });
        world.round();
    }
    world.at(60);
    world
}

/// Many failed searches, after which the room that all candidates together would leave is summed.
#[test]
fn gangs_that_find_no_place_are_the_same_however_few_are_in_sight() {
    let mut known = 0;
    for seed in 0..100 {
        let mut draw = Draw(seed);
        let firm = 4 + draw.below(20);
        let mut world = full(&mut draw, firm);
        for job in 100..101 + draw.below(3) as u32 {
            let (nodes, gpus) = (1 + draw.below(3) as u32, 5 + draw.below(4) as u32);
            let queue = NAMES[draw.below(6) as usize];
            let qos = ["low", "high"][draw.below(2) as usize];
            world.submit(of(job, on_nodes(nodes, gpus), queue, qos));
        }
        for _ in 0..3 {
            let (snapshot, now) = (&mut world.snapshot, world.now);
            snapshot.settle(now);
            let all = seeing(snapshot, now, Sight::All);
            for few in [17, 20, 24] {
                let round = seeing(snapshot, now, Sight::First(few));
                assert_eq!(round, all, "seed {seed}, {few} in sight");
                let (hides, is_short, _) = one_plan(snapshot, now, Sight::First(few));
                known += u32::from(hides && !is_short);
            }
            world.round();
            go_on(&mut world, &mut draw);
        }
    }
    assert!(known > 100, "{known}: this says nothing");
}

#[test]
fn that_a_gang_has_no_place_is_known_without_seeing_all() {
    let mut world = super::world(|queue| queue.preemption.by_priority = false);
    for job in 1..=16 {
        let job = of(job, gpu_request(1), "b", "low");
        let is_firm = world.snapshot.all_running().len() % 8 == 0;
        world.submit(WaitingJob { preemptible: Some(!is_firm), ..job });
        assert_eq!(world.round().len(), 1);
    }
    ["c", "d"].into_iter().for_each(|node| world.snapshot.set_node(&gpu_node(node, 8)));
    for job in 17..=32 {
        let job = of(job, gpu_request(1), "b", "low");
        let is_firm = world.snapshot.all_running().len() % 8 == 0;
        world.submit(WaitingJob { preemptible: Some(!is_firm), ..job });
        assert_eq!(world.round().len(), 1);
    }
    world.at(60).submit(of(40, on_nodes(2, 8), "a", "low"));
    world.snapshot.settle(world.now);
    assert_eq!(one_plan(&world.snapshot, world.now, Sight::First(20)), (true, false, false));
    assert_eq!(world.round(), [""; 0]);
}

/// The first of the queue gives up what it has beyond its minimum. As it stands then it is the
/// last.
#[test]
fn who_gave_nodes_up_is_asked_again_behind_those_out_of_sight() {
    let mut world = super::world(|_| {});
    world.snapshot.set_node(&gpu_node("c", 8));
    world.submit(of(1, elastic(), "b", "low"));
    assert_eq!(world.round(), ["1 on a b c"]);
    for job in 2..=4 {
        world.at(u64::from(job)).submit(of(job, gpu_request(4), "b", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(10).submit(of(5, on_nodes(3, 4), "a", "low"));
    world.snapshot.settle(world.now);
    let few = seeing(&world.snapshot, world.now, Sight::First(1));
    assert_eq!(few, seeing(&world.snapshot, world.now, Sight::All));
    assert_eq!(world.round(), ["1 keeps 1 for 5", "2 for 5"]);
}

/// The job in sight is preempted for another queue; a job of its own queue must find the next.
#[test]
fn a_queue_of_which_nobody_in_sight_is_left_has_others() {
    let mut world = super::world(|_| {});
    for job in 1..=16 {
        world.submit(of(job, gpu_request(1), "b", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(10).submit(of(17, gpu_request(1), "a", "low"));
    world.submit(of(18, gpu_request(1), "b", "high"));
    world.snapshot.settle(world.now);
    let few = seeing(&world.snapshot, world.now, Sight::First(1));
    assert_eq!(few, seeing(&world.snapshot, world.now, Sight::All));
    assert_eq!(world.round(), ["16 for 17", "15 for 18"]);
}

/// Of many protected jobs none is in sight, but the jobs behind them are.
#[test]
fn who_is_safe_from_everybody_does_not_stand_before_others() {
    let mut world = super::world(|queue| {
        queue.preemption.by_priority = false;
        queue.reclaim_runtime_min = Some(Span::from_minutes(30));
    });
    for job in 1..=16 {
        world.at(if job <= 4 { 0 } else { 40 }).submit(of(job, gpu_request(1), "b", "low"));
        assert_eq!(world.round().len(), 1);
    }
    world.at(50).submit(of(17, gpu_request(1), "a", "low"));
    world.snapshot.settle(world.now);
    let (hides, is_short, yields) = one_plan(&world.snapshot, world.now, Sight::First(1));
    assert!(hides && !is_short && yields);
    assert_eq!(world.round(), ["4 for 17"]);
}

/// The GPU numbers of a node change, and nothing else does.
#[test]
fn a_node_whose_gpus_get_other_numbers_is_counted_anew() {
    let mut world = fair(any_queues(&mut Draw(1)));
    world.submit(of(1, gpu_request(8), "a", "low")).round();
    let mut node = gpu_node("a", 8);
    let inventory = Arc::make_mut(&mut node.inventory);
    inventory.gpus[7].index.0 = 9;
    world.snapshot.set_node(&node);
    world.snapshot.settle(world.now);
    is_kept_up(&world.snapshot, world.now);
}
