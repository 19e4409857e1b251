//! Rounds on small clusters, and random ones before the judge.

use super::*;
use crate::check::check;
use crate::testing::{
    cpu_node, gpu_node, gpu_request, key, name, queue, request, run, share, snapshot, used, waiting,
};
use common::resource::{Allocation, GpuRequest, MemoryRequest, Request, Share};
use common::time::Span;
use common::unit::{Bytes, Gpus, Nodes, Tasks};

mod backfill;
mod holes;
mod random;

const NOW: Time = Time(1_700_000_000_000);

fn in_minutes(minutes: u64) -> Time {
    NOW + Span::from_minutes(minutes)
}

/// The round, if the judge is content with it.
fn judged(snapshot: &Snapshot) -> Round {
    let round = schedule(snapshot, NOW);
    assert_eq!(check(snapshot, NOW, &round.decisions), []);
    round
}

/// What a job gets, as `node: tasks x, CPUs, GPUs`; empty if it does not start.
fn given(round: &Round, job: u32) -> Vec<String> {
    let show = |allocation: &Allocation| -> Vec<String> {
        let gpus = |s: &Share| -> Vec<u16> { s.gpus.iter().map(|g| g.0).collect() };
        let shares = allocation.shares().iter();
        shares.map(|s| format!("{}: {}x {} {:?}", s.node, s.tasks, s.cpus, gpus(s))).collect()
    };
    let mut found = round.decisions.iter().filter_map(|decision| match decision {
        Decision::Start { key: started, allocation, .. } if *started == key(job) => {
            Some(show(allocation))
        }
        Decision::Start { .. } => None,
    });
    found.next().unwrap_or_default()
}

fn reason(round: &Round, job: u32) -> String {
    let found = round.reasons.iter().find(|(waits, _)| *waits == key(job));
    found.map(|(_, reason)| reason.to_string()).unwrap_or_default()
}

#[test]
fn three_jobs_on_two_nodes_start_in_order_and_the_third_hears_why_not() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8), used(gpu_node("b", 8), 5)]);
    snapshot.waiting = vec![
        waiting(1, gpu_request(2), 10),
        waiting(2, gpu_request(8), 10),
        waiting(3, gpu_request(2), 10),
    ];
    let round = judged(&snapshot);
    assert_eq!(given(&round, 1), ["b: 1x 8 [5, 6]"], "the broken node, and CPUs near its GPUs");
    assert_eq!(given(&round, 2), ["a: 1x 0 [0, 1, 2, 3, 4, 5, 6, 7]"]);
    assert_eq!(
        reason(&round, 3),
        "needs 2 GPUs, 1 CPU, 1M memory on one node; best is b with 1 GPU free; \
         expected by 2023-11-14T22:23:20Z"
    );
    assert_eq!(round.order, [key(1), key(2), key(3)]);
}

#[test]
fn tasks_fill_the_fewest_nodes_or_spread_evenly_over_those_asked_for() {
    let nodes = || vec![cpu_node("a", 4), cpu_node("b", 4), cpu_node("c", 2)];
    let mut filled = snapshot(nodes());
    filled.waiting = vec![waiting(1, request(6, 1), 10)];
    assert_eq!(given(&judged(&filled), 1), ["a: 4x 0-3 []", "c: 2x 0-1 []"]);

    let mut spread = snapshot(nodes());
    let asked = Request { nodes: Some(Nodes(3)), ..request(7, 1) };
    spread.waiting = vec![waiting(1, asked, 10)];
    let round = judged(&spread);
    assert_eq!(given(&round, 1), ["a: 3x 0-2 []", "b: 2x 0-1 []", "c: 2x 0-1 []"]);

    let mut short = snapshot(nodes());
    short.waiting = vec![waiting(1, request(11, 1), 10)];
    let round = judged(&short);
    assert_eq!(given(&round, 1), [""; 0], "all or nothing");
    assert_eq!(
        reason(&round, 1),
        "needs 4 CPUs, 4M memory on each of 3 nodes, which this cluster does not have: \
         only 2 nodes large enough"
    );
}

#[test]
fn gpus_in_all_go_to_one_node_if_one_can_have_them_else_evenly_to_the_fewest() {
    let total =
        |tasks, gpus| Request { gpus: Some(GpuRequest::Total(Gpus(gpus))), ..request(tasks, 1) };
    let mut both = snapshot(vec![gpu_node("a", 8), used(gpu_node("b", 8), 2)]);
    both.waiting = vec![waiting(1, total(1, 8), 10), waiting(2, total(2, 8), 10)];
    let round = judged(&both);
    assert_eq!(given(&round, 1).len(), 1);
    assert_eq!(given(&round, 2), [""; 0], "it waits for one node, though 6 GPUs are free");

    let mut large = snapshot(vec![gpu_node("a", 8), used(gpu_node("b", 8), 2)]);
    large.waiting = vec![waiting(1, total(2, 12), 10)];
    assert_eq!(
        given(&judged(&large), 1),
        ["a: 1x 0 [0, 1, 2, 3, 4, 5]", "b: 1x 2 [2, 3, 4, 5, 6, 7]"]
    );

    let mut alone = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
    alone.waiting = vec![waiting(1, total(1, 12), 10)];
    assert_eq!(
        reason(&judged(&alone), 1),
        "needs 12 GPUs, 1 CPU, 1M memory on one node, which this cluster does not have: \
         a has at most 8 GPUs",
        "one task runs on one node"
    );
}

#[test]
fn whole_nodes_come_with_all_cpus_and_gpus_and_are_shared_with_nobody() {
    let mut snapshot = snapshot(vec![used(gpu_node("a", 2), 1), gpu_node("b", 2)]);
    let mut whole = gpu_request(1);
    whole.exclusive = true;
    snapshot.waiting = vec![waiting(1, whole, 10), waiting(2, request(1, 1), 10)];
    snapshot.waiting[0].nice = -1;
    let round = judged(&snapshot);
    assert_eq!(given(&round, 1), ["b: 1x 0-15 [0, 1]"]);
    assert_eq!(given(&round, 2), ["a: 1x 1 []"]);
}

#[test]
fn the_fewest_nodes_are_the_roomiest_ones() {
    let mut snapshot = snapshot(vec![cpu_node("a", 2), cpu_node("b", 4), cpu_node("c", 4)]);
    snapshot.waiting = vec![waiting(1, request(8, 1), 10)];
    assert_eq!(given(&judged(&snapshot), 1), ["b: 4x 0-3 []", "c: 4x 0-3 []"]);
}

#[test]
fn a_gang_too_goes_where_it_breaks_least() {
    let broken = |text| used(gpu_node(text, 8), 4);
    let mut snapshot = snapshot(vec![gpu_node("a", 8), broken("b"), broken("c")]);
    let gang = Request {
        nodes: Some(Nodes(2)),
        gpus: Some(GpuRequest::PerNode(Gpus(2))),
        ..request(2, 1)
    };
    snapshot.waiting = vec![waiting(1, gang, 10)];
    assert_eq!(given(&judged(&snapshot), 1), ["b: 1x 8 [4, 5]", "c: 1x 8 [4, 5]"]);
}

#[test]
fn gpus_in_all_are_spread_by_the_nodes_that_are_up() {
    let mut snapshot = snapshot(vec![gpu_node("a", 4), gpu_node("b", 4), gpu_node("c", 8)]);
    snapshot.nodes[2].unusable = Some(crate::Unusable::Down);
    let total = Request { gpus: Some(GpuRequest::Total(Gpus(8))), ..request(2, 1) };
    snapshot.waiting = vec![waiting(1, total, 10)];
    assert_eq!(given(&judged(&snapshot), 1), ["a: 1x 0 [0, 1, 2, 3]", "b: 1x 0 [0, 1, 2, 3]"]);
}

#[test]
fn a_job_for_whole_nodes_hears_what_is_missing_to_a_whole_node() {
    let mut snapshot = snapshot(vec![used(cpu_node("a", 4), 1)]);
    let whole = Request { exclusive: true, ..request(1, 1) };
    snapshot.waiting = vec![waiting(1, whole, 10)];
    let reason = reason(&judged(&snapshot), 1);
    assert_eq!(reason, "needs 4 CPUs, 64G memory on one node; best is a with 3 CPUs free");
}

#[test]
fn what_a_node_no_longer_has_is_not_expected_back() {
    // The node came back with two CPUs of four and half its memory; a job still holds the others.
    let mut snapshot = snapshot(vec![cpu_node("a", 2)]);
    let gone = Share { memory: Bytes(64 << 30), ..share("a", "0-3") };
    run(&mut snapshot, 9, gone, Some(in_minutes(5)));
    let small = Request { memory: Some(MemoryRequest::PerNode(Bytes(60 << 30))), ..request(1, 2) };
    snapshot.waiting = vec![waiting(1, small, 10), waiting(2, request(1, 1), 10)];
    let round = judged(&snapshot);
    assert!(reason(&round, 1).contains("expected by 2023-11-14T22:18:20Z"), "{round:?}");

    let free = crate::free::Free::of(&snapshot.nodes[0]);
    let mut back = free.clone();
    back.give_back(&snapshot.nodes[0].inventory, &snapshot.running[0].allocation.shares()[0]);
    back.give_back(&snapshot.nodes[0].inventory, &snapshot.running[0].allocation.shares()[0]);
    assert_eq!(back, crate::free::Free::whole(&snapshot.nodes[0].inventory));
}

#[test]
fn memory_of_zero_is_all_of_a_node() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    let mut all = request(1, 1);
    all.memory = Some(MemoryRequest::PerNode(Bytes::ZERO));
    snapshot.waiting =
        vec![waiting(1, request(1, 1), 10), waiting(2, all.clone(), 10), waiting(3, all, 10)];
    let round = judged(&snapshot);
    assert_eq!(given(&round, 1), ["a: 1x 0 []"]);
    assert_eq!(given(&round, 2), ["b: 1x 0 []"]);
    assert!(reason(&round, 3).contains("64G memory on one node; best is a with 63.9G memory free"));
}

#[test]
fn nodes_that_are_down_or_drained_are_named_when_they_are_missed() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), gpu_node("b", 8), gpu_node("c", 8)]);
    snapshot.nodes[1].unusable = Some(crate::Unusable::Drained);
    snapshot.nodes[2].unusable = Some(crate::Unusable::Down);
    snapshot.waiting = vec![waiting(1, gpu_request(4), 10), waiting(2, request(1, 4), 10)];
    let round = judged(&snapshot);
    assert!(reason(&round, 1).contains("2 nodes that could hold it are down or drained (b, for"));
    assert_eq!(given(&round, 2), ["a: 1x 0-3 []"], "nobody waits behind such a job");
}

#[test]
fn what_no_node_has_is_refused_with_the_nearest_and_only_if_there_are_nodes() {
    let nodes = [cpu_node("a", 4), gpu_node("b", 4)];
    let named = || nodes.iter().map(|node| (&node.name, &*node.inventory));
    let ever = |request| could_ever_fit(named(), &queue("q"), &request);
    assert_eq!(ever(gpu_request(4)), Ok(()));
    assert_eq!(
        ever(gpu_request(8)).unwrap_err().to_string(),
        "needs 8 GPUs, 1 CPU, 1M memory on one node, which this cluster does not have: \
         b has at most 4 GPUs"
    );
    let mut elsewhere = request(1, 1);
    elsewhere.only_nodes = vec![name("z")];
    assert!(ever(elsewhere).unwrap_err().to_string().ends_with("no node qualifies"));
    assert_eq!(could_ever_fit([], &queue("q"), &gpu_request(8)), Ok(()));
}

#[test]
fn a_job_of_a_queue_that_is_gone_says_so() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    snapshot.waiting = vec![waiting(1, request(1, 1), 10)];
    snapshot.queues.clear();
    assert!(reason(&judged(&snapshot), 1).contains("queue q is no longer configured"));
}

#[test]
fn jobs_that_are_alike_cost_one_trial_and_a_round_has_an_end() {
    let mut snapshot = snapshot(vec![cpu_node("a", 1)]);
    snapshot.waiting = (1..=50_000).map(|job| waiting(job, request(1, 1), 10)).collect();
    let round = judged(&snapshot);
    assert_eq!((round.decisions.len(), round.reasons.len()), (1, 49_999));
    assert!(round.reasons.iter().all(|(_, r)| matches!(r, WaitReason::Resources { .. })));

    // Each job another shape: the last ones are left for the next round.
    for (count, job) in (1_u64..).zip(&mut snapshot.waiting) {
        let memory = Some(MemoryRequest::PerNode(Bytes(count)));
        job.request = std::sync::Arc::new(Request { memory, ..request(1, 1) });
    }
    let round = judged(&snapshot);
    let unseen = round.reasons.iter().filter(|(_, r)| *r == WaitReason::NotConsidered).count();
    assert_eq!(unseen, 50_000 - TRIALS_MAX as usize);
}

#[test]
fn a_running_job_of_a_node_that_is_gone_disturbs_nothing() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 9, share("b", "0-3"), Some(in_minutes(5)));
    snapshot.nodes.pop();
    snapshot.waiting = vec![waiting(1, request(1, 4), 10), waiting(2, request(1, 4), 10)];
    let round = judged(&snapshot);
    assert_eq!(given(&round, 1), ["a: 1x 0-3 []"]);
    assert!(reason(&round, 2).contains("expected by 2023-11-14T22:23:20Z"), "{round:?}");
}

#[test]
fn tasks_per_node_bounds_what_a_node_gets() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    let mut job = request(4, 1);
    job.tasks_per_node = Some(Tasks(2));
    snapshot.waiting = vec![waiting(1, job, 10)];
    assert_eq!(given(&judged(&snapshot), 1), ["a: 2x 0-1 []", "b: 2x 0-1 []"]);
}
