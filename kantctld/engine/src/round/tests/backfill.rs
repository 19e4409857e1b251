//! Who may pass whom.

use super::*;
use crate::testing::run_on_all;
use common::unit::Cpus;

/// Nodes a and b of 4 CPUs; a is in use for 60 minutes more. Job 1 asks for both nodes.
fn one_node_busy() -> Snapshot {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 9, share("a", "0-3"), Some(in_minutes(60)));
    snapshot.waiting = vec![waiting(1, two_nodes(), 600)];
    snapshot
}

/// Two tasks of 4 CPUs, each on a node of its own.
fn two_nodes() -> Request {
    Request { nodes: Some(Nodes(2)), ..request(2, 4) }
}

#[test]
fn the_example() {
    let mut snapshot = one_node_busy();
    snapshot.waiting.push(waiting(2, request(1, 4), 30));
    let round = judged(&snapshot);
    assert_eq!(given(&round, 2), ["b: 1x 0-3 []"]);
    assert_eq!(
        reason(&round, 1),
        "needs 4 CPUs, 4M memory on each of 2 nodes; 0 have that free now; \
         expected by 2023-11-14T23:13:20Z"
    );

    let mut snapshot = one_node_busy();
    snapshot.waiting.push(waiting(3, request(1, 4), 90));
    let round = judged(&snapshot);
    assert_eq!(round.decisions, []);
    assert_eq!(reason(&round, 3), "1 job before it, next is 1");
}

#[test]
fn a_job_may_run_as_long_as_it_likes_beside_the_shadow() {
    let mut snapshot = one_node_busy();
    snapshot.nodes.push(cpu_node("c", 1));
    snapshot.waiting.push(waiting(2, request(1, 1), 10_000));
    assert_eq!(given(&judged(&snapshot), 2), ["c: 1x 0 []"]);
}

#[test]
fn on_a_node_of_the_shadow_only_what_it_needs_is_kept() {
    let mut snapshot = snapshot(vec![gpu_node("a", 4)]);
    let mut busy = share("a", "0-2");
    busy.gpus = (0..3).map(common::id::GpuIndex).collect();
    run(&mut snapshot, 9, busy, Some(in_minutes(60)));
    snapshot.waiting = vec![
        waiting(1, gpu_request(3), 600),
        waiting(2, request(1, 4), 600),
        waiting(3, gpu_request(1), 600),
        waiting(4, gpu_request(1), 600),
    ];
    let round = judged(&snapshot);
    assert_eq!(given(&round, 2).len(), 1, "CPUs enough for both");
    assert_eq!(given(&round, 3).len(), 1, "job 1 will have the other three");
    assert!(reason(&round, 4).starts_with("needs 1 GPU"));
}

#[test]
fn memory_that_a_shadow_counts_on_is_kept() {
    // 63 GiB are free, 1 GiB more in an hour; job 1 waits for all 64.
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    run(&mut snapshot, 9, share("a", "0"), Some(in_minutes(60)));
    let mut all = request(1, 1);
    all.memory = Some(MemoryRequest::PerNode(Bytes::ZERO));
    snapshot.waiting =
        vec![waiting(1, all, 600), waiting(2, request(1, 1), 61), waiting(3, request(1, 1), 60)];
    let round = judged(&snapshot);
    assert_eq!(given(&round, 2), [""; 0]);
    assert_eq!(given(&round, 3).len(), 1);
}

/// One CPU and so much memory.
fn memory(gib: u64) -> Request {
    Request { memory: Some(MemoryRequest::PerNode(Bytes(gib << 30))), ..request(1, 1) }
}

#[test]
fn memory_that_is_left_beside_a_shadow_is_not_kept() {
    // 32 GiB are free and 32 more in an hour; job 1 waits for 40, so 24 are to spare then.
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    let half = Share { memory: Bytes(32 << 30), ..share("a", "0") };
    run(&mut snapshot, 9, half, Some(in_minutes(60)));
    let jobs = [(1, memory(40)), (2, memory(20)), (3, memory(5)), (4, memory(4))];
    snapshot.waiting = jobs.into_iter().map(|(job, asks)| waiting(job, asks, 600)).collect();
    let round = judged(&snapshot);
    assert_eq!(given(&round, 2).len(), 1);
    assert_eq!(given(&round, 3), [""; 0], "25 would be too much");
    assert_eq!(given(&round, 4).len(), 1);
}

#[test]
fn memory_that_comes_free_is_not_counted_on_by_two_shadows() {
    // 32 GiB are free, 48 in half an hour, 64 in an hour. Job 1 will have 40, job 2 then 20.
    let mut snapshot = snapshot(vec![cpu_node("a", 8)]);
    for (job, cpu, minutes) in [(8, "0", 30), (9, "1", 60)] {
        let quarter = Share { memory: Bytes(16 << 30), ..share("a", cpu) };
        run(&mut snapshot, job, quarter, Some(in_minutes(minutes)));
    }
    snapshot.queues.push(queue("r"));
    snapshot.waiting =
        vec![waiting(1, memory(40), 600), waiting(2, memory(20), 600), waiting(3, memory(8), 600)];
    snapshot.waiting[0].submitted_at = Time(0);
    snapshot.waiting[1].queue = snapshot.queues[1].name.clone();
    let round = judged(&snapshot);
    assert_eq!(given(&round, 2), [""; 0]);
    assert_eq!(given(&round, 3), [""; 0], "8 more would leave job 2 with 16");
}

#[test]
fn the_first_job_of_another_queue_is_promised_what_the_first_promise_leaves() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4), cpu_node("c", 4)]);
    for (job, node, minutes) in [(7, "a", 60), (8, "b", 90), (9, "c", 30)] {
        run(&mut snapshot, job, share(node, "0-3"), Some(in_minutes(minutes)));
    }
    snapshot.queues.push(queue("r"));
    snapshot.waiting = vec![waiting(1, request(1, 4), 600), waiting(2, request(1, 4), 600)];
    snapshot.waiting[1].queue = snapshot.queues[1].name.clone();
    let round = judged(&snapshot);
    assert!(reason(&round, 1).ends_with("expected by 2023-11-14T22:43:20Z"), "c, in 30 minutes");
    assert!(reason(&round, 2).ends_with("expected by 2023-11-14T23:13:20Z"), "a, in 60 minutes");
}

#[test]
fn a_second_job_of_the_queue_does_not_take_the_shadow_from_the_first() {
    let mut snapshot = one_node_busy();
    snapshot.nodes.push(cpu_node("c", 4));
    run(&mut snapshot, 8, share("c", "0-3"), Some(in_minutes(70)));
    let only_c = Request { only_nodes: vec![name("c")], ..request(1, 4) };
    let never = Request { only_nodes: vec![name("z")], ..request(1, 4) };
    snapshot.waiting.push(waiting(2, only_c, 600));
    snapshot.waiting.push(waiting(3, request(1, 1), 600));
    snapshot.waiting.insert(0, waiting(0, never, 600));
    let round = judged(&snapshot);
    assert_eq!(given(&round, 3), [""; 0]);
    assert_eq!(reason(&round, 3), "2 jobs before it, next is 1", "who never fits is not in line");
}

#[test]
fn a_job_without_a_limit_never_passes_and_one_with_a_limit_passes_those_who_never_end() {
    let mut snapshot = one_node_busy();
    snapshot.running[0].ends_by = None;
    snapshot.waiting.push(waiting(2, request(1, 1), 10));
    snapshot.waiting.push(waiting(3, request(1, 1), 10));
    snapshot.waiting[1].time_limit = None;
    snapshot.waiting.push(waiting(5, Request { cpus_per_task: Cpus(3), ..two_nodes() }, 10));
    let round = judged(&snapshot);
    assert_eq!(given(&round, 2), [""; 0]);
    assert_eq!(given(&round, 3).len(), 1);
    for job in [1, 5] {
        let reason = reason(&round, job);
        assert!(reason.starts_with("needs") && !reason.contains("expected"), "{reason}");
    }
}

#[test]
fn each_queue_has_a_shadow_of_its_own() {
    let mut snapshot = one_node_busy();
    let mut other = queue("other");
    other.nodes = vec![name("c"), name("d")];
    snapshot.queues.push(other.clone());
    snapshot.nodes.extend([cpu_node("c", 4), cpu_node("d", 4)]);
    snapshot.queues[0].nodes = vec![name("a"), name("b")];
    run(&mut snapshot, 8, share("c", "0-3"), Some(in_minutes(20)));
    let jobs = [(2, 10, two_nodes()), (3, 30, request(1, 1)), (4, 20, request(1, 1))];
    for (job, minutes, asks) in jobs {
        let mut job = waiting(job, asks, minutes);
        job.queue = other.name.clone();
        snapshot.waiting.push(job);
    }
    let round = judged(&snapshot);
    assert!(reason(&round, 2).ends_with("expected by 2023-11-14T22:33:20Z"));
    assert_eq!(reason(&round, 3), "1 job before it, next is 2", "job 1 waits for other nodes");
    assert_eq!(given(&round, 4), ["d: 1x 0 []"]);
}

#[test]
fn an_overdue_job_is_expected_to_end_now_and_still_protects_the_shadow() {
    let mut snapshot = one_node_busy();
    snapshot.running[0].ends_by = Some(Time(1));
    snapshot.waiting.push(waiting(2, request(1, 1), 1));
    let round = judged(&snapshot);
    assert_eq!(round.decisions, []);
    assert!(reason(&round, 1).ends_with("expected by 2023-11-14T22:13:20Z"));
}

/// Enacts a round, and five minutes later ends what has reached its limit.
fn five_minutes_pass(snapshot: &mut Snapshot, now: Time) -> Time {
    let round = schedule(snapshot, now);
    assert_eq!(check(snapshot, now, &round.decisions), []);
    for decision in round.decisions {
        let Decision::Start { key, allocation, .. } = decision;
        let at = snapshot.waiting.iter().position(|job| job.key == key).unwrap();
        let limit = snapshot.waiting.remove(at).time_limit.unwrap();
        run_on_all(snapshot, key.job.0, allocation, Some(now + limit));
    }
    let now = now + Span::from_minutes(5);
    let all = std::mem::take(&mut snapshot.running);
    let is_over = |job: &crate::RunningJob| job.ends_by.is_some_and(|at| at <= now);
    let (over, left): (Vec<_>, Vec<_>) = all.into_iter().partition(is_over);
    snapshot.running = left;
    for share in over.iter().flat_map(|job| job.allocation.shares()) {
        let node = snapshot.nodes.iter_mut().find(|node| node.name == share.node).unwrap();
        node.free_cpus = node.free_cpus.union(&share.cpus);
        node.free_memory += share.memory;
    }
    now
}

#[test]
fn passing_never_delays_the_first_job_round_after_round() {
    let mut snapshot = one_node_busy();
    for job in 2..40 {
        snapshot.waiting.push(waiting(job, request(1, 1 + job % 4), u64::from(job) * 4));
    }
    let mut now = NOW;
    while now < in_minutes(60) {
        now = five_minutes_pass(&mut snapshot, now);
    }
    assert!(snapshot.waiting.len() < 38, "some have passed");
    assert_eq!(given(&schedule(&snapshot, now), 1).len(), 2, "and job 1 starts on time");
}
