//! Rounds on small clusters, each checked by the judge.

use super::*;
use crate::check::check;
use crate::could_ever_fit;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::{NodeSnapshot, Unusable};
use crate::testing::{
    change_policy, cpu_node, gpu_node, gpu_request, key, name, queue, request, run, share,
    snapshot, use_gpus, waiting,
};
use common::id::JobKey;
use common::policy::queue::Queue;
use common::reason::WaitReason;
use common::resource::{Allocation, GpuRequest, MemoryRequest, Request, Share};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};

mod admission;
mod backfill;
mod first;
mod future_claims;
mod holes;
mod mig;
mod parts;
mod resume_cursor;

const NOW: Time = Time(1_700_000_000_000);

fn in_minutes(minutes: u64) -> Time {
    NOW + Span::from_minutes(minutes)
}

/// A round that the judge accepts, and its input.
struct Seen {
    snapshot: Snapshot,
    round: Round,
}

fn judged(snapshot: &Snapshot) -> Seen {
    judged_at(snapshot, NOW)
}

fn judged_at(snapshot: &Snapshot, now: Time) -> Seen {
    let mut snapshot = snapshot.clone();
    snapshot.prepare_for_round(now);
    let round = schedule(&snapshot, now);
    assert_eq!(check(&snapshot, now, &round), []);
    Seen { snapshot, round }
}

impl Seen {
    /// What a job gets, as `node: tasks x, CPUs, GPUs`; empty if it does not start.
    fn given(&self, job: u32) -> Vec<String> {
        let show = |allocation: &Allocation| -> Vec<String> {
            let gpus = |s: &Share| -> Vec<u16> { s.gpus.iter().map(|g| g.0).collect() };
            let shares = allocation.shares().iter();
            shares.map(|s| format!("{}: {}x {} {:?}", s.node, s.tasks, s.cpus, gpus(s))).collect()
        };
        let mut found = self.round.decisions.iter().filter_map(|decision| match decision {
            Decision::Start { key: started, allocation, .. } if *started == key(job) => {
                Some(show(allocation))
            }
            _ => None,
        });
        found.next().unwrap_or_default()
    }

    /// Why it waits; empty if it does not.
    fn reason(&self, job: u32) -> String {
        let reason = self.round.waits.reason_of(&self.snapshot, key(job));
        reason.map(|reason| reason.to_string()).unwrap_or_default()
    }
}

fn wait(snapshot: &mut Snapshot, jobs: impl IntoIterator<Item = WaitingJob>) {
    jobs.into_iter().for_each(|job| snapshot.set_waiting(job));
}

fn set_unusable(snapshot: &mut Snapshot, node: NodeSnapshot, unusable: Unusable) {
    snapshot.set_node(&NodeSnapshot { unusable: Some(unusable), ..node });
}

#[test]
fn three_jobs_on_two_nodes_start_in_order_and_the_third_hears_why_not() {
    let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
    use_gpus(&mut snapshot, "b", 5);
    wait(
        &mut snapshot,
        (1..4).map(|job| waiting(job, gpu_request([2, 8, 2][job as usize - 1]), 10)),
    );
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["b: 1x 8 [5, 6]"], "the broken node, and CPUs near its GPUs");
    assert_eq!(seen.given(2), ["a: 1x 0 [0, 1, 2, 3, 4, 5, 6, 7]"]);
    let reason = "needs 2 GPUs, 1 CPU, 1M memory on one node; best is b with 1 GPU free; \
                  expected by 2023-11-14T22:23:20Z";
    assert_eq!(seen.reason(3), reason);
}

#[test]
fn tasks_fill_the_fewest_nodes_or_spread_evenly_over_those_asked_for() {
    let nodes = || snapshot(vec![cpu_node("a", 4), cpu_node("b", 4), cpu_node("c", 2)]);
    let mut filled = nodes();
    wait(&mut filled, [waiting(1, request(6, 1), 10)]);
    assert_eq!(judged(&filled).given(1), ["a: 4x 0-3 []", "c: 2x 0-1 []"]);

    let mut spread = nodes();
    let asked = Request { nodes: Some(Nodes(3)), ..request(7, 1) };
    wait(&mut spread, [waiting(1, asked, 10)]);
    assert_eq!(judged(&spread).given(1), ["a: 3x 0-2 []", "b: 2x 0-1 []", "c: 2x 0-1 []"]);

    let mut short = nodes();
    wait(&mut short, [waiting(1, request(11, 1), 10)]);
    let seen = judged(&short);
    assert_eq!(seen.given(1), [""; 0], "all or nothing");
    assert!(seen.reason(1).contains("which this cluster does not have"), "{}", seen.reason(1));
}

#[test]
fn gpus_in_all_go_to_one_node_if_one_can_have_them_else_evenly_to_the_fewest() {
    let total =
        |tasks, gpus| Request { gpus: Some(GpuRequest::Total(Gpus(gpus))), ..request(tasks, 1) };
    let broken = || {
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
        use_gpus(&mut snapshot, "b", 2);
        snapshot
    };
    let mut both = broken();
    wait(&mut both, [waiting(1, total(1, 8), 10), waiting(2, total(2, 8), 10)]);
    let seen = judged(&both);
    assert_eq!(seen.given(1).len(), 1);
    assert_eq!(seen.given(2), [""; 0], "it waits for one node, though 6 GPUs are free");

    let mut large = broken();
    wait(&mut large, [waiting(1, total(2, 12), 10)]);
    let given = ["a: 1x 0 [0, 1, 2, 3, 4, 5]", "b: 1x 2 [2, 3, 4, 5, 6, 7]"];
    assert_eq!(judged(&large).given(1), given);

    let mut alone = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
    wait(&mut alone, [waiting(1, total(1, 12), 10)]);
    let reason = "needs 12 GPUs, 1 CPU, 1M memory on one node, which this cluster does not have: \
                  a has at most 8 GPUs";
    assert_eq!(judged(&alone).reason(1), reason, "one task runs on one node");
}

#[test]
fn whole_nodes_come_with_all_cpus_and_gpus_and_are_not_shared() {
    let mut snapshot = snapshot(vec![gpu_node("a", 2), gpu_node("b", 2)]);
    use_gpus(&mut snapshot, "a", 1);
    let whole = Request { exclusive: true, ..gpu_request(1) };
    let first = WaitingJob { nice: -1, ..waiting(1, whole, 10) };
    wait(&mut snapshot, [first, waiting(2, request(1, 1), 10)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["b: 1x 0-15 [0, 1]"]);
    assert_eq!(seen.given(2), ["a: 1x 1 []"]);
}

#[test]
fn the_fewest_nodes_are_the_roomiest_ones() {
    let mut snapshot = snapshot(vec![cpu_node("a", 2), cpu_node("b", 4), cpu_node("c", 4)]);
    wait(&mut snapshot, [waiting(1, request(8, 1), 10)]);
    assert_eq!(judged(&snapshot).given(1), ["b: 4x 0-3 []", "c: 4x 0-3 []"]);
}

#[test]
fn a_gang_too_goes_where_it_breaks_least() {
    let mut snapshot = snapshot(["a", "b", "c"].map(|text| gpu_node(text, 8)).to_vec());
    use_gpus(&mut snapshot, "b", 4);
    use_gpus(&mut snapshot, "c", 4);
    let gpus = Some(GpuRequest::PerNode(Gpus(2)));
    let gang = Request { nodes: Some(Nodes(2)), gpus, ..request(2, 1) };
    wait(&mut snapshot, [waiting(1, gang, 10)]);
    assert_eq!(judged(&snapshot).given(1), ["b: 1x 8 [4, 5]", "c: 1x 8 [4, 5]"]);
}

#[test]
fn memory_of_zero_is_all_of_a_node() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    let memory = Some(MemoryRequest::PerNode(Bytes::ZERO));
    let all = Request { memory, ..request(1, 1) };
    wait(&mut snapshot, [waiting(1, request(1, 1), 10), waiting(2, all.clone(), 10)]);
    wait(&mut snapshot, [waiting(3, all, 10)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["a: 1x 0 []"]);
    assert_eq!(seen.given(2), ["b: 1x 0 []"]);
    let reason = seen.reason(3);
    assert!(
        reason.contains("64G memory on one node; best is a with 63.9G memory free"),
        "{reason}"
    );
}

#[test]
fn tasks_per_node_bounds_what_a_node_gets() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    let job = Request { tasks_per_node: Some(Tasks(2)), ..request(4, 1) };
    wait(&mut snapshot, [waiting(1, job, 10)]);
    assert_eq!(judged(&snapshot).given(1), ["a: 2x 0-1 []", "b: 2x 0-1 []"]);
}

#[test]
fn a_running_job_of_a_node_that_is_gone_disturbs_nothing() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 9, share("b", "0-3"), Some(in_minutes(5)));
    snapshot.remove_node(&name("b"));
    wait(&mut snapshot, [waiting(1, request(1, 4), 10), waiting(2, request(1, 4), 10)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["a: 1x 0-3 []"]);
    assert!(seen.reason(2).contains("expected by 2023-11-14T22:23:20Z"), "{}", seen.reason(2));
}

#[test]
fn what_a_node_no_longer_has_is_not_expected_back() {
    // The node came back with two CPUs of four; a job still holds all four and all memory.
    let mut snapshot = snapshot(vec![cpu_node("a", 2)]);
    let gone = Share { memory: Bytes(64 << 30), ..share("a", "0-3") };
    run(&mut snapshot, 9, gone, Some(in_minutes(5)));
    let memory = Some(MemoryRequest::PerNode(Bytes(60 << 30)));
    let small = Request { memory, ..request(1, 2) };
    wait(&mut snapshot, [waiting(1, small, 10), waiting(2, request(1, 1), 10)]);
    let seen = judged(&snapshot);
    assert!(seen.reason(1).contains("expected by 2023-11-14T22:18:20Z"), "{}", seen.reason(1));
    snapshot.remove_job(key(9));
    let seen = judged(&snapshot);
    assert_eq!((seen.given(1), seen.given(2)), (vec!["a: 1x 0-1 []".to_owned()], vec![]));
}
