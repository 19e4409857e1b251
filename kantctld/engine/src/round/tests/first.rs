//! The first job of a queue that lacks room or quota, and the jobs that may pass it.

use super::*;
use crate::testing::set_leaf_groups;
use common::policy::{Amounts, Behind, Limits, Placement, Quota, QuotaMode, ZoneOverflow};
use common::topology::{Level, Nearness};

/// Node a of 8 GPUs for a queue of 8; job 9 has `held` of them for an hour more.
fn strict(held: u16, change: impl Fn(&mut Queue)) -> Snapshot {
    let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
    change_policy(&mut snapshot, |policy| {
        let queue = &mut policy.queues[0];
        let amounts = Amounts { gpus_any: Some(Gpus(8)), ..Amounts::default() };
        queue.quota = Quota { amounts, mode: QuotaMode::Isolated, ..Quota::default() };
        queue.behind = Behind::Wait;
        change(queue);
    });
    let gpus = (0..held).map(common::id::GpuIndex).collect();
    let cpus = format!("0-{}", held - 1);
    run(&mut snapshot, 9, Share { gpus, ..share("a", &cpus) }, Some(in_minutes(60)));
    snapshot
}

fn large_and_small(snapshot: &mut Snapshot, large: u32) -> Seen {
    wait(snapshot, [waiting(1, gpu_request(large), 10), waiting(2, gpu_request(1), 10)]);
    judged(snapshot)
}

#[test]
fn no_job_passes_in_a_strict_queue_whose_first_job_lacks_quota() {
    let seen = large_and_small(&mut strict(4, |_| ()), 8);
    assert_eq!(seen.given(2), [""; 0], "it waits for job 1");
    assert!(seen.reason(2).contains("job 1"), "{}", seen.reason(2));
    assert!(seen.reason(1).contains("queue q"), "it hears of the quota: {}", seen.reason(1));
    let seen = large_and_small(&mut strict(4, |queue| queue.behind = Behind::Pass), 8);
    assert_eq!(seen.given(2).len(), 1, "another queue lets all jobs pass");
}

#[test]
fn nor_where_it_lacks_what_its_queue_is_limited_to() {
    let by_limit = |limits: Limits| {
        let limited = strict(4, |queue| (queue.quota, queue.limits) = (Quota::default(), limits));
        large_and_small(&mut limited.clone(), 8)
    };
    let gpus = by_limit(Limits { gpus: Some(Gpus(8)), ..Limits::default() });
    assert_eq!(gpus.given(2), [""; 0]);
    // Job 9 has 240 minutes to go, job 1 asks for 80, job 2 for 10.
    let minutes = by_limit(Limits { gpu_minutes: Some(300), ..Limits::default() });
    assert_eq!(minutes.given(2), [""; 0]);
    assert_eq!(minutes.round.next_look, Some(in_minutes(1)), "as time goes by it may start");
}

#[test]
fn a_job_that_is_too_large_for_its_queue_for_ever_keeps_no_job_waiting() {
    let seen = large_and_small(&mut strict(4, |_| ()), 8 + 1);
    assert_eq!(seen.given(2).len(), 1, "no node has 9 GPUs");
    let small = Amounts { gpus_any: Some(Gpus(6)), ..Amounts::default() };
    let seen = large_and_small(&mut strict(4, |queue| queue.quota.amounts = small.clone()), 8);
    assert_eq!(seen.given(2).len(), 1, "the quota is 6");
}

#[test]
fn whole_nodes_are_priced_at_what_they_come_to() {
    // Job 1 asks for a GPU on a whole node, which is 8; the queue has 4 left for an hour.
    let mut snapshot = strict(4, |queue| queue.behind = Behind::Backfill);
    let whole = Request { exclusive: true, ..gpu_request(1) };
    wait(&mut snapshot, [waiting(1, whole, 600)]);
    wait(&mut snapshot, [waiting(2, gpu_request(1), 30), waiting(3, gpu_request(1), 120)]);
    let seen = judged(&snapshot);
    assert_eq!(
        seen.round.planned_starts.get(&key(1)).map(|planned_start| planned_start.at),
        Some(in_minutes(60))
    );
    assert_eq!((seen.given(2).len(), seen.given(3).len()), (1, 0));
}

#[test]
fn an_elastic_job_shrinks_to_its_quota_and_to_the_limits_of_its_user() {
    let per_task = |least| Request {
        gpus: Some(GpuRequest::PerTask(Gpus(1))),
        tasks_min: Some(Tasks(least)),
        ..request(8, 1)
    };
    let given = |snapshot: &mut Snapshot, least| -> usize {
        wait(snapshot, [waiting(1, per_task(least), 10)]);
        let seen = judged(snapshot);
        let starts = seen.round.decisions.iter().filter_map(|decision| match decision {
            Decision::Start { allocation, .. } => Some(allocation.tasks().0 as usize),
            Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => None,
        });
        starts.sum()
    };
    assert_eq!(given(&mut strict(5, |_| ()), 1), 3, "of 8 GPUs 5 are in use");
    assert_eq!(given(&mut strict(5, |_| ()), 4), 0);
    let limits = Limits { gpus: Some(Gpus(6)), ..Limits::default() };
    let by_user = |queue: &mut Queue| {
        (queue.quota, queue.limits_per_user) = (Quota::default(), limits);
    };
    assert_eq!(given(&mut strict(2, by_user), 1), 4);
}

#[test]
fn an_elastic_job_is_promised_a_start_with_its_fewest_tasks() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 8, share("a", "0-3"), Some(in_minutes(30)));
    run(&mut snapshot, 9, share("b", "0-3"), None);
    let elastic = Request { nodes: Some(Nodes(1)), tasks_min: Some(Tasks(2)), ..request(8, 1) };
    wait(&mut snapshot, [waiting(1, elastic, 60)]);
    let seen = judged(&snapshot);
    assert_eq!(
        seen.round.planned_starts.get(&key(1)).map(|planned_start| planned_start.at),
        Some(in_minutes(30))
    );
}

#[test]
fn who_will_overflow_its_zone_holds_up_those_alone_that_would_delay_it() {
    let mut snapshot = snapshot(["a", "b", "c"].map(|name| gpu_node(name, 8)).to_vec());
    crate::testing::set_zone(&mut snapshot, "z", &["a"]);
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].zone_overflow = ZoneOverflow::Pack;
        let other = Queue { nodes: vec![name("c")], placement: Placement::First, ..queue("other") };
        policy.queues.push(other);
    });
    use_gpus(&mut snapshot, "a", 8);
    let all: common::resource::GpuList = (0..8).map(common::id::GpuIndex).collect();
    let on = |node: &str| Share { gpus: all.clone(), ..share(node, "0-7") };
    run(&mut snapshot, 20, on("b"), Some(in_minutes(60)));
    let mut service = waiting(1, Request { not_nodes: vec![name("c")], ..gpu_request(8) }, 600);
    service.service = true;
    let mut later = waiting(2, gpu_request(8), 600);
    later.queue = queue("other").name;
    wait(&mut snapshot, [service, later]);
    let seen = judged(&snapshot);
    assert_eq!(
        seen.round.planned_starts.get(&key(1)).map(|planned_start| planned_start.at),
        Some(in_minutes(60))
    );
    assert_eq!(seen.given(2).len(), 1, "c is free, and not for job 1: {}", seen.reason(2));
}

#[test]
fn a_quota_on_one_kind_sends_a_job_to_another() {
    let mut h100 = gpu_node("a", 8);
    let mut a100 = gpu_node("b", 8);
    let of_kind = |node: &mut NodeSnapshot, kind: &str| {
        let mut inventory = common::node::Inventory::clone(&node.inventory);
        let kind = common::gpu::GpuKind(kind.to_owned());
        inventory.gpus.iter_mut().for_each(|gpu| gpu.kind = kind.clone());
        node.inventory = std::sync::Arc::new(inventory);
    };
    of_kind(&mut h100, "h100");
    of_kind(&mut a100, "a100");
    let mut snapshot = snapshot(vec![h100, a100]);
    change_policy(&mut snapshot, |policy| {
        let kinds = [("h100", 2), ("a100", 8)];
        let gpus = kinds.map(|(kind, gpus)| (common::gpu::GpuKind(kind.to_owned()), Gpus(gpus)));
        let amounts = Amounts { gpus: gpus.into(), ..Amounts::default() };
        policy.queues[0].quota = Quota { amounts, mode: QuotaMode::Isolated, ..Quota::default() };
        policy.queues[0].placement = Placement::First;
    });
    wait(&mut snapshot, [waiting(1, gpu_request(4), 10)]);
    let seen = judged(&snapshot);
    assert!(seen.given(1)[0].starts_with("b:"), "{:?} {}", seen.given(1), seen.reason(1));
}

#[test]
fn who_should_be_over_is_gone_soon_and_not_yet() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 8, share("a", "0-3"), Some(NOW));
    run(&mut snapshot, 9, share("b", "0-3"), None);
    wait(&mut snapshot, [waiting(1, request(1, 4), 60), waiting(2, request(1, 1), 60)]);
    let seen = judged(&snapshot);
    assert_eq!(
        seen.round.planned_starts.get(&key(1)).map(|planned_start| planned_start.at),
        Some(NOW + Span(1))
    );
}

#[test]
fn all_components_of_a_job_are_kept_room_for_at_one_time() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 9, share("a", "0-3"), Some(in_minutes(60)));
    let on = |job, node: &str| {
        let request = Request { only_nodes: vec![name(node)], ..request(1, 4) };
        WaitingJob { together: Some(key(1)), ..waiting(job, request, 600) }
    };
    let short = |job, minutes| waiting(job, request(1, 4), minutes);
    wait(&mut snapshot, [on(1, "a"), on(2, "b"), short(3, 120), short(4, 30)]);
    let seen = judged(&snapshot);
    let planned_start =
        |job| seen.round.planned_starts.get(&key(job)).map(|planned_start| planned_start.at);
    assert_eq!([planned_start(1), planned_start(2)], [Some(in_minutes(60)); 2]);
    assert_eq!(seen.given(3), [""; 0], "b is needed in an hour");
    assert_eq!(seen.given(4).len(), 1);
}

#[test]
fn components_start_below_one_switch_if_there_is_room_and_anywhere_otherwise() {
    let started = |busy: &[&str], near: Option<Nearness>| {
        let mut snapshot = snapshot(["a", "b", "c", "d"].map(|node| cpu_node(node, 4)).to_vec());
        set_leaf_groups(&mut snapshot, &[("l", "a b"), ("m", "c d")]);
        for (job, node) in (8..).zip(busy) {
            run(&mut snapshot, job, share(node, "0-3"), Some(in_minutes(60)));
        }
        let one = |job| waiting(job, request(1, 4), 10);
        let component = |job| WaitingJob { together: Some(key(1)), near_all: near, ..one(job) };
        wait(&mut snapshot, [component(1), component(2)]);
        let seen = judged(&snapshot);
        [1, 2].map(|job| seen.given(job).iter().map(|share| &share[..1]).collect::<String>())
    };
    let leaf = Nearness { level: Level::Leaf, required: false };
    assert_eq!(started(&["a"], None), ["b", "c"]);
    assert_eq!(started(&["a"], Some(leaf)), ["c", "d"]);
    assert_eq!(started(&["a", "c"], Some(leaf)), ["b", "d"]);
    assert_eq!(started(&["a", "c"], Some(Nearness { required: true, ..leaf })), ["", ""]);
    let unknown = Nearness { level: Level::Spine, required: true };
    assert_eq!(started(&[], Some(unknown)), ["", ""]);
}

#[test]
fn a_job_that_fills_nodes_is_promised_the_first_time_between_bookings() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    run(&mut snapshot, 8, share("a", "0-3"), Some(in_minutes(10)));
    run(&mut snapshot, 9, share("b", "0-3"), Some(in_minutes(20)));
    let booked = |from, to| crate::testing::booking("r", &["b"], in_minutes(from), in_minutes(to));
    wait(&mut snapshot, [waiting(1, request(6, 1), 30)]);
    let at = |snapshot: &Snapshot| {
        judged(snapshot).round.planned_starts.get(&key(1)).map(|planned_start| planned_start.at)
    };
    snapshot.set_reservations([booked(50, 90)]);
    assert_eq!(at(&snapshot), Some(in_minutes(20)), "just over when r begins");
    snapshot.set_reservations([booked(49, 90)]);
    assert_eq!(at(&snapshot), Some(in_minutes(90)));
}

#[test]
fn a_promise_of_one_kind_of_gpu_leaves_the_other_to_others() {
    let mut node = gpu_node("a", 4);
    let mut inventory = common::node::Inventory::clone(&node.inventory);
    for (at, gpu) in inventory.gpus.iter_mut().enumerate() {
        gpu.kind = common::gpu::GpuKind(if at < 2 { "h100" } else { "a100" }.to_owned());
    }
    node.inventory = std::sync::Arc::new(inventory);
    let mut snapshot = snapshot(vec![node]);
    change_policy(&mut snapshot, |policy| {
        policy.queues[0].backfill.reservation = common::policy::ReservationKind::Pinned;
    });
    let gpus = [common::id::GpuIndex(2), common::id::GpuIndex(3)].into();
    run(&mut snapshot, 9, Share { gpus, ..share("a", "0-1") }, Some(in_minutes(60)));
    let of = |job, kind: &str, minutes| {
        let gpu_kind = Some(common::gpu::GpuKind(kind.to_owned()));
        waiting(job, Request { gpu_kind, ..gpu_request(2) }, minutes)
    };
    wait(&mut snapshot, [of(1, "a100", 600), of(2, "h100", 600)]);
    let seen = judged(&snapshot);
    assert_eq!(seen.given(2).len(), 1, "job 1 needs no h100: {}", seen.reason(2));
}
