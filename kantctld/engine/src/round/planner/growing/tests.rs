//! Which jobs get spare nodes, and which do not.

use super::LEFT_MIN;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use crate::round::preempt::tests::{World, low, of, on_nodes, owed, queue};
use crate::testing::{change_policy, gpu_node, gpu_request, set_leaf_groups};
use common::policy::Limits;
use common::resource::{GpuRequest, Request, Share};
use common::time::Span;
use common::topology::{Level, Nearness};
use common::unit::{Gpus, Tasks};
use std::sync::Arc;

/// One task of 8 GPUs on each of 1 to `most` nodes.
fn elastic(job: u32, most: u32) -> WaitingJob {
    let request = Request {
        tasks: Tasks(most),
        tasks_min: Some(Tasks(1)),
        tasks_per_node: Some(Tasks(1)),
        gpus: Some(GpuRequest::PerTask(Gpus(8))),
        grow: true,
        ..gpu_request(8)
    };
    of(job, request, "q", "low")
}

fn asking(job: WaitingJob, change: impl Fn(&mut Request)) -> WaitingJob {
    let mut request = Request::clone(&job.request);
    change(&mut request);
    WaitingJob { request: Arc::new(request), ..job }
}

fn nodes(names: &str) -> Vec<NodeSnapshot> {
    names.chars().map(|name| gpu_node(&name.to_string(), 8)).collect()
}

/// Nodes a to d, of which job 9 holds all but a, and job 1 runs on a.
fn on_one(most: u32) -> World {
    let mut world = World::new(nodes("abcd"), vec![queue("q")]);
    let rest = WaitingJob { request: Arc::new(on_nodes(3, 8)), ..low(9, 8) };
    world.submit(rest);
    assert_eq!(world.round(), ["9 on a b c"]);
    world.submit(elastic(1, most));
    assert_eq!(world.round(), ["1 on d"]);
    world
}

#[test]
fn the_example() {
    let mut world = on_one(2);
    assert_eq!(world.round(), [""; 0], "nothing is free");
    assert_eq!(world.over(9).round(), ["1 grows to a"]);
    assert_eq!(world.round(), [""; 0], "it has its most");
    let mut world = on_one(2);
    let waits = WaitingJob { request: Arc::new(on_nodes(4, 8)), ..low(2, 8) };
    assert_eq!(world.submit(waits).over(9).round(), [""; 0], "it is left to job 2");
}

#[test]
fn who_has_the_least_part_of_its_most_is_first_and_a_quiet_cluster_stays_quiet() {
    let mut world = World::new(nodes("abcdef"), vec![queue("q")]);
    let rest = WaitingJob { request: Arc::new(on_nodes(4, 8)), ..low(9, 8) };
    world.submit(rest);
    world.round();
    world.submit(asking(elastic(1, 2), |request| request.tasks = Tasks(1))).round();
    world.submit(elastic(2, 1)).round();
    // Jobs 1 and 2 have one node each; now they may have three and two.
    for (job, most) in [(1, 3), (2, 2)] {
        let running = world.snapshot.running_job(crate::testing::key(job)).unwrap().clone();
        let asked = elastic(job, most);
        let had = std::collections::BTreeSet::new();
        world.snapshot.set_running(crate::RunningJob::clone(&running));
        let growing = crate::Growing { asked, had, not_before: None };
        world.snapshot.set_growing(running.key, Some(Arc::new(growing)));
    }
    let decided = world.over(9).round();
    assert_eq!(decided, ["1 grows to a c", "2 grows to b"]);
    assert_eq!(world.round(), [""; 0]);
    assert_eq!(world.at(30).round(), [""; 0]);
}

#[test]
fn no_job_that_waits_for_room_loses_a_node_that_it_could_use() {
    // Backfill keeps nothing for it, since it is not the first.
    let mut world = World::new(nodes("abc"), vec![queue("q")]);
    change_policy(&mut world.snapshot, |policy| policy.queues[0].backfill.depth = 1);
    world.submit(low(9, 8)).round();
    world.submit(low(8, 8)).round();
    world.submit(elastic(1, 2)).round();
    let two = |job| WaitingJob { request: Arc::new(on_nodes(2, 8)), ..low(job, 8) };
    world.at(1).submit(two(2)).at(2).submit(two(3));
    assert_eq!(world.over(9).round(), [""; 0]);
    // A job that needs other nodes keeps none either.
    let other =
        |job| asking(two(job), |request| request.only_nodes = vec![crate::testing::name("b")]);
    world.over(2).over(3).submit(other(4));
    assert_eq!(world.round(), ["1 grows to a"]);
}

#[test]
fn a_job_that_waits_for_a_limit_keeps_those_that_count_for_it_from_growing() {
    let limited = |user: u32| {
        let mut world = on_one(2);
        change_policy(&mut world.snapshot, |policy| {
            policy.queues[0].limits_per_user = Limits { jobs: Some(1), ..Limits::default() };
        });
        let owner = common::id::Uid(user);
        world.submit(WaitingJob { owner, ..low(2, 8) });
        world.over(9);
        world.round()
    };
    // Another user's job starts; one of the same user waits for job 1, and job 1 for it.
    assert_eq!(limited(4242).len(), 2);
    let own = on_one(2).snapshot.running_job(crate::testing::key(1)).unwrap().owner;
    assert_eq!(limited(own.0), [""; 0]);
}

#[test]
fn one_users_own_limit_keeps_no_other_user_from_growing() {
    let mut world = on_one(2);
    change_policy(&mut world.snapshot, |policy| {
        policy.queues[0].limits_per_user = Limits { jobs: Some(1), ..Limits::default() };
    });
    let other = |job| WaitingJob { owner: common::id::Uid(4242), ..low(job, 8) };
    world.submit(other(2)).submit(other(3));
    let decided = world.over(9).round();
    assert_eq!(decided.len(), 2, "{decided:?}");
    assert!(decided[1].starts_with("1 grows to "), "{decided:?}");
}

#[test]
fn limits_and_quotas_bind_what_it_grows_to() {
    let mut world = World::new(nodes("ab"), vec![queue("q")]);
    change_policy(&mut world.snapshot, |policy| {
        policy.queues[0].limits = Limits { gpus: Some(Gpus(8)), ..Limits::default() };
    });
    world.submit(elastic(1, 2));
    assert_eq!(world.round(), ["1 on a"]);
    assert_eq!(world.round(), [""; 0]);
    change_policy(&mut world.snapshot, |policy| policy.queues[0].limits = Limits::default());
    let running = world.snapshot.running_job(crate::testing::key(1)).unwrap().clone();
    let growing = crate::Growing::of(&elastic(1, 2)).map(Arc::new);
    world.snapshot.set_growing(running.key, growing);
    assert_eq!(world.round(), ["1 grows to b"]);
    let mut world = World::new(nodes("ab"), vec![crate::round::preempt::tests::isolated("q", 8)]);
    world.submit(elastic(1, 2));
    assert_eq!(world.round(), ["1 on a"]);
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn who_is_soon_over_ends_or_gives_nodes_up_does_not_grow() {
    let left = |minutes: u64| {
        let mut world = on_one(2);
        let by = world.now + Span::from_minutes(minutes);
        world.change_growing(1, |job| job.ends_by = Some(by));
        world.over(9).round()
    };
    assert_eq!(left(LEFT_MIN.0 / 60_000 - 1), [""; 0]);
    assert_eq!(left(LEFT_MIN.0 / 60_000), ["1 grows to a"]);
    let mut world = on_one(2);
    world.change_growing(1, |job| job.ending = true);
    assert_eq!(world.over(9).round(), [""; 0]);
}

#[test]
fn near_nodes_first_and_no_others_where_it_insists() {
    let grown = |near: Option<Nearness>| {
        let mut world = World::new(nodes("abcd"), vec![queue("q")]);
        set_leaf_groups(&mut world.snapshot, &[("l", "b c"), ("m", "a d")]);
        let rest = |job: u32, node: &str| {
            asking(low(job, 8), |request| request.only_nodes = vec![crate::testing::name(node)])
        };
        world.submit(rest(9, "a")).submit(rest(8, "c")).submit(rest(7, "d"));
        world.round();
        world.submit(asking(elastic(1, 3), |request| request.near = near));
        assert_eq!(world.round(), ["1 on b"]);
        world.over(9).over(8).over(7);
        world.round()
    };
    assert_eq!(grown(None), ["1 grows to c a"]);
    let required = Nearness { level: Level::Leaf, required: true };
    assert_eq!(grown(Some(required)), ["1 grows to c"]);
}

#[test]
fn a_node_that_it_gave_up_is_not_given_back_to_it() {
    let mut world = World::new(nodes("ab"), vec![queue("q")]);
    world.submit(elastic(1, 2));
    assert_eq!(world.round(), ["1 on a b"]);
    world.at(5).submit(of(2, gpu_request(8), "q", "high"));
    assert_eq!(world.round(), ["1 keeps 1 for 2"]);
    assert_eq!(world.shrunk(1).round(), ["2 on b"]);
    assert_eq!(world.over(2).round(), [""; 0]);
}

fn fair(names: &str) -> World {
    let mut world = World::new(nodes(names), vec![queue("q"), queue("other")]);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    world
}

#[test]
fn where_queues_share_no_job_grows_while_one_waits_and_what_grew_is_given_back() {
    let mut world = fair("abc");
    world.submit(low(9, 8)).submit(low(8, 8)).round();
    world.submit(elastic(1, 3));
    assert_eq!(world.round(), ["1 on c"]);
    // It waits for b only; a stays free.
    let waits = of(2, gpu_request(8), "q", "low");
    let waits = asking(waits, |request| request.only_nodes = vec![crate::testing::name("b")]);
    assert_eq!(world.submit(waits).over(8).round(), [""; 0]);
    world.over(2);
    assert_eq!(world.round(), ["1 grows to a"]);
    assert_eq!(world.over(9).round(), ["1 grows to b"]);
    world.at(5).submit(of(3, gpu_request(8), "other", "low"));
    assert_eq!(world.round(), ["1 keeps 2 for 3"]);
    assert_eq!(world.shrunk(1).round(), ["3 on b"]);
    assert_eq!(world.round(), [""; 0], "it rests");
}

#[test]
fn where_queues_share_a_job_that_is_not_preemptible_does_not_grow() {
    let mut world = fair("ab");
    change_policy(&mut world.snapshot, |policy| policy.queues = vec![owed("q", 16)]);
    world.submit(low(9, 8)).round();
    world.submit(elastic(1, 2));
    assert_eq!(world.round(), ["1 on b"]);
    assert_eq!(world.over(9).round(), [""; 0]);
}

/// Job 1 runs on a; b and c hold half of job 9 each for an hour; job 2 is promised both of them
/// then. The queue may have four nodes' GPUs: job 1 may have d and e now, but not together with job
/// 2.
fn planned_start() -> World {
    let mut world = World::new(nodes("abcde"), vec![queue("q")]);
    change_policy(&mut world.snapshot, |policy| {
        policy.queues[0].limits = Limits { gpus: Some(Gpus(32)), ..Limits::default() };
    });
    let on = |job: WaitingJob, names: [&str; 2]| {
        let only_nodes = names.map(crate::testing::name).to_vec();
        asking(job, |request| request.only_nodes = only_nodes.clone())
    };
    let half = WaitingJob { request: Arc::new(on_nodes(2, 4)), ..low(9, 4) };
    let half = WaitingJob { time_limit: Some(Span::from_minutes(60)), ..half };
    world.submit(on(half, ["b", "c"])).submit(asking(elastic(1, 3), |request| {
        request.not_nodes = ["b", "c"].map(crate::testing::name).to_vec();
        request.tasks = Tasks(1);
    }));
    let mut decided = world.round();
    decided.sort();
    assert_eq!(decided, ["1 on a", "9 on b c"]);
    let growing = crate::Growing::of(&elastic(1, 3)).map(Arc::new);
    world.snapshot.set_growing(crate::testing::key(1), growing);
    let whole = WaitingJob { request: Arc::new(on_nodes(2, 8)), ..low(2, 8) };
    world.submit(on(whole, ["b", "c"]));
    world
}

#[test]
fn what_is_given_in_a_round_counts_for_promises_with_what_it_gave_before() {
    let mut world = planned_start();
    assert_eq!(world.round(), ["1 grows to d"]);
    assert!(world.round.planned_starts.contains_key(&crate::testing::key(2)));
    assert_eq!(world.round(), [""; 0]);
}

#[test]
fn who_nodes_failed_to_join_waits_until_its_time() {
    let mut world = on_one(2);
    let growing = crate::Growing::of(&elastic(1, 2)).unwrap();
    let growing = crate::Growing { not_before: Some(world.minute(1)), ..growing };
    world.snapshot.set_growing(crate::testing::key(1), Some(Arc::new(growing)));
    assert_eq!(world.over(9).round(), [""; 0]);
    assert_eq!(world.round.next_look, Some(world.minute(1)), "and is looked at then");
    assert_eq!(world.at(1).round(), ["1 grows to a"]);
}

#[test]
fn the_judge_adds_up_all_that_a_round_gives_for_who_is_promised_a_start() {
    let mut world = planned_start();
    world.snapshot.prepare_for_round(world.now);
    let mut round = crate::schedule(&world.snapshot, world.now);
    let said = |round: &crate::Round| {
        let faults = crate::check::check(&world.snapshot, world.now, round);
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said(&round), "");
    for decision in &mut round.decisions {
        if let crate::Decision::Grow { shares, .. } = decision {
            let more = Share { node: crate::testing::name("e"), ..shares[0].clone() };
            shares.push(more);
        }
    }
    let says = said(&round);
    assert!(says.starts_with("job 2 could not start by"), "{says}");
}
