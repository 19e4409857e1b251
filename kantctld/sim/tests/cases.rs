//! The player of cases, tested on cases of our own. The test `kai` plays those of tests/kai.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use serde_json::{Value, json};
use sim::cases::{Decider, Verdict, run};

fn verdict(case: &Value) -> Verdict {
    let mut judged = run(&json!([case]).to_string(), Decider::Plan).unwrap();
    judged.pop().unwrap().verdict
}

/// One node of two GPUs and one queue, with these jobs of one task each.
fn case(tasks: &[Value], expect: &Value) -> Value {
    let bound = json!({"quota": null, "limit": null, "over_quota_weight": 1});
    let job = |(number, task): (usize, &Value)| {
        let mut task = task.clone();
        let cost = json!({"id": format!("j{number}-0"), "cpu_milli": 1000, "memory_bytes": 1000});
        task.as_object_mut().unwrap().extend(cost.as_object().unwrap().clone());
        json!({
            "name": format!("j{number}"), "queue": "q", "priority": 50, "preemptible": true,
            "age_min": 1, "tasks": [task],
        })
    };
    json!({
        "id": "own", "kind": "decision", "phases": ["allocate"],
        "rounds_to_settle": 1, "rounds_to_hold": 0,
        "config": {
            "node_placement": null, "gpu_device_placement": "pack", "stale_gang_grace_s": 0,
        },
        "nodes": [{"name": "n", "gpus": 2, "cpu_milli": 20_000, "memory_bytes": 1_000_000}],
        "queues": [{
            "name": "q", "parent": null, "priority": 100, "created_rank": 0,
            "gpu": bound, "cpu_milli": bound, "memory_mb": bound,
        }],
        "jobs": tasks.iter().enumerate().map(job).collect::<Vec<_>>(),
        "expect": expect,
    })
}

fn half(state: &str, device: &str) -> Value {
    json!({"state": state, "node": "n", "gpu_fraction": 0.5, "gpu_groups": [device]})
}

#[test]
fn a_device_that_a_running_and_a_leaving_task_share_is_counted_once() {
    let tasks = [half("running", "a"), half("releasing", "a")];
    let of_node = |idle, releasing| {
        let gpus = json!({"idle_gpus": idle, "releasing_gpus": releasing});
        verdict(&case(&tasks, &json!({"nodes": {"n": gpus}})))
    };
    assert_eq!(of_node(1, 0), Verdict::Pass, "one is idle, and none comes free");
    assert!(matches!(of_node(0, 1), Verdict::Fail(_)));
    // On different devices, each counts.
    let apart = [half("running", "a"), half("releasing", "b")];
    let gpus = json!({"nodes": {"n": {"idle_gpus": 0, "releasing_gpus": 1}}});
    assert_eq!(verdict(&case(&apart, &gpus)), Verdict::Pass);
}

#[test]
fn a_task_that_may_only_go_to_a_node_that_does_not_exist_waits() {
    let task = |nodes: Value| json!({"state": "pending", "gpus": 1, "allowed_nodes": nodes});
    let fate = |status, outcome| json!({"jobs": {"j0": {"status": status, "outcome": outcome}}});
    let waits = case(&[task(json!(["nosuch"]))], &fate("pending", "waits"));
    assert_eq!(verdict(&waits), Verdict::Pass);
    let starts = case(&[task(json!(["nosuch", "n"]))], &fate("binding", "started"));
    assert_eq!(verdict(&starts), Verdict::Pass);
    // A case in which it runs there cannot be played.
    let mut runs = half("running", "a");
    runs["node"] = json!("nosuch");
    let refused = verdict(&case(&[runs], &fate("running", "kept")));
    assert!(matches!(&refused, Verdict::Unsupported(why) if why.contains("nosuch")), "{refused:?}");
}

#[test]
fn a_quota_bounds_no_job_that_may_be_preempted() {
    let of = |rule: &str, preemptible: bool, allowed: bool| {
        let none = json!({"quota": 0, "limit": 0});
        let queue = json!({
            "id": "q", "parent": null, "cpu": none, "memory": none,
            "gpu": {"quota": 2, "limit": 4, "allocated": 2, "allocated_non_preemptible": 2},
        });
        verdict(&json!({
            "id": "own", "rule": rule,
            "given": {
                "queues": [queue], "request": {"gpu": 1},
                "job": {"queue": "q", "preemptible": preemptible},
            },
            "expect": {"allowed": allowed},
        }))
    };
    let quota = "request_within_non_preemptible_quota";
    assert_eq!(of(quota, false, false), Verdict::Pass);
    assert_eq!(of(quota, true, true), Verdict::Pass);
    // A limit applies to both.
    for preemptible in [false, true] {
        assert_eq!(of("request_within_limit", preemptible, true), Verdict::Pass);
    }
}
