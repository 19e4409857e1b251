//! Promises take quota into account.

use super::*;
use common::policy::{Amounts, Limits, Quota, ReservationKind};
use common::resource::Apart;

/// Nodes a and b of 8 GPUs, of which the queue may have 8; job 9 has `held` for an hour more.
fn quota_of_8(held: u16) -> Snapshot {
    let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
    let at_most = Amounts { gpus_any: Some(Gpus(8)), ..Amounts::default() };
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].quota = Quota { at_most, ..Quota::default() };
    });
    hold(&mut snapshot, held);
    snapshot
}

fn hold(snapshot: &mut Snapshot, held: u16) {
    let gpus = (0..held).map(common::id::GpuIndex).collect();
    let cpus = format!("0-{}", held - 1);
    run(snapshot, 9, Share { gpus, ..share("a", &cpus) }, Some(in_minutes(60)));
}

fn jobs(snapshot: &mut Snapshot) {
    let jobs = [(2, 8, 600), (3, 2, 30), (4, 2, 120)];
    wait(snapshot, jobs.map(|(job, gpus, minutes)| waiting(job, gpu_request(gpus), minutes)));
}

#[test]
fn the_example() {
    let mut snapshot = quota_of_8(4);
    jobs(&mut snapshot);
    let seen = judged(&snapshot);
    assert_eq!(
        seen.round.planned_starts.get(&key(2)).map(|planned_start| planned_start.at),
        Some(in_minutes(60))
    );
    assert!(seen.reason(2).contains("queue q"), "it lacks quota, not room: {}", seen.reason(2));
    assert_eq!((seen.given(3).len(), seen.given(4).len()), (1, 0));
    assert!(seen.reason(4).contains("kept for job 2"), "{}", seen.reason(4));
}

#[test]
fn a_limit_of_the_queue_is_kept_like_a_quota() {
    let mut snapshot = quota_of_8(4);
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].quota = Quota::default();
        policy.queues[0].limits = Limits { gpus: Some(Gpus(8)), ..Limits::default() };
    });
    jobs(&mut snapshot);
    let seen = judged(&snapshot);
    assert_eq!((seen.given(3).len(), seen.given(4).len()), (1, 0));
}

#[test]
fn quota_above_is_kept_from_the_queues_beside() {
    let mut snapshot = quota_of_8(4);
    change_policy(&mut snapshot, |policy| {
        let parent = Queue { quota: policy.queues[0].quota.clone(), ..queue("top") };
        policy.queues[0].quota = Quota::default();
        let mut beside = queue("r");
        beside.priority = -1;
        beside.parent = Some(parent.name.clone());
        policy.queues[0].parent = Some(parent.name.clone());
        policy.queues.extend([parent, beside]);
    });
    jobs(&mut snapshot);
    for job in [3, 4] {
        let of_r = WaitingJob::clone(snapshot.waiting_job(key(job)).unwrap());
        wait(&mut snapshot, [WaitingJob { queue: queue("r").name, ..of_r }]);
    }
    let seen = judged(&snapshot);
    assert_eq!((seen.given(3).len(), seen.given(4).len()), (1, 0));
}

#[test]
fn who_waits_for_room_keeps_the_quota_of_that_time() {
    // Job 1 asks for both nodes; another queue uses c for an hour.
    let mut snapshot = snapshot(["a", "b", "c"].map(|text| gpu_node(text, 8)).to_vec());
    let at_most = Amounts { gpus_any: Some(Gpus(16)), ..Amounts::default() };
    let r = Queue { nodes: vec![name("c")], ..queue("r") };
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].quota = Quota { at_most, ..Quota::default() };
        policy.queues.push(r.clone());
    });
    let gpus = (0..8).map(common::id::GpuIndex).collect();
    run(&mut snapshot, 9, Share { gpus, ..share("a", "0-7") }, Some(in_minutes(60)));
    snapshot.prepare_for_round(NOW);
    let two =
        Request { nodes: Some(Nodes(2)), only_nodes: vec![name("a"), name("b")], ..gpu_request(8) };
    let two = Request { tasks: Tasks(2), ..two };
    wait(&mut snapshot, [waiting(1, two, 600)]);
    let on_c = |job, minutes| {
        waiting(job, Request { only_nodes: vec![name("c")], ..gpu_request(1) }, minutes)
    };
    wait(&mut snapshot, [on_c(2, 120), on_c(3, 60)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2), [""; 0], "c is free, but job 1 needs all of the quota in an hour");
    assert_eq!(seen.given(3).len(), 1);
}

#[test]
fn steady_small_jobs_do_not_keep_a_large_one_from_its_quota() {
    let mut snapshot = quota_of_8(6);
    wait(&mut snapshot, [waiting(2, gpu_request(8), 600)]);
    let mut now = NOW;
    for job in 10..40 {
        wait(&mut snapshot, [waiting(job, gpu_request(1), 25)]);
        let seen = judged_at(&snapshot, now);
        for decision in &seen.round.decisions {
            if let Decision::Start { key, allocation, .. } = decision {
                snapshot.start(*key, allocation.clone(), now);
            }
        }
        snapshot.set_planned_starts(seen.round.planned_starts.clone());
        if !seen.given(2).is_empty() {
            break;
        }
        now = now + Span::from_minutes(5);
        let is_over =
            |job: &&std::sync::Arc<crate::RunningJob>| job.ends_by.is_some_and(|ends| ends <= now);
        let over: Vec<JobKey> = snapshot.all_running().filter(is_over).map(|job| job.key).collect();
        over.into_iter().for_each(|key| snapshot.remove_job(key));
    }
    assert_eq!(now, in_minutes(60));
}

#[test]
fn conservative_promises_do_not_share_one_quota() {
    let mut snapshot = quota_of_8(8);
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].backfill.depth = 0;
        policy.queues[0].backfill.reservation = ReservationKind::Pinned;
    });
    wait(&mut snapshot, [waiting(1, gpu_request(8), 30), waiting(2, gpu_request(8), 30)]);
    let seen = judged(&snapshot);
    let planned_start =
        |job| seen.round.planned_starts.get(&key(job)).map(|planned_start| planned_start.at);
    assert_eq!(planned_start(1), Some(in_minutes(60)));
    assert_eq!(planned_start(2), Some(in_minutes(90)));
}

#[test]
fn a_promise_to_a_pinned_job_is_not_moved_by_a_floating_one_of_equal_or_lower_priority() {
    for priority in [0, -1] {
        let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        let floating = Queue { priority, ..queue("f") };
        change_policy(&mut snapshot, |policy| {
            policy.queues[0].backfill.depth = 0;
            policy.queues[0].backfill.reservation = ReservationKind::Pinned;
            policy.queues.push(floating.clone());
        });
        run(&mut snapshot, 8, share("a", "0-3"), Some(in_minutes(30)));
        run(&mut snapshot, 9, share("b", "0-3"), Some(in_minutes(60)));
        let both = Request { nodes: Some(Nodes(2)), ..request(2, 4) };
        wait(&mut snapshot, [waiting(5, both, 60)]);
        let planned_starts = judged(&snapshot).round.planned_starts;
        assert_eq!(planned_starts[&key(5)].at, in_minutes(60));
        snapshot.set_planned_starts(planned_starts);
        let head = |job| WaitingJob {
            queue: floating.name.clone(),
            submitted_at: NOW,
            ..waiting(job, request(1, 4), 90)
        };
        wait(&mut snapshot, [head(6), head(7)]);
        snapshot.remove_job(key(8));
        let seen = judged_at(&snapshot, in_minutes(10));
        assert_eq!(seen.round.planned_starts[&key(5)].at, in_minutes(60), "priority {priority}");
        assert_eq!(seen.given(6), [""; 0]);
    }
}

#[test]
fn a_promise_to_a_job_of_segments_is_for_whole_blocks() {
    let mut snapshot = snapshot(["a", "b", "c", "d"].map(|text| cpu_node(text, 4)).to_vec());
    crate::testing::set_leaf_groups(&mut snapshot, &[("l", "a b"), ("m", "c d")]);
    for (job, node, minutes) in [(6, "a", 10), (7, "b", 90), (8, "c", 20), (9, "d", 60)] {
        run(&mut snapshot, job, share(node, "0-3"), Some(in_minutes(minutes)));
    }
    let blocks = |nodes, segment| Request {
        nodes: Some(Nodes(nodes)),
        segment: Some(Nodes(segment)),
        ..request(nodes, 4)
    };
    wait(&mut snapshot, [waiting(1, blocks(3, 2), 600)]);
    let at = |snapshot: &Snapshot| judged(snapshot).round.planned_starts.get(&key(1)).map(|p| p.at);
    assert_eq!(at(&snapshot), Some(in_minutes(60)), "c and d, and a");
    wait(&mut snapshot, [waiting(1, blocks(4, 2), 600)]);
    assert_eq!(at(&snapshot), Some(in_minutes(90)));
}

#[test]
fn a_promise_to_a_job_that_fills_nodes_counts_the_jobs_of_its_group() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    let one = |job| {
        let group = "web".to_owned();
        let apart = Some(Apart { group, per_node_max: Some(1), spread: None });
        waiting(job, Request { apart, ..request(3, 1) }, u64::from(job) * 10)
    };
    wait(&mut snapshot, [one(1), one(2)]);
    for decision in judged(&snapshot).round.decisions {
        if let Decision::Start { key, allocation, .. } = decision {
            snapshot.start(key, allocation, NOW);
        }
    }
    assert_eq!(snapshot.all_running().count(), 2);
    let two = Request { tasks: Tasks(2), ..Request::clone(&one(3).request) };
    wait(&mut snapshot, [waiting(3, two, 10)]);
    let planned_start = judged(&snapshot).round.planned_starts.get(&key(3)).cloned();
    assert_eq!(planned_start.map(|planned_start| planned_start.at), Some(in_minutes(10)));
}
