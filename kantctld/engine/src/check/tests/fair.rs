//! Tests of the judge under fair sharing: preemptions and starts. Each case is a correct round with
//! one fault.

use super::Judge;
use crate::check::check_decisions;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::{NodeSnapshot, Unusable};
use crate::round::preempt::tests::{World, of, on_nodes, owed, queue, with_request};
use crate::testing::{change_policy, gpu_node, gpu_request, key, request};
use common::job::PreemptReason;
use common::policy::queue::Queue;
use common::resource::Request;
use common::time::Span;
use common::unit::Cpus;

/// Nodes of 8 GPUs with these names, and queues that share them.
fn fair(nodes: &[&str], queues: Vec<Queue>) -> World {
    let mut world = World::new(nodes.iter().map(|node| gpu_node(node, 8)).collect(), queues);
    change_policy(&mut world.snapshot, |policy| policy.fair_sharing = true);
    world
}

/// Runs these jobs: number, queue, GPUs.
fn with_running(mut world: World, jobs: &[(u32, &str, u32)]) -> World {
    for (job, queue, gpus) in jobs {
        world.submit(of(*job, gpu_request(*gpus), queue, "low"));
        assert_eq!(world.round().len(), 1, "job {job}");
    }
    world.at(10);
    world
}

/// Two nodes, all of them held by jobs 1 and 2 of b.
fn borrowed(change: impl Fn(&mut Queue)) -> World {
    let mut queues = vec![queue("a"), queue("b")];
    queues.iter_mut().for_each(change);
    with_running(fair(&["a", "b"], queues), &[(1, "b", 8), (2, "b", 8)])
}

/// The judge's report when these jobs are preempted for job 3.
fn judged(world: &World, victims: &[u32]) -> String {
    let decisions: Vec<Decision> = victims
        .iter()
        .map(|job| {
            let job = world.snapshot.running_job(key(*job)).unwrap();
            Decision::Preempt {
                key: job.key,
                attempt: job.attempt,
                by: key(3),
                reason: PreemptReason::Reclaim,
                mode: job.victim_mode,
                to: Vec::new(),
            }
        })
        .collect();
    let faults = check_decisions(&world.snapshot, world.now, &decisions);
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Job 3 of queue a, with this request.
fn third(request: Request) -> WaitingJob {
    with_request(of(3, gpu_request(8), "a", "low"), request)
}

#[test]
fn what_is_due_is_taken_back_and_no_more() {
    let mut world = borrowed(|_| ());
    world.submit(third(gpu_request(8)));
    assert_eq!(judged(&world, &[2]), "");
    assert_eq!(judged(&world, &[2, 1]), "job 1 yields what is its queue's by right");
}

#[test]
fn a_queue_does_not_take_more_than_its_share() {
    let mut world = borrowed(|_| ());
    world.submit(third(on_nodes(2, 8)));
    let wrong = judged(&world, &[2]);
    assert!(wrong.contains("job 2 yields to a queue that has its fair share"), "{wrong}");
}

#[test]
fn nor_from_a_job_that_is_safe() {
    let safe = "job 2 is made to yield before it has run for long enough";
    let mut world = borrowed(|queue| queue.reclaim_runtime_min = Some(Span::from_minutes(60)));
    world.submit(third(gpu_request(8)));
    assert_eq!(judged(&world, &[2]), safe);
    let mut world = borrowed(|queue| queue.preemption.runtime_min = Span::from_minutes(60));
    world.submit(third(gpu_request(8)));
    assert_eq!(judged(&world, &[2]), safe);
}

#[test]
fn what_a_queue_below_says_of_run_time_holds_against_other_trees() {
    let mut below = queue("lab-a");
    below.parent = Some(queue("lab").name);
    below.preemption.runtime_min = Span::from_minutes(60);
    let world = fair(&["a", "b"], vec![queue("a"), queue("lab"), below]);
    let mut world = with_running(world, &[(1, "lab-a", 8), (2, "lab-a", 8)]);
    world.submit(third(gpu_request(8)));
    let safe = "job 2 is made to yield before it has run for long enough";
    assert_eq!(judged(&world, &[2]), safe);
}

#[test]
fn nor_from_its_own_queue_nor_from_one_that_is_not_preemptible() {
    let mut world = borrowed(|_| ());
    world.submit(WaitingJob { queue: queue("b").name, ..third(gpu_request(8)) });
    let wrong = judged(&world, &[2]);
    assert!(wrong.contains("job 2 yields what is due to its own queue"), "{wrong}");
    let mut world = borrowed(|queue| queue.preemption.preemptible = false);
    world.submit(third(gpu_request(8)));
    assert_eq!(judged(&world, &[2]), "job 2 yields though it is not preemptible");
}

/// Both queues are preemptible and have these quotas.
fn quotas(a: u32, b: u32) -> World {
    let mut queues = vec![owed("a", a), owed("b", b)];
    queues.iter_mut().for_each(|queue| queue.preemption.preemptible = true);
    with_running(fair(&["a", "b"], queues), &[(1, "b", 8), (2, "b", 8)])
}

#[test]
fn nor_what_is_owed_to_the_other() {
    let mut world = quotas(8, 16);
    world.submit(third(gpu_request(8)));
    assert_eq!(judged(&world, &[2]), "job 2 yields what is its queue's by right");
    let mut world = quotas(8, 8);
    world.submit(third(gpu_request(8)));
    assert_eq!(judged(&world, &[2]), "");
}

#[test]
fn a_quota_of_cpus_hides_nothing_of_gpus() {
    let mut world = quotas(8, 16);
    change_policy(&mut world.snapshot, |policy| {
        policy.queues.iter_mut().for_each(|queue| queue.quota.amounts.cpus = Some(Cpus(16)));
    });
    world.submit(third(gpu_request(8)));
    assert_eq!(judged(&world, &[2]), "job 2 yields what is its queue's by right");
}

#[test]
fn who_asks_for_no_gpus_takes_none() {
    let mut world = borrowed(|_| ());
    world.submit(third(request(1, 1)));
    assert_eq!(judged(&world, &[2]), "job 2 yields what is its queue's by right");
    // Unless a quota names the CPU that it asks for.
    change_policy(&mut world.snapshot, |policy| {
        policy.queues.iter_mut().for_each(|queue| queue.quota.amounts.cpus = Some(Cpus(1)));
    });
    assert_eq!(judged(&world, &[2]), "");
}

#[test]
fn no_queue_ends_up_further_above_its_share_than_one_that_loses_by_it() {
    let below = |name: &str| Queue { parent: Some(queue("lab").name), ..queue(name) };
    let queues = vec![queue("lab"), below("a"), below("lab-b"), queue("ops"), queue("x")];
    let runs = [(1, "lab-b", 8), (2, "lab-b", 4), (5, "ops", 8), (6, "ops", 4)];
    let mut world = with_running(fair(&["a", "b", "c"], queues), &runs);
    world.submit(of(7, gpu_request(8), "x", "low")).submit(third(gpu_request(4)));
    let wrong = "job 3 takes queue lab further above its share than one that loses by it";
    assert_eq!(judged(&world, &[6]), wrong);
    assert_eq!(judged(&world, &[2]), "", "of its own side");
}

#[test]
fn a_job_that_is_not_preemptible_starts_within_the_quota() {
    let mut world = fair(&["a"], vec![owed("a", 4), owed("b", 4)]);
    world.submit(of(3, gpu_request(4), "a", "low"));
    let round = crate::schedule(&world.snapshot, world.now);
    assert_eq!(check_decisions(&world.snapshot, world.now, &round.decisions), []);
    change_policy(&mut world.snapshot, |policy| {
        policy.queues[0].quota.amounts.gpus_any = Some(common::unit::Gpus(3));
    });
    let faults = check_decisions(&world.snapshot, world.now, &round.decisions);
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults, ["job 3 is not preemptible, and takes queue a over its quota"]);
}

#[test]
fn what_is_due_is_dealt_out_in_whole_gpus_down_the_tree() {
    let mut queues = vec![queue("lab"), queue("ops")];
    queues[0].weight = 3;
    for name in ["lab-a", "lab-b"] {
        queues.push(Queue { parent: Some(queue("lab").name), ..queue(name) });
    }
    let mut world = fair(&["a", "b"], queues);
    for (job, queue) in [(1, "lab-a"), (2, "lab-b"), (3, "ops")] {
        world.submit(with_request(of(job, gpu_request(8), queue, "low"), on_nodes(2, 8)));
    }
    let judge = Judge::new(&world.snapshot, world.now);
    let due = judge.sums(crate::check::dues::Of::Gpus).due;
    let due: Vec<(&str, u128)> = due.iter().map(|(name, due)| (name.as_str(), *due)).collect();
    assert_eq!(due, [("lab", 12_000), ("lab-a", 6000), ("lab-b", 6000), ("ops", 4000)]);
}

#[test]
fn a_job_that_has_lost_its_room_may_ask_for_room_again() {
    let world = fair(&["a", "b", "c"], vec![queue("a"), queue("b")]);
    let mut world = with_running(world, &[(1, "b", 8), (2, "b", 8), (4, "b", 8)]);
    world.submit(third(gpu_request(8)));
    assert_eq!(world.round(), ["4 for 3"]);
    world.at(11).gone(4);
    let drained = NodeSnapshot { unusable: Some(Unusable::Drained), ..gpu_node("c", 8) };
    world.snapshot.set_node(&drained);
    assert_eq!(judged(&world, &[2]), "", "its queue holds nothing");
    assert!(judged(&world, &[2, 1]).contains("job 1 yields what is its queue's by right"));
}
