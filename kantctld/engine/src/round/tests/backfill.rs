//! Which jobs may pass others.

use super::*;
use crate::testing::run_on_all;

/// Nodes a and b of 4 CPUs; a is in use for 60 minutes more. Job 1 asks for both nodes.
fn one_node_busy() -> Snapshot {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 9, share("a", "0-3"), Some(in_minutes(60)));
    wait(&mut snapshot, [waiting(1, two_nodes(), 600)]);
    snapshot
}

/// Two tasks of 4 CPUs, each on its own node.
fn two_nodes() -> Request {
    Request { nodes: Some(Nodes(2)), ..request(2, 4) }
}

#[test]
fn the_example() {
    let mut snapshot = one_node_busy();
    wait(&mut snapshot, [waiting(2, request(1, 4), 30)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2), ["b: 1x 0-3 []"]);
    let reason = "needs 4 CPUs, 4M memory on each of 2 nodes; 0 nodes have that free now; \
                  expected by 2023-11-14T23:13:20Z";
    assert_eq!(seen.reason(1), reason);

    let mut snapshot = one_node_busy();
    wait(&mut snapshot, [waiting(3, request(1, 4), 90)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.round.decisions, []);
    assert!(seen.reason(3).contains("kept for job 1"), "{}", seen.reason(3));
}

#[test]
fn a_job_may_run_as_long_as_it_likes_beside_the_shadow() {
    let mut snapshot = one_node_busy();
    snapshot.set_node(&cpu_node("c", 1));
    wait(&mut snapshot, [waiting(2, request(1, 1), 10_000)]);
    assert_eq!(judged(&snapshot).given(2), ["c: 1x 0 []"]);
}

#[test]
fn on_a_node_of_the_shadow_only_what_it_needs_is_kept() {
    let mut snapshot = snapshot(vec![gpu_node("a", 4)]);
    let gpus = (0..3).map(common::id::GpuIndex).collect();
    run(&mut snapshot, 9, Share { gpus, ..share("a", "0-2") }, Some(in_minutes(60)));
    let asks = [gpu_request(3), request(1, 4), gpu_request(1), gpu_request(1)];
    wait(&mut snapshot, (1..).zip(asks).map(|(job, asks)| waiting(job, asks, 600)));
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2).len(), 1, "CPUs enough for both");
    assert_eq!(seen.given(3).len(), 1, "job 1 will have the other three");
    assert!(seen.reason(4).starts_with("needs 1 GPU"), "{}", seen.reason(4));
}

#[test]
fn memory_that_a_shadow_counts_on_is_kept() {
    // 63 GiB are free, 1 GiB more in an hour; job 1 waits for all 64.
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    run(&mut snapshot, 9, share("a", "0"), Some(in_minutes(60)));
    let all = Request { memory: Some(MemoryRequest::PerNode(Bytes::ZERO)), ..request(1, 1) };
    wait(&mut snapshot, [waiting(1, all, 600)]);
    wait(&mut snapshot, [waiting(2, request(1, 1), 61), waiting(3, request(1, 1), 60)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2), [""; 0]);
    assert_eq!(seen.given(3).len(), 1);
}

/// One CPU and this much memory.
fn memory(gib: u64) -> Request {
    Request { memory: Some(MemoryRequest::PerNode(Bytes(gib << 30))), ..request(1, 1) }
}

#[test]
fn memory_that_is_left_beside_a_shadow_is_not_kept() {
    // 32 GiB are free and 32 more in an hour; job 1 waits for 40, so 24 are spare then.
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    let half = Share { memory: Bytes(32 << 30), ..share("a", "0") };
    run(&mut snapshot, 9, half, Some(in_minutes(60)));
    let jobs = [(1, 40), (2, 20), (3, 5), (4, 4)];
    wait(&mut snapshot, jobs.map(|(job, gib)| waiting(job, memory(gib), 600)));
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2).len(), 1);
    assert_eq!(seen.given(3), [""; 0], "25 would be too much");
    assert_eq!(seen.given(4).len(), 1);
}

#[test]
fn a_job_without_a_limit_never_passes_and_one_with_a_limit_passes_those_who_never_end() {
    let mut snapshot = one_node_busy();
    snapshot.remove_job(key(9));
    run(&mut snapshot, 9, share("a", "0-3"), None);
    let endless = WaitingJob { time_limit: None, ..waiting(2, request(1, 1), 10) };
    wait(&mut snapshot, [endless, waiting(3, request(1, 1), 10)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(3).len(), 1);
    let reason = seen.reason(1);
    assert!(reason.starts_with("needs") && !reason.contains("expected"), "{reason}");
}

#[test]
fn each_queue_has_a_shadow_of_its_own() {
    let mut snapshot = one_node_busy();
    let mut other = queue("other");
    other.nodes = vec![name("c"), name("d")];
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].nodes = vec![name("a"), name("b")];
        policy.queues.push(other.clone());
    });
    snapshot.set_node(&cpu_node("c", 4));
    snapshot.set_node(&cpu_node("d", 4));
    run(&mut snapshot, 8, share("c", "0-3"), Some(in_minutes(20)));
    let jobs = [(2, 10, two_nodes()), (3, 30, request(1, 1)), (4, 20, request(1, 1))];
    for (job, minutes, asks) in jobs {
        let queue = other.name.clone();
        wait(&mut snapshot, [WaitingJob { queue, ..waiting(job, asks, minutes) }]);
    }
    let seen = judged(&snapshot);
    assert!(seen.reason(2).ends_with("expected by 2023-11-14T22:33:20Z"), "{}", seen.reason(2));
    assert!(seen.reason(3).contains("kept for job 2"), "job 1 waits elsewhere: {}", seen.reason(3));
    assert_eq!(seen.given(4), ["d: 1x 0 []"]);
}

#[test]
fn an_overdue_job_is_expected_to_end_now_and_still_protects_the_shadow() {
    let mut snapshot = one_node_busy();
    snapshot.remove_job(key(9));
    run(&mut snapshot, 9, share("a", "0-3"), Some(Time(1)));
    wait(&mut snapshot, [waiting(2, request(1, 1), 1)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.round.decisions, []);
    assert!(seen.reason(1).ends_with("expected by 2023-11-14T22:13:20Z"), "{}", seen.reason(1));
}

/// Carries out a round, and ends the jobs that reach their limits in the next five minutes.
fn five_minutes_pass(snapshot: &mut Snapshot, now: Time) -> Time {
    let seen = judged_at(snapshot, now);
    for decision in seen.round.decisions {
        if let Decision::Start { key, allocation, .. } = decision {
            let limit = snapshot.waiting_job(key).unwrap().time_limit.unwrap();
            run_on_all(snapshot, key.job.0, allocation, Some(now + limit));
        }
    }
    snapshot.set_planned_starts(seen.round.planned_starts);
    let now = now + Span::from_minutes(5);
    let over: Vec<JobKey> = snapshot
        .all_running()
        .filter(|job| job.ends_by.is_some_and(|at| at <= now))
        .map(|job| job.key)
        .collect();
    over.into_iter().for_each(|key| snapshot.remove_job(key));
    now
}

#[test]
fn passing_never_delays_the_first_job_round_after_round() {
    let mut snapshot = one_node_busy();
    for job in 10..48 {
        wait(&mut snapshot, [waiting(job, request(1, 1 + job % 4), u64::from(job - 8) * 4)]);
    }
    let mut now = NOW;
    while now < in_minutes(60) {
        now = five_minutes_pass(&mut snapshot, now);
    }
    assert!(snapshot.waiting_count() < 38, "some have passed");
    assert_eq!(judged_at(&snapshot, now).given(1).len(), 2, "and job 1 starts on time");
}

#[test]
fn the_first_job_of_another_queue_is_promised_what_the_first_promise_leaves() {
    let mut snapshot = snapshot(["a", "b", "c"].map(|text| cpu_node(text, 4)).to_vec());
    for (job, node, minutes) in [(7, "a", 60), (8, "b", 90), (9, "c", 30)] {
        run(&mut snapshot, job, share(node, "0-3"), Some(in_minutes(minutes)));
    }
    let mut r = queue("r");
    r.backfill.reservation = common::policy::ReservationKind::Pinned;
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].backfill.reservation = common::policy::ReservationKind::Pinned;
        policy.queues.push(r.clone());
    });
    let second = WaitingJob { queue: r.name, ..waiting(2, request(1, 4), 600) };
    wait(&mut snapshot, [waiting(1, request(1, 4), 600), second]);
    let seen = judged(&snapshot);
    assert!(seen.reason(1).ends_with("expected by 2023-11-14T22:43:20Z"), "c, in 30 minutes");
    assert!(seen.reason(2).ends_with("expected by 2023-11-14T23:13:20Z"), "{}", seen.reason(2));
}

#[test]
fn a_promise_names_as_many_nodes_as_the_most_tasks_on_one_want() {
    let mut snapshot = snapshot(["a", "b"].map(|text| cpu_node(text, 8)).to_vec());
    for (job, node) in [(8, "a"), (9, "b")] {
        run(&mut snapshot, job, share(node, "0-7"), Some(in_minutes(30)));
    }
    // It names no number of nodes: each is filled in turn.
    let three = Request { tasks_per_node: Some(Tasks(3)), ..request(6, 1) };
    wait(&mut snapshot, [waiting(1, three, 60)]);
    let seen = judged(&snapshot);
    let planned_start = seen.round.planned_starts.get(&key(1)).cloned();
    let nodes =
        planned_start.as_ref().map(|planned_start| planned_start.nodes.clone()).unwrap_or_default();
    assert_eq!(planned_start.map(|planned_start| planned_start.at), Some(in_minutes(30)));
    assert_eq!(nodes, [name("a"), name("b")], "a would hold all six");
}
