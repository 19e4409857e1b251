//! Jobs that may not start now, and jobs that never can.

use super::*;

#[test]
fn a_held_job_waits_and_takes_no_other_jobs_turn() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    wait(&mut snapshot, (1..=3).map(|job| waiting(job, request(1, 4), 10)));
    wait(&mut snapshot, [WaitingJob { held: true, ..waiting(2, request(1, 4), 10) }]);
    let seen = judged(&snapshot);
    assert_eq!(seen.round.decisions.len(), 2);
    let reason = seen.round.waits.reason_of(&seen.snapshot, key(2));
    assert_eq!(reason, Some(WaitReason::Held));
}

#[test]
fn a_job_waits_for_its_begin_time_and_for_the_end_of_its_back_off() {
    let hour = Span::from_minutes(60);
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    let job = |job| waiting(job, request(1, 1), 10);
    let until = NOW + Span::from_minutes(1);
    wait(
        &mut snapshot,
        [
            WaitingJob { begin_at: Some(NOW + hour), ..job(1) },
            WaitingJob { begin_at: Some(NOW - hour), ..job(2) },
            WaitingJob { not_before: Some(until), ..job(3) },
        ],
    );
    let seen = judged(&snapshot);
    assert_eq!(seen.round.decisions.len(), 1);
    let reason = |job| seen.round.waits.reason_of(&seen.snapshot, key(job));
    assert_eq!(reason(1), Some(WaitReason::BeginTime { at: NOW + hour }));
    assert_eq!(reason(3), Some(WaitReason::BackOff { until }));
    assert_eq!(seen.round.next_look, Some(until));
    assert_eq!(judged_at(&snapshot, NOW + hour).round.decisions.len(), 3);
}

#[test]
fn a_job_runs_on_nodes_that_have_the_features_it_asks_for() {
    let with = |name: &str, features: &[&str]| {
        let node = cpu_node(name, 4);
        let mut inventory = common::node::Inventory::clone(&node.inventory);
        let named = features.iter().map(|feature| feature.parse().unwrap());
        inventory.features = named.collect();
        crate::NodeSnapshot { inventory: std::sync::Arc::new(inventory), ..node }
    };
    let mut snapshot =
        snapshot(vec![cpu_node("a", 4), with("b", &["ib"]), with("c", &["fast", "ib"])]);
    let asks = |constraint: &str| Request {
        constraint: Some(constraint.parse().unwrap()),
        ..request(1, 1)
    };
    let nodes = Some(common::unit::Nodes(3));
    let three = Request { nodes, tasks: common::unit::Tasks(3), ..asks("ib") };
    wait(
        &mut snapshot,
        [
            waiting(1, asks("ib&fast"), 10),
            waiting(2, Request { not_nodes: vec![name("c")], ..asks("ib|fast") }, 10),
            waiting(3, asks("slow"), 10),
            waiting(4, three, 10),
        ],
    );
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["c: 1x 0 []"]);
    assert_eq!(seen.given(2), ["b: 1x 0 []"]);
    assert!(seen.reason(3).ends_with("no node satisfies the request"), "{}", seen.reason(3));
    assert!(seen.reason(4).ends_with("only 2 nodes are large enough"), "{}", seen.reason(4));
}

#[test]
fn a_job_runs_on_nodes_of_its_queue_of_those_it_names_and_not_on_those_it_excludes() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
    let mut r = queue("r");
    r.nodes = vec![name("b"), name("unheard-of")];
    change_policy(&mut snapshot, |policy| policy.queues.push(r.clone()));
    let without_b = Request { not_nodes: vec![name("b")], ..request(1, 1) };
    let only_a = Request { only_nodes: vec![name("a")], ..request(1, 1) };
    wait(
        &mut snapshot,
        [
            WaitingJob { queue: r.name.clone(), ..waiting(1, request(1, 1), 10) },
            waiting(2, without_b, 10),
            WaitingJob { queue: r.name.clone(), ..waiting(3, only_a, 10) },
        ],
    );
    let seen = judged(&snapshot);
    assert_eq!(seen.given(1), ["b: 1x 0 []"]);
    assert_eq!(seen.given(2), ["a: 1x 0 []"]);
    assert!(seen.reason(3).ends_with("no node satisfies the request"), "{}", seen.reason(3));
}

#[test]
fn higher_queues_go_first_then_lower_nice_then_who_has_waited_longest() {
    let mut snapshot = snapshot(vec![cpu_node("a", 1)]);
    let mut high = queue("high");
    high.priority = 10;
    change_policy(&mut snapshot, |policy| policy.queues.push(high.clone()));
    let job = |job| waiting(job, request(1, 1), 10);
    wait(
        &mut snapshot,
        [
            job(1),
            WaitingJob { nice: -10, ..job(2) },
            WaitingJob { queue: high.name.clone(), ..job(3) },
            WaitingJob { begin_at: Some(Time(500)), ..job(4) },
            WaitingJob { begin_at: Some(Time(9_000)), ..job(5) },
        ],
    );
    for next in [3, 2, 1, 4, 5] {
        let seen = judged(&snapshot);
        assert_eq!(seen.given(next).len(), 1, "job {next} is next");
        snapshot.remove_job(key(next));
    }
}

#[test]
fn gpus_in_all_go_over_nodes_that_are_up() {
    let mut snapshot = snapshot(vec![gpu_node("a", 4), gpu_node("b", 4)]);
    let total = |tasks, gpus| {
        let gpus = Some(GpuRequest::Total(Gpus(gpus)));
        Request { gpus, ..request(tasks, 1) }
    };
    wait(&mut snapshot, [waiting(1, total(2, 8), 10)]);
    let given = ["a: 1x 0 [0, 1, 2, 3]", "b: 1x 0 [0, 1, 2, 3]"];
    set_unusable(&mut snapshot, gpu_node("c", 8), Unusable::Down);
    assert_eq!(judged(&snapshot).given(1), given, "c alone would hold it, and is down");
    // With one task, it waits for the one node that holds it.
    wait(&mut snapshot, [waiting(1, total(1, 8), 10)]);
    let seen = judged(&snapshot);
    assert!(seen.reason(1).contains("c, which could hold it"), "{}", seen.reason(1));
}

#[test]
fn a_job_for_whole_nodes_hears_what_is_missing_to_a_whole_node() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    run(&mut snapshot, 9, share("a", "0"), None);
    let whole = Request { exclusive: true, ..request(1, 1) };
    wait(&mut snapshot, [waiting(1, whole, 10)]);
    let reason = judged(&snapshot).reason(1);
    assert_eq!(reason, "needs 4 CPUs, 64G memory on one node; best is a with 3 CPUs free");
}

#[test]
fn nodes_that_are_down_or_drained_are_named_when_they_are_missed() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    set_unusable(&mut snapshot, gpu_node("b", 8), Unusable::Drained);
    set_unusable(&mut snapshot, gpu_node("c", 8), Unusable::Down);
    wait(&mut snapshot, [waiting(1, gpu_request(4), 10), waiting(2, request(1, 4), 10)]);
    let seen = judged(&snapshot);
    let reason = seen.reason(1);
    assert!(
        reason.contains("2 nodes that could hold it are down or drained, including b"),
        "{reason}"
    );
    assert_eq!(seen.given(2), ["a: 1x 0-3 []"], "no job waits behind such a job");
}

#[test]
fn what_no_node_has_is_refused_with_the_nearest_and_only_if_there_are_nodes() {
    let nodes = snapshot(vec![cpu_node("a", 4), gpu_node("b", 4)]);
    let ever = |request| could_ever_fit(&nodes, &queue("q"), &request, false);
    assert_eq!(ever(gpu_request(4)), Ok(()));
    let reason = "needs 8 GPUs, 1 CPU, 1M memory on one node, which this cluster does not have: \
                  b has at most 4 GPUs";
    assert_eq!(ever(gpu_request(8)).unwrap_err().to_string(), reason);
    let elsewhere = Request { only_nodes: vec![name("z")], ..request(1, 1) };
    assert!(ever(elsewhere).unwrap_err().to_string().ends_with("no node satisfies the request"));
    let none = snapshot(Vec::new());
    assert_eq!(could_ever_fit(&none, &queue("q"), &gpu_request(8), false), Ok(()));
}

#[test]
fn parts_of_gpus_in_all_are_each_looked_at_before_a_job_is_let_in() {
    // Five nodes: one task each and a GPU on four of them; only three have GPUs.
    let nodes = ["a", "b", "c"].map(|text| gpu_node(text, 1));
    let nodes = snapshot([&nodes[..], &[cpu_node("d", 1), cpu_node("e", 1)]].concat());
    let total = Request { gpus: Some(GpuRequest::Total(Gpus(4))), ..request(5, 1) };
    assert!(could_ever_fit(&nodes, &queue("q"), &total, false).is_err());
}

#[test]
fn a_job_of_a_queue_that_is_gone_says_so() {
    let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
    wait(&mut snapshot, [waiting(1, request(1, 1), 10)]);
    change_policy(&mut snapshot, |policy| policy.queues.clear());
    assert!(judged(&snapshot).reason(1).contains("queue q is no longer configured"));
}

#[test]
fn a_limit_counts_whole_cores() {
    let mut snapshot = snapshot(vec![crate::testing::smt_node("s", 4)]);
    change_policy(&mut snapshot, |policy| policy.queues[0].limits.cpus = Some(Cpus(3)));
    let job = |job, cpus| waiting(job, request(1, cpus), 10);
    wait(&mut snapshot, [job(1, 3), job(2, 2)]);
    let seen = judged(&snapshot);
    assert_eq!((seen.given(1).len(), seen.given(2).len()), (0, 1));
    assert!(seen.reason(1).contains("CPUs"), "{}", seen.reason(1));
}

#[test]
fn a_component_that_is_held_or_not_due_keeps_the_others_of_its_job_waiting() {
    let parked = |park: fn(&mut WaitingJob)| {
        let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
        let one = |job| WaitingJob { together: Some(key(1)), ..waiting(job, request(1, 1), 10) };
        let mut second = one(2);
        park(&mut second);
        wait(&mut snapshot, [one(1), second]);
        let seen = judged(&snapshot);
        assert_eq!(seen.given(1), [""; 0]);
        assert_eq!(
            seen.round.waits.reason_of(&seen.snapshot, key(1)),
            Some(WaitReason::Component { key: key(2) })
        );
        wait(&mut snapshot, [one(2)]);
        assert_eq!(judged(&snapshot).round.decisions.len(), 2);
    };
    parked(|job| job.held = true);
    parked(|job| job.begin_at = Some(in_minutes(1)));
    parked(|job| job.not_before = Some(in_minutes(1)));
}

#[test]
fn no_job_waits_behind_one_that_can_never_start() {
    for behind in [common::policy::Behind::Wait, common::policy::Behind::Backfill] {
        let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
        change_policy(&mut snapshot, |policy| policy.queues[0].behind = behind);
        let both = WaitingJob { together: Some(key(2)), ..waiting(2, request(1, 5), 10) };
        wait(&mut snapshot, [waiting(1, gpu_request(1), 10), both, waiting(3, request(1, 4), 10)]);
        wait(&mut snapshot, [waiting(4, gpu_request(1), 10), waiting(5, request(1, 4), 10)]);
        let seen = judged(&snapshot);
        assert_eq!(seen.given(3), ["a: 1x 0-3 []"]);
        for never in [1, 2, 4] {
            assert!(seen.reason(never).contains("does not have"), "{}", seen.reason(never));
        }
        let next = seen.reason(5);
        assert!(next.starts_with("needs 4 CPUs"), "it is the first that could start: {next}");
    }
}
