//! Scheduling at the command line: what-if, priorities, metrics, reservations, and the scheduling
//! options of a submission, against a controller with scripted answers.

use crate::support::{TestController, finish, json, refusal};
use common::topology::{Level, Nearness};
use common::unit::{Nodes, Tasks};
use common::wire::api::SubmitRequest;
use serde_json::{Value, json as value};

fn controller() -> TestController {
    TestController::answering(|request, _| match request.line.as_str() {
        "POST /v1/jobs" => json(value!({ "job": 42 })),
        "POST /v1/jobs/42/what-if" => json(value!({
            "key": "42", "starts_now": ["g-001"], "expected_at": null, "reason": null,
            "compared_with": { "expected_at": 1_700_003_600_000_u64 },
            "as_of": 1_700_000_000_000_u64
        })),
        "POST /v1/jobs/42/solve" => json(value!({
            "key": "42", "answer": "moves", "by": "fewest", "room": ["g-001"], "trials": 7,
            "moves": [{ "key": "7", "name": "small", "from": ["g-001"], "to": ["g-002"],
                        "lost_gpu_minutes": 30 }],
            "movable": 3, "lines": ["it has room on g-001 if 1 job moved"],
            "advice": "ask an operator", "as_of": 1_700_000_000_000_u64
        })),
        "POST /v1/jobs/43/solve" => refusal(429, "another search for moves runs"),
        "GET /v1/priority" | "GET /v1/priority?job=42%2C43_1" => json(value!({
            "jobs": [{ "key": "42", "user": "ada", "queue": "gpu", "order": "multifactor",
                       "total": 250, "factors": [{ "name": "age", "weight": 1000, "value": 0.25,
                       "points": 250 }], "position": 1 }],
            "as_of": 0
        })),
        "GET /v1/priority?job=44" => json(value!({ "jobs": [], "as_of": 0 })),
        "GET /v1/metrics" => json(value!({ "gar": 0.5, "gpus": 16, "waits": [{ "gpus": "8" }] })),
        "GET /v1/reservations" => json(value!({ "reservations": [], "as_of": 0 })),
        "POST /v1/reservations" => json(value!({ "reservations": [{
            "name": "exam", "nodes": ["g-001"], "from": 0, "to": 7_200_000, "by": "root"
        }], "as_of": 0 })),
        "POST /v1/reservations/exam/delete" => json(value!({ "jobs": [] })),
        _ => refusal(404, "there is none"),
    })
}

#[tokio::test]
async fn a_what_if_compares_the_changed_request_with_the_present_one() {
    let controller = controller();
    let words = ["explain", "42", "--what-if", "time=2h gpus=h100:4"];
    let done = controller.kantctl(&words).await;
    assert!(
        done.good().starts_with("With time=2h gpus=h100:4, job 42 would start now, on g-001.\n"),
        "{}",
        done.out
    );
    let change = "`kantctl update 42 --time=2h --gpus=h100:4` saves 01:00:00 of waiting.\n";
    assert!(done.out.ends_with(change), "{}", done.out);
    let patch = &controller.requests()[0].body["patch"];
    assert_eq!(patch["time"], 7_200_000);
    assert_eq!(patch["gpus"], value!({ "kinds": ["h100"], "amount": { "whole": 4 } }));

    let json = [&words[..], &["--json"]].concat();
    let answer: Value = serde_json::from_str(controller.kantctl(&json).await.good()).unwrap();
    assert_eq!(answer["starts_now"], value!(["g-001"]));
    controller
        .kantctl(&["explain", "42", "--what-if", "colour=red"])
        .await
        .refused(2, &["gpu-kind"]);
    controller
        .kantctl(&["explain", "7", "--what-if", "time=1"])
        .await
        .refused(1, &["there is none"]);
}

#[tokio::test]
async fn a_search_for_moves_is_requested_and_shown() {
    let controller = controller();
    let done = controller.kantctl(&["explain", "42", "--solve", "--trials", "5000"]).await;
    let text = "Job 42, if others moved:\n  it has room on g-001 if 1 job moved\n\
                What to do: ask an operator\n";
    assert_eq!(done.good(), text);
    assert_eq!(controller.requests()[0].body, value!({ "trials": 5000 }));
    let json = controller.kantctl(&["explain", "42", "--solve", "--json"]).await;
    let answer: Value = serde_json::from_str(json.good()).unwrap();
    assert_eq!(answer["moves"][0]["to"], value!(["g-002"]));
    controller.kantctl(&["explain", "43", "--solve"]).await.refused(1, &["another search"]);
    let both = ["explain", "42", "--solve", "--what-if", "time=1"];
    controller.kantctl(&both).await.refused(2, &["cannot be used with"]);
    controller.kantctl(&["explain", "42", "--trials", "5"]).await.refused(2, &["--solve"]);
    controller
        .kantctl(&["explain", "42", "--solve", "--trials", "0"])
        .await
        .refused(2, &["--trials"]);
}

#[tokio::test]
async fn priorities_and_metrics_are_shown() {
    let controller = controller();
    assert!(controller.kantctl(&["priority"]).await.good().starts_with("ID  USER  QUEUE"));
    let one = controller.kantctl(&["priority", "42", "43_1"]).await;
    assert!(one.good().contains("250 =     1000 x 0.250\n"), "{}", one.out);
    let none = controller.kantctl(&["priority", "44"]).await;
    assert!(none.good().is_empty() && none.err.contains("none of these waits"), "{}", none.err);
    let metrics = controller.kantctl(&["metrics"]).await;
    assert!(
        metrics.good().contains("GAR          50.0%  0 of 16 GPUs in use\n"),
        "{}",
        metrics.out
    );
    let raw = controller.kantctl(&["metrics", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(raw.good()).unwrap()["gar"], 0.5);
}

#[tokio::test]
async fn reservations_are_created_and_deleted() {
    let controller = controller();
    assert!(controller.kantctl(&["reservations"]).await.good().starts_with("NAME  STATE"));
    let words = ["reservations", "create", "exam", "--count", "1", "--for", "2h", "-u", "ada"];
    let done = controller.kantctl(&words).await;
    assert!(done.good().starts_with("Reserved exam: g-001 from 1970-01-01"), "{}", done.out);
    let body = &controller.requests()[1].body;
    assert_eq!((&body["node_count"], &body["users"]), (&value!(1), &value!(["ada"])));
    let span = body["to"].as_u64().unwrap() - body["from"].as_u64().unwrap();
    assert_eq!(span, 7_200_000);
    let done = controller.kantctl(&["reservations", "delete", "exam"]).await;
    assert_eq!(done.good(), "Deleted exam\n");
    controller.kantctl(&["reservations", "delete", "none"]).await.refused(1, &["there is none"]);
    controller.kantctl(&["reservations", "create", "exam"]).await.refused(2, &["--nodes", "--for"]);
}

#[tokio::test]
async fn scheduling_options_of_directives_are_sent() {
    let controller = controller();
    controller.file(
        "a.sh",
        "#!/bin/sh\n#SBATCH --qos=low --switches=1 -N 4 --segment=2\n#KANT -q high -n 4-8\n\
         #KANT --near=spine:required --gpus-per-task=h100|a100:1 --no-preemptible\ntrue\n",
    );
    let mut command = controller.command(&["submit", "--deadline=2199-01-01", "a.sh"]);
    command.env("SBATCH_RESERVATION", "exam");
    finish(command.spawn().unwrap()).await.good();
    let SubmitRequest { ask, .. } =
        serde_json::from_value(controller.requests()[0].body.clone()).unwrap();
    assert_eq!((ask.qos.unwrap().as_str(), ask.preemptible), ("high", Some(false)));
    assert_eq!(ask.reservation.unwrap().as_str(), "exam");
    assert!(ask.deadline.is_some());
    let request = ask.request;
    assert_eq!((request.tasks, request.tasks_min), (Tasks(8), Some(Tasks(4))));
    assert_eq!(request.near, Some(Nearness { level: Level::Spine, required: true }));
    assert_eq!(request.segment, Some(Nodes(2)));
    assert_eq!(request.gpu_kinds_or.len(), 1);
}

#[tokio::test]
async fn invalid_options_are_refused_before_any_request() {
    let controller = controller();
    for (words, said) in [
        (&["--gpus=1.5"][..], "share of a GPU"),
        (&["--gpus=2x0.5", "-N", "2"], "one node"),
        (&["--gpus=0G"], "memory share must be greater than zero"),
        (&["--gpus=0.5", "-n", "2"], "one task"),
        (&["--gpus-per-node=0.5"], "--gpus=0.5"),
        (&["--near=rack"], "nvlink-domain"),
        (&["--switches=2"], "--near=spine"),
        (&["-N", "3", "--segment=2"], "multiple of 2"),
        (&["--deadline=2001-01-01"], "in the future"),
        (&["--begin=2190-01-01", "--deadline=2189-01-01"], "--deadline"),
        (&["--ntasks=8-2"], "smaller one first"),
        (&["-N", "4", "--ntasks=2-8"], "as few as 2 tasks"),
    ] {
        let words = [&["submit"], words, &["--wrap", "true"]].concat();
        let done = controller.kantctl(&words).await;
        assert!(matches!(done.code, Some(1 | 2)), "{words:?}: {done:?}");
        assert!(done.err.contains(said), "{words:?}: {}", done.err);
    }
    assert_eq!(controller.request_lines(), Vec::<String>::new());
    let timed = controller.kantctl(&["submit", "--switches=1@60", "--wrap", "true"]).await;
    assert!(timed.good().contains("42") && timed.err.contains("prefers"), "{}", timed.err);
}
