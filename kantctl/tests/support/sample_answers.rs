//! The answers of a controller of a small sample cluster, for golden tests. It has no state:
//! requests change nothing.

use super::sample_cluster::{
    accounts, booking, controllers, estimates, happened, metrics, nodes, queues, report, service,
    service_explanation, shares, status,
};
use crate::support::{NOW, ReceivedRequest, TestController, job, jobs, json, output, refused_as};
use axum::response::{IntoResponse, Response};
use common::id::{AccountName, Gid, Uid};
use common::job::{Outcome, Phase, Usage};
use common::reason::WaitReason;
use common::resource::{Allocation, GpuRequest, Share};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::{JobView, TimelineEntry};
use serde_json::{Value, json as value};

const HOUR: u64 = 3_600_000;

const WRITTEN: &[u8] = b"epoch 1: loss 2.31\nepoch 2: loss 1.98\n";

/// Job 41 runs on two nodes, 42 waits for GPUs, 43 is an array, 40 has failed.
pub fn controller() -> TestController {
    TestController::answering(|request, _| answer(request))
}

/// The sample controller's answer to a request.
pub fn answer(request: &ReceivedRequest) -> Response {
    let what = request.line.split('?').next().unwrap_or_default();
    match what.split_once(' ') {
        Some(("GET", path)) => get(path, &request.line),
        Some(("POST", path)) => post(path, request),
        _ => unknown(),
    }
}

fn unknown() -> Response {
    refused_as("unknown", 404, "no such path")
}

fn get(path: &str, line: &str) -> Response {
    let of_job = path.strip_prefix("/v1/jobs/").unwrap_or_default();
    let (key, of_job) = of_job.split_once('/').unwrap_or((of_job, ""));
    match (path, of_job) {
        ("/v1/status", _) => json(status()),
        ("/v1/metrics", _) => json(metrics()),
        ("/v1/jobs", _) => json(jobs(listed(line.contains("all=true")))),
        (_, "output") if line.contains("offset=0") => output(WRITTEN, true),
        (_, "output") => output(b"", true),
        (_, "explain") if key == "42" => json(explanation()),
        (_, "steps") => json(value!({ "steps": [step(0, None), step(1, Some(0))] })),
        ("/v1/history", _) => json(history(line.contains("steps=true"))),
        ("/v1/report", _) => json(report(line)),
        ("/v1/report/estimates", _) => json(estimates()),
        ("/v1/share", _) => json(shares()),
        ("/v1/priority", _) => json(priorities()),
        ("/v1/idle-gpus", _) => json(idle_gpus()),
        ("/v1/accounts", _) => json(accounts()),
        ("/v1/nodes", _) => json(value!({ "nodes": nodes(), "as_of": NOW })),
        ("/v1/nodes/g-001", _) => json(value!({ "nodes": [nodes()[0]], "as_of": NOW })),
        ("/v1/nodes/g-009", _) => no_node(),
        ("/v1/queues", _) => json(queues()),
        ("/v1/reservations", _) => json(value!({ "reservations": [booking()], "as_of": NOW })),
        ("/v1/services" | "/v1/services/chat", _) => {
            json(value!({ "services": [service()], "as_of": NOW }))
        }
        ("/v1/services/chat/explain", _) => json(service_explanation()),
        ("/v1/services/chat/endpoints", _) => json(value!([
            { "targets": ["10.0.2.1:20017"], "labels": { "kant_service": "chat" } }
        ])),
        ("/v1/controllers", _) => json(controllers()),
        ("/v1/watch", _) => happened().into_response(),
        ("/v1/events", _) => server_sent(happened().lines()),
        (_, "output/events") => {
            let part = value!({ "offset": 38, "text": "epoch 1: loss 2.31\n", "ended": false });
            server_sent([part.to_string().as_str()].into_iter())
        }
        ("/v1/accounting/jobs", _) => ([("x-kant-jobs", "1")], "job_id\n40\n").into_response(),
        ("/v1/accounting/nodes", _) => ([("x-kant-nodes", "1")], "name\ng-001\n").into_response(),
        ("/v1/tokens", _) => json(value!({ "tokens": [token()], "as_of": NOW })),
        ("/v1/audit", _) => json(audit(line)),
        ("/v1/enrolments", _) => json(enrolments()),
        ("/v1/invitations", _) => json(invitations()),
        ("/v1/cluster-key", _) => json(cluster_key()),
        ("/v1/upgrade", _) => json(upgrade()),
        ("/v1/backup", _) => output(b"a backup", true),
        _ => match key {
            "40" => json(jobs(vec![failed()])),
            "41" => json(jobs(vec![running()])),
            "42" => json(jobs(vec![waiting()])),
            "43" => json(jobs(tasks())),
            "" => unknown(),
            other => no_job(other),
        },
    }
}

fn post(path: &str, request: &ReceivedRequest) -> Response {
    let mut words = path.trim_start_matches("/v1/").split('/');
    match (words.next(), words.next(), words.next()) {
        (Some("jobs"), None, _) => submitted(&request.body),
        (Some("jobs"), Some("trial"), None) => trial(&request.body),
        (Some("jobs"), Some("42"), Some("what-if")) => json(value!({
            "key": "42", "starts_now": ["g-002"], "expected_at": null, "reason": null,
            "compared_with": { "expected_at": NOW + Span::from_minutes(60) }, "as_of": NOW
        })),
        (Some("jobs"), Some("42"), Some("solve")) => json(value!({
            "key": "42", "answer": "gave_up", "by": "trials", "trials": 1000, "movable": 1,
            "lines": ["no moves were found in 1000 trials"], "as_of": NOW
        })),
        (Some("jobs"), Some("41"), Some("attend")) => json(value!({ "phase": "running" })),
        (Some("jobs"), Some("41"), Some("tasks")) => {
            json(value!({ "node": "g-001", "attempt": 1 }))
        }
        (Some("jobs"), Some("41"), Some("steps")) => json(value!("done")),
        (Some("jobs"), Some("40"), Some("cancel" | "hold")) => {
            refused_as("already_done", 409, "job 40 has ended: it is FAILED")
        }
        (Some("jobs"), Some("44"), _) => {
            refused_as("not_owner", 403, "job 44 belongs to bob, and you are ada")
        }
        (Some("jobs"), Some("41"), Some("checkpoint")) => {
            json(value!({ "jobs": ["41"], "checkpoint_at": NOW }))
        }
        (Some("jobs"), Some(key @ ("40" | "41" | "42" | "43")), _) => {
            json(value!({ "jobs": [key] }))
        }
        (Some("jobs"), Some(key), _) => no_job(key),
        (Some("nodes"), Some("g-009"), _) => no_node(),
        (Some("nodes"), Some(name), _) => json(value!({ "nodes": [name] })),
        (Some("reservations"), None, _) | (Some("reservations"), _, Some("update")) => {
            json(value!({ "reservations": [booking()], "as_of": NOW }))
        }
        (Some("reservations"), ..) => json(value!({ "jobs": [] })),
        (Some("services"), None, _) if request.body["dry_run"] == true => json(value!({
            "name": "chat", "revision": 4, "plan": ["role worker: its replicas would stay"]
        })),
        (Some("services"), None, _) => json(value!({ "name": "chat", "revision": 3 })),
        (Some("services"), ..) => json(value!({ "services": [service()], "as_of": NOW })),
        (Some("reload"), ..) => json(value!({
            "file": "/etc/kant/kantctld.toml",
            "changed": ["queue.train.placement: \"ebinpack\" -> \"spread\""],
            "restart": ["listen"], "warnings": ["queue debug has no nodes"]
        })),
        (Some("controllers"), None, _) | (Some("cluster-key"), Some("offer"), _) => unknown(),
        (Some("controllers" | "enrolments"), Some("invite"), _) => json(value!({
            "invitation": format!("kant-invitation-{}-{}", "0f".repeat(20), "9d".repeat(16)),
            "until": NOW + Span::from_minutes(60), "address": "ctl1:7600"
        })),
        (Some("controllers"), ..) => json(controllers()),
        (Some("invitations"), ..) => json(value!({ "invitations": [] })),
        (Some("cluster-key"), ..) => json(settled_key()),
        (Some("enrolments"), Some("g-017"), _) => json(enrolments()),
        (Some("enrolments"), ..) => no_node(),
        (Some("tokens"), None, _) => {
            let secret = format!("kant-token-{}", "0f".repeat(32));
            json(value!({ "secret": secret, "token": token() }))
        }
        (Some("tokens"), Some("3f9a0c51e7d2"), _) => {
            json(value!({ "tokens": [token()], "as_of": NOW }))
        }
        (Some("tokens"), ..) => {
            refused_as("unknown_token", 404, "you have no token 000000000000, or it has expired")
        }
        _ => unknown(),
    }
}

/// Documents as server-sent events.
fn server_sent<'a>(documents: impl Iterator<Item = &'a str>) -> Response {
    let text: String = documents.map(|document| format!("data: {document}\n\n")).collect();
    ([("content-type", "text/event-stream")], text).into_response()
}

/// Which waits for hosts.
fn cluster_key() -> Value {
    let rotation = value!({ "step": "trust", "new": "1e".repeat(16), "by": 0, "begun_at": 0 });
    value!({
        "generation": 4, "authority": "9d".repeat(16), "rotation": rotation,
        "controllers_behind": [2], "nodes_behind": ["g1", "g2"],
    })
}

/// An upgrade with one controller done and another one down.
fn upgrade() -> Value {
    let new = value!({ "oldest": 1, "newest": 2 });
    let old = value!({ "oldest": 1, "newest": 1 });
    value!({
        "level": 1,
        "controllers": [
            { "id": 1, "name": "ctl1", "leads": true, "release": "0.1.0", "levels": old,
              "behind": 0 },
            { "id": 2, "name": "ctl2", "leads": false, "release": "0.2.0", "levels": new,
              "behind": 0 },
            { "id": 3, "name": "ctl3", "leads": false, "release": "0.1.0" },
        ],
        "nodes": [{ "release": "0.1.0", "nodes": ["g-001", "g-002", "g-003"] }],
        "next": { "step": "wait_for_controller", "controller": 3 },
    })
}

fn settled_key() -> Value {
    value!({ "generation": 3, "authority": "9d".repeat(16) })
}

fn invitations() -> Value {
    let until = NOW + Span::from_minutes(60);
    value!({ "invitations": [
        { "id": "3f9a0c51e7d2", "by": 0, "until": until, "controller": false,
          "nodes": ["g-001", "g-002", "g-007"] },
        { "id": "8812aa00ce45", "by": 4711, "until": until, "controller": true },
        { "id": "c0ffee00c0ff", "by": 0, "until": until, "controller": false },
    ] })
}

fn enrolments() -> Value {
    value!({ "enrolments": [
        { "name": "g-016", "number": 1, "by": 0, "at": NOW },
        { "name": "g-017", "number": 2, "by": 0, "at": NOW,
          "revoked_at": NOW + Span::from_minutes(5), "revoked_by": 4711 },
    ] })
}

fn audit(query: &str) -> Value {
    let checked = query.contains("verify").then(|| value!({ "lines": 7, "breaks": [4] }));
    value!({
        "file": "/var/lib/kantctld/audit.log",
        "lines": [
            { "at": "2026-11-24T09:12:45.031Z", "uid": 1000, "user": "ann", "via": "node g-012",
              "verb": "jobs/submit", "target": "42", "result": "done" },
            { "at": "2026-11-24T09:13:02.870Z", "uid": 1001, "via": "socket",
              "verb": "jobs/cancel", "target": "42", "result": "refused", "code": "not_yours" },
        ],
        "checked": checked,
    })
}

fn token() -> Value {
    value!({
        "id": "3f9a0c51e7d2", "name": "ci", "uid": 4711, "scopes": ["jobs:read", "jobs:submit"],
        "created": NOW, "until": NOW + Span::from_minutes(30), "via": "login1", "last_use": NOW
    })
}

fn no_job(key: &str) -> Response {
    refused_as("unknown_job", 404, &format!("there is no job {key}"))
}

fn no_node() -> Response {
    refused_as("unknown_node", 404, "there is no node g-009")
}

/// A job that requests GPUs waits for them.
fn trial(request: &Value) -> Response {
    let ask = &request["ask"];
    if ask["queue"] == "vip" || ask["request"]["gpus"]["total"].as_u64() > Some(64) {
        return submitted(request);
    }
    let outlook = match ask["request"]["gpus"].is_null() {
        true => value!({ "starts_now": ["g-001", "g-002"] }),
        false => value!({
            "expected_at": NOW + Span::from_minutes(60),
            "expected_on": ["g-003"],
            "reason": {
                "code": "Resources", "sentence": "it waits for 2 GPUs", "detail": WaitReason::Held
            }
        }),
    };
    let mut view = value!({ "job": 45, "tasks": 0, "queue": "main", "cpus": 4, "as_of": NOW });
    view.as_object_mut().unwrap().extend(outlook.as_object().unwrap().clone());
    json(view)
}

fn submitted(request: &Value) -> Response {
    let ask = &request["ask"];
    if ask["queue"] == "vip" {
        return refused_as("no_access", 403, "queue vip does not take jobs of ada");
    }
    if ask["request"]["gpus"]["total"].as_u64() > Some(64) {
        let text = "no node of queue main ever has what it asks: 128 GPUs; the most is 8 on g-001";
        return refused_as("never_fits", 422, text);
    }
    json(value!({ "job": 45, "tasks": if ask["array"].is_null() { 0 } else { 3 } }))
}

fn share(node: &str) -> Share {
    Share { memory: Bytes::from_mib(8192), ..testkit::share(node, 0, 4, &[0, 1]) }
}

/// A job of ada's, of a group that no host knows.
fn of_ada(key: &str, phase: Phase, outcome: Option<Outcome>) -> JobView {
    let mut job = job(key, phase, outcome);
    job.owner.gid = Gid(4_000_000);
    job
}

fn running() -> JobView {
    let mut job = of_ada("41", Phase::Running, None);
    job.ask.name = "llama-pretrain".to_owned();
    job.ask.command = Some("/home/ada/pretrain.sh --lr 0.1".to_owned());
    job.ask.account = Some(AccountName::new("vision").unwrap());
    job.ask.time_limit = Some(Span::from_minutes(120));
    job.started_at = Some(NOW - Span::from_seconds(3661));
    job.submitted_at = NOW - Span::from_seconds(4000);
    job.allocation = Some(Allocation::new(vec![share("g-001"), share("g-002")]).unwrap());
    (job.cpus, job.gpus, job.memory) = (Cpus(8), Gpus(4), Bytes::from_mib(16_384));
    let line = |at, text: &str| TimelineEntry { at, text: text.to_owned() };
    job.timeline = vec![
        line(job.submitted_at, "ada submitted job 41 to queue main"),
        line(NOW - Span::from_seconds(3661), "job 41 started on g-[001-002], attempt 1"),
    ];
    job
}

fn waiting() -> JobView {
    let mut waiting = of_ada("42", Phase::Pending, None);
    (waiting.gpus, waiting.ask.name) = (Gpus(8), "a, \"quoted\" name".to_owned());
    waiting.position = Some(1);
    waiting.ask.request.gpus = Some(GpuRequest::PerNode(Gpus(8)));
    waiting
}

fn failed() -> JobView {
    let mut job = of_ada("40", Phase::Done, Some(Outcome::Failed));
    job.allocation = running().allocation;
    (job.cpus, job.gpus) = (Cpus(8), Gpus(4));
    job.started_at = Some(NOW - Span::from_seconds(7200));
    job.ended_at = Some(NOW - Span::from_seconds(3600));
    let (cpu, memory_peak) = (Span::from_seconds(4), Bytes::from_mib(300));
    job.usage = Some(Usage { cpu, memory_peak, ..Usage::default() });
    job.attempt = 1;
    job.message = Some("it said \"no\", and left".to_owned());
    job
}

fn tasks() -> Vec<JobView> {
    let mut done = of_ada("43_0", Phase::Done, Some(Outcome::Cancelled));
    done.cancelled_by = Some(Uid(0));
    let mut tasks =
        vec![of_ada("43_1", Phase::Running, None), of_ada("43_2", Phase::Pending, None), done];
    tasks[0].allocation = Some(Allocation::new(vec![share("g-002")]).unwrap());
    tasks.iter_mut().for_each(|task| task.ask.name = "sweep".to_owned());
    tasks
}

fn listed(all: bool) -> Vec<JobView> {
    let mut listed = vec![running(), waiting()];
    if all {
        listed.push(failed());
    }
    listed.iter_mut().for_each(|job| job.timeline.clear());
    listed
}

fn idle_gpus() -> Value {
    let job = JobView { timeline: Vec::new(), ..running() };
    let idle_since = NOW - Span::from_minutes(42);
    let idle = value!({ "job": job, "idle_gpus": 3, "idle_since": idle_since,
                        "idle_nodes": ["g-001", "g-002"] });
    value!({ "jobs": [idle], "as_of": NOW })
}

fn step(number: u32, exit: Option<u8>) -> Value {
    let ended = exit.map(|_| NOW - Span::from_seconds(60));
    value!({ "number": number, "name": "train", "exclusive": false,
             "shares": [{ "node": "g-001", "tasks": 2, "cpus": "0-3", "gpus": null },
                        { "node": "g-002", "tasks": 2, "cpus": "0-3", "gpus": [1] }],
             "opened_at": NOW - Span::from_seconds(600), "ended_at": ended,
             "exit": exit.map(|code| value!({ "code": code, "signal": null })) })
}

fn explanation() -> Value {
    value!({
        "job": waiting(),
        "lines": ["It waits for 8 GPUs on one node; g-002 has the most free: 6.",
                  "2 jobs are ahead of it in queue main."],
        "advice": "ask for fewer GPUs on a node, or wait for job 41",
        "expected_at": NOW + Span::from_minutes(60)
    })
}

fn history(with_steps: bool) -> Value {
    let mut run = value!({
        "job": failed(), "run": 1, "allocated_at": NOW - Span::from_seconds(7200),
        "gpu_milliseconds": 4 * HOUR, "cpu_milliseconds": 8 * HOUR, "requeued": false
    });
    let step = |number: u32, name: &str, exit: Value, cut_off: bool| {
        value!({ "number": number, "name": name, "nodes": "g-[001-002]", "node_count": 2,
                 "tasks": 4, "cpus": 8, "gpus": (number > 0).then_some(2), "cut_off": cut_off,
                 "started_at": NOW - Span::from_seconds(7000),
                 "ended_at": NOW - Span::from_seconds(3600), "exit": exit })
    };
    if with_steps {
        run["steps"] = value!([
            step(0, "prepare", value!({ "code": 0, "signal": null }), false),
            step(1, "train", value!({ "code": 0, "signal": 9 }), true),
            step(2, "a-step-with-a-very-long-name", value!({ "code": 3, "signal": null }), false),
        ]);
    }
    value!({ "as_of": NOW, "next": null, "runs": [run] })
}

fn priorities() -> Value {
    let factors = [
        ("age", 1000, 0.5, 500),
        ("size", 100, 0.25, 25),
        ("queue", 1000, 0.0, 0),
        ("qos", 10_000, 1.0, 10_000),
        ("fair-share", 2000, 0.75, 1500),
        ("nice", -1, 10.0, -10),
    ];
    let shown = factors.map(|(name, weight, part, points)| {
        value!({ "name": name, "weight": weight, "value": part, "points": points })
    });
    value!({ "as_of": NOW, "jobs": [{
        "key": "42", "user": "ada", "queue": "main", "order": "multifactor", "total": 12_015,
        "position": 1, "factors": shown.to_vec()
    }] })
}
