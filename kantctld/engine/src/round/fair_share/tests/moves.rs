//! Tests of jobs that move so that others have room.

use super::fair;
use crate::round::preempt::tests::{World, of, on_nodes, queue};
use crate::testing::{change_policy, gpu_node, gpu_request, key};
use crate::{check, schedule};
use common::policy::Moves;
use common::resource::{Apart, Request};
use common::time::{Span, Time};
use std::sync::Arc;

/// Two nodes of 8 GPUs, a budget of `per_hour` moves, and a job of `gpus` GPUs on each node.
fn crumbled(per_hour: u32, gpus: u32) -> World {
    let mut world = fair(vec![queue("a"), queue("b")]);
    let moves = Moves { per_hour, lost_gpu_minutes_max: 60 };
    change_policy(&mut world.snapshot, |policy| policy.moves = moves);
    // Job 9 keeps them from sharing a node; it ends afterwards.
    world.submit(of(9, gpu_request(8), "b", "low"));
    assert_eq!(world.round(), ["9 on a"]);
    world.submit(of(1, gpu_request(gpus), "b", "low"));
    assert_eq!(world.round(), ["1 on b"]);
    world.over(9).submit(of(8, gpu_request(8 - gpus), "a", "low"));
    assert_eq!(world.round(), ["8 on b"]);
    world.submit(of(2, gpu_request(gpus), "a", "low"));
    assert_eq!(world.round(), ["2 on a"]);
    world.over(8).at(2);
    world
}

#[test]
fn the_example() {
    let mut world = crumbled(10, 4);
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["1 for 3 to a"]);
    assert!(world.reason(3).contains("job 1"), "{}", world.reason(3));
    // Until the moving job is gone, no job has either place.
    world.submit(of(4, gpu_request(4), "a", "low"));
    assert_eq!(world.at(3).round(), [""; 0]);
    assert_eq!(world.at(4).gone(1).round(), ["3 on b", "1 on a"]);
    assert_eq!(world.at(5).round(), [""; 0]);
}

#[test]
fn without_a_budget_no_job_moves() {
    let mut world = crumbled(0, 4);
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn no_job_moves_where_one_has_no_place() {
    let mut world = crumbled(10, 5);
    world.submit(of(3, gpu_request(4), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn nor_who_has_much_to_lose() {
    let mut world = crumbled(10, 4);
    // 4 GPUs for 16 minutes are 64 GPU-minutes.
    world.at(16).submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn nor_who_is_safe_for_a_while() {
    let mut world = crumbled(10, 4);
    change_policy(&mut world.snapshot, |policy| {
        for queue in &mut policy.queues {
            queue.preemption.runtime_min = Span::from_minutes(10);
        }
    });
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.at(10).round(), ["1 for 3 to a"]);
}

#[test]
fn who_may_not_yield_or_has_a_booking_or_a_time_to_meet_stays() {
    for change in [
        |job: &mut crate::WaitingJob| job.preemptible = Some(false),
        |job: &mut crate::WaitingJob| job.service = true,
        |job: &mut crate::WaitingJob| job.deadline = Some(Time(90_000_000)),
    ] {
        let mut world = crumbled(10, 4);
        for job in [1, 2] {
            let mut again = crate::WaitingJob::clone(&world.snapshot.movable[&key(job)]);
            change(&mut again);
            let may_yield = again.preemptible.unwrap_or(true);
            world.change(key(job), |running| running.preemptible = may_yield);
            world.snapshot.set_movable(key(job), Some(std::sync::Arc::new(again)));
        }
        world.submit(of(3, gpu_request(8), "a", "low"));
        assert_eq!(world.round(), [""; 0]);
    }
}

#[test]
fn no_job_moves_beside_too_many_of_its_group() {
    let mut world = crumbled(10, 4);
    world.submit(of(3, gpu_request(8), "a", "low"));
    world.snapshot.prepare_for_round(world.now);
    let round = schedule(&world.snapshot, world.now);
    assert_eq!(check::check(&world.snapshot, world.now, &round), []);
    for job in [1, 2] {
        let mut again = crate::WaitingJob::clone(&world.snapshot.movable[&key(job)]);
        let group = "web".to_owned();
        let apart = Some(Apart { group, per_node_max: Some(1), spread: None });
        again.request = Arc::new(Request { apart, ..Request::clone(&again.request) });
        world.change(key(job), |running| running.group = again.request.group());
        world.snapshot.set_movable(key(job), Some(Arc::new(again)));
    }
    world.snapshot.prepare_for_round(world.now);
    let faults = check::check(&world.snapshot, world.now, &round);
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let faults = faults.join("; ");
    assert!(faults.contains("job 1 moves to where too many of its group are"), "{faults}");
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn the_budget_is_for_an_hour() {
    let mut world = crumbled(1, 4);
    world.snapshot.set_move_times(vec![world.minute(1)]);
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.round.next_look, Some(world.minute(61)));
    change_policy(&mut world.snapshot, |policy| policy.moves.lost_gpu_minutes_max = 1_000);
    assert_eq!(world.at(61).round(), ["1 for 3 to a"]);
}

#[test]
fn a_place_is_not_kept_for_ever() {
    let mut world = crumbled(10, 4);
    world.submit(of(3, gpu_request(8), "a", "low"));
    assert_eq!(world.round(), ["1 for 3 to a"]);
    // The moved job does not make room for it.
    world.submit(of(4, gpu_request(4), "a", "low"));
    assert_eq!(world.at(16).round(), [""; 0]);
    assert_eq!(world.at(18).round(), ["4 on a"]);
}

#[test]
fn a_gang_moves_whole() {
    let nodes = ["a", "b", "c", "d"].map(|name| gpu_node(name, 8)).to_vec();
    let mut world = World::new(nodes, vec![queue("a"), queue("b")]);
    change_policy(&mut world.snapshot, |policy| {
        policy.fair_sharing = true;
        policy.moves = Moves { per_hour: 1, lost_gpu_minutes_max: 100 };
    });
    world.submit(of(1, on_nodes(2, 4), "b", "low"));
    assert_eq!(world.round(), ["1 on a b"]);
    // Others hold the other halves until job 2, which stays, has found a node of its own.
    for (job, node) in [(11, "a"), (12, "b"), (2, "c")] {
        let job_of = of(job, gpu_request(4), "b", "low");
        world.submit(crate::WaitingJob { preemptible: Some(job != 2), ..job_of });
        assert_eq!(world.round(), [format!("{job} on {node}")]);
    }
    world.over(11).over(12).at(1);
    world.submit(of(4, on_nodes(2, 8), "a", "low"));
    let decided = world.round();
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert!(decided[0].starts_with("1 for 4 to ") && decided[0].contains('c'), "{decided:?}");
    let decided = world.at(2).gone(1).round();
    assert!(decided.len() == 2 && decided[0].starts_with("4 on "), "{decided:?}");
}

#[test]
fn the_judge_knows_a_move_that_is_wrong() {
    let mut world = crumbled(10, 4);
    world.submit(of(3, gpu_request(8), "a", "low"));
    world.snapshot.prepare_for_round(world.now);
    let round = schedule(&world.snapshot, world.now);
    assert_eq!(check::check(&world.snapshot, world.now, &round), []);
    let judged = |change: &dyn Fn(&mut crate::Round), policy: &dyn Fn(&mut Moves)| {
        let (mut round, mut snapshot) = (round.clone(), world.snapshot.clone());
        change(&mut round);
        change_policy(&mut snapshot, |all| policy(&mut all.moves));
        snapshot.prepare_for_round(world.now);
        let faults = check::check(&snapshot, world.now, &round);
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let goes_to = |nodes: &'static [&'static str]| {
        move |round: &mut crate::Round| {
            for decision in &mut round.decisions {
                if let crate::Decision::Preempt { to, .. } = decision {
                    *to = nodes.iter().map(|node| crate::testing::name(node)).collect();
                }
            }
        }
    };
    let nothing = |_: &mut crate::Round| ();
    let as_it_is = |_: &mut Moves| ();
    assert_eq!(judged(&goes_to(&["a"]), &as_it_is), "");
    let decided = judged(&goes_to(&[]), &as_it_is);
    assert!(decided.contains("job 1 moves to no place"), "{decided}");
    let decided = judged(&goes_to(&["b"]), &as_it_is);
    assert!(decided.contains("there is not room for all"), "{decided}");
    let decided = judged(&nothing, &|moves| moves.per_hour = 0);
    assert!(decided.contains("the hour's moves are used up"), "{decided}");
    let decided = judged(&nothing, &|moves| moves.lost_gpu_minutes_max = 7);
    assert!(decided.contains("loses more than the policy allows"), "{decided}");
    let decided = judged(&|round| round.planned_starts.clear(), &as_it_is);
    assert!(decided.contains("for which no room is kept"), "{decided}");
}
