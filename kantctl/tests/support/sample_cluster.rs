//! The sample controller's answers about the cluster: nodes, queues, reservations, controllers and
//! reports.

use crate::support::NOW;
use common::time::Span;
use serde_json::{Value, json as value};

const HOUR: u64 = 3_600_000;

pub fn status() -> Value {
    value!({
        "cluster": "lab", "version": "0", "leader": true, "applied": 77, "jobs_pending": 2,
        "jobs_running": 1, "jobs_done": 1, "nodes_connected": 3, "nodes": 4
    })
}

pub fn metrics() -> Value {
    value!({
        "as_of": NOW, "sor_from": NOW - Span::from_minutes(60), "gpus": 8, "gpus_used_milli": 4000,
        "gar": 0.5, "sor": 0.41, "gfr": 0.25, "gfr_of_used": 0.5, "fr_8": 1.0, "fgd": 0.125,
        "nodes": 3, "nodes_free": 1, "leaf_groups": 1,
        "kinds": [{ "kind": "h100", "gpus": 8, "used_milli": 4000 }],
        "waits": [{ "gpus": "8", "started": 3, "waiting": 1, "mean_seconds": 70,
                    "p50_seconds": 60, "p90_seconds": 100 }]
    })
}

fn gpu(index: u32) -> Value {
    value!({ "index": index, "uuid": format!("GPU-{index}"), "model": "NVIDIA H100 80GB HBM3",
             "kind": "h100", "memory": 85_899_345_920_u64, "minor": index,
             "pci_bus_id": format!("0000:{index:02x}:00.0"), "numa": 0, "cpus": "0-7" })
}

fn node(name: &str, status: &str, gpus: u32) -> Value {
    let cores: Vec<String> = (0..8).map(|cpu| cpu.to_string()).collect();
    let path = |a, b| if a == b { value!("Own") } else { value!({ "NvLink": 18 }) };
    let paths = |a| (0..gpus).map(move |b| path(a, b)).collect::<Vec<_>>();
    let memory: u64 = if gpus > 0 { 64 << 30 } else { 32 << 30 };
    value!({
        "name": name, "status": status, "contact": "Connected", "drain": null,
        "inventory": {
            "sockets": 1, "threads_per_core": 1, "cpus": "0-7", "cores": cores,
            "numa": [{ "id": 0, "cpus": "0-7", "memory": memory }],
            "memory": memory, "gpus": (0..gpus).map(gpu).collect::<Vec<_>>(),
            "gpu_matrix": { "paths": (0..gpus).map(paths).collect::<Vec<_>>() },
            "features": if gpus > 0 { vec!["ib", "h100"] } else { vec![] },
            "boot_id": "b", "gpu_driver": (gpus > 0).then_some("570.86.15")
        },
        "cpus_used": 0, "memory_used": 0, "gpus_used": 0, "jobs": [],
        "address": format!("10.0.0.{}", name[2..].parse::<u8>().unwrap()), "version": "0"
    })
}

/// One node partly used, one idle, one drained and one down.
pub fn nodes() -> Vec<Value> {
    let mut nodes = vec![
        node("g-001", "mixed", 4),
        node("g-002", "idle", 4),
        node("g-003", "drained", 4),
        node("c-001", "down", 0),
    ];
    (nodes[0]["cpus_used"], nodes[0]["gpus_used"]) = (4.into(), 2.into());
    (nodes[0]["memory_used"], nodes[0]["jobs"]) = (8_589_934_592_u64.into(), value!(["41"]));
    let since = NOW - Span::from_minutes(90);
    nodes[2]["drain"] = value!({ "reason": "GPU 3: XID 79: fallen off the bus", "by": 0,
                                 "since": since, "cause": { "health": "gpu_xid" } });
    nodes[2]["findings"] = value!([{ "check": "gpu_xid", "response": "drain",
                                     "says": "GPU 3: XID 79: fallen off the bus" }]);
    nodes[3]["contact"] = value!({ "Lost": { "since": since } });
    nodes
}

pub fn queues() -> Value {
    let queue = |name: &str, priority: i32| {
        value!({ "name": name, "default": name == "main", "priority": priority, "nodes": [],
                 "time_limit_default": HOUR, "time_limit_max": 24 * HOUR,
                 "memory_per_cpu": 1_073_741_824 })
    };
    let (main, mut debug, mut vision) = (queue("main", 1), queue("debug", 5), queue("vision", 1));
    let research = queue("research", 1);
    debug["nodes"] = value!(["g-003"]);
    (vision["parent"], vision["limits_per_user"]) = (value!("research"), value!({ "gpus": 16 }));
    value!({ "queues": [debug, main, research, vision], "held": { "main": {
        "running": 1, "waiting": 1, "gpus_milli": { "h100": 4000 }, "cpus": 8,
        "memory": 17_179_869_184_u64
    } } })
}

pub fn shares() -> Value {
    let lender = |queue: &str, amount: u64| {
        let queue = (!queue.is_empty()).then_some(queue);
        value!({ "queue": queue, "amount": amount })
    };
    let of = |[quota, held, waiting, share, lent]: [u64; 5], from: Vec<Value>| {
        let borrowed = held.saturating_sub(quota);
        value!({ "what": "gpus", "gpu_kind": null, "quota": quota, "at_most": null, "held": held,
                 "firm": 0, "waiting": waiting, "share": share, "borrowed": borrowed,
                 "from": from, "lent": lent, "used_ppm": 10 * held })
    };
    let queue = |name: &str, depth: u32, weight: u32, of: Value| {
        let (queue, priority) = (name, 0);
        value!({ "queue": queue, "depth": depth, "priority": priority, "weight": weight,
                 "of": [of] })
    };
    let from = vec![lender("", 2000), lender("ops", 2500)];
    let lab = of([8_000, 12_500, 8_000, 12_000, 0], from.clone());
    let vision = of([4_000, 12_500, 0, 8_000, 0], [vec![lender("speech", 4000)], from].concat());
    let speech = of([4_000, 0, 8_000, 4_000, 4_000], Vec::new());
    let ops = of([6_000, 3_500, 500, 4_000, 2_500], Vec::new());
    value!({ "fair_sharing": true, "as_of": NOW, "queues": [
        queue("lab", 0, 3, lab), queue("vision", 1, 1, vision), queue("speech", 1, 1, speech),
        queue("ops", 0, 1, ops)
    ] })
}

pub fn accounts() -> Value {
    value!({ "as_of": NOW, "accounts": [
        { "name": "vision", "shares": 3, "limits": { "gpus": 64, "jobs": 10 } },
        { "name": "audio", "access": { "users": [0], "groups": [], "accounts": [] } },
    ], "qos": [{ "name": "high", "priority": 100, "limits_per_user": { "gpus": 16 } }] })
}

pub fn booking() -> Value {
    value!({ "name": "exam", "nodes": ["g-002"], "from": NOW - Span::from_minutes(30),
             "to": NOW + Span::from_minutes(90), "users": ["ada", "bob"], "by": "root",
             "comment": "finals", "jobs": ["41"] })
}

/// A service during an update: one replica is ready, one fails its probe, one waits.
pub fn service() -> Value {
    let replica =
        |ordinal: u32, job: &str, phase: &str, health: Option<&str>, why: Option<&str>| {
            let ports: Vec<Value> = health
                .iter()
                .map(|_| value!({ "name": "http", "number": 20_017 + ordinal }))
                .collect();
            value!({ "ordinal": ordinal, "revision": 3 - ordinal % 2, "job": job, "phase": phase,
                 "health": health, "ready_since": null, "node": "g-001", "host": "10.0.2.1",
                 "ports": ports, "why": why })
        };
    let replicas = [
        replica(0, "51", "running", Some("ready"), None),
        replica(1, "48", "running", Some("not_ready"), Some("GET /health answered 503")),
        replica(2, "52", "pending", None, Some("all GPUs of queue main are in use")),
    ];
    let event = |minutes: u64, text: &str, kind: Value| {
        let at = NOW - Span::from_minutes(minutes);
        value!({ "at": at, "kind": kind, "text": text, "by": "ada" })
    };
    let role = value!({ "name": "worker", "bounds": { "min": 1, "max": 4 }, "wanted": 3, "ready": 1,
                        "replicas": replicas });
    value!({ "name": "chat", "user": "ada", "state": "updating", "revision": 3,
             "healthy_revision": 2, "revisions": [1, 2, 3], "port": 8000, "created_at": NOW,
             "roles": [role],
             "events": [
                 event(20, "paused", value!({ "paused": { "by": 1000 } })),
                 value!({ "at": NOW - Span::from_minutes(5), "text": "replica worker.1 is held",
                          "kind": { "replica_held": { "role": "worker", "ordinal": 1,
                                                      "failures": 5, "job": 41 } } }),
                 event(2, "resumed", value!({ "resumed": { "by": 1000 } })),
             ] })
}

pub fn service_explanation() -> Value {
    let outlook = value!({ "more": "above 16.8 requests in flight, as a mean over 60 s",
                           "fewer": "with 11.2 requests in flight or less, over 60 s" });
    let role = value!({
        "name": "worker", "bounds": { "min": 1, "max": 4 }, "wanted": 3, "ready": 1,
        "set": [NOW, "by its policy: 14 requests in flight over 60 s"],
        "decision": "13 requests in flight over 60 s",
        "measured": "13 requests in flight, 2.5 requests per second",
        "outlook": outlook,
        "missing": ["worker.1: job 48 is not ready: GET /health answered 503",
                    "worker.2: job 52 waits: it is next (`kantctl explain 52`)"],
    });
    value!({ "name": "chat", "state": "updating", "revision": 3, "roles": [role] })
}

pub fn controllers() -> Value {
    let one = |id: u32, role: &str| {
        value!({ "id": id, "name": format!("ctl{id}"), "address": format!("10.0.1.{id}:7600"),
                 "role": role, "holds": 77 - id, "behind": id - 1, "heard": id < 3 })
    };
    value!({ "cluster": "0000000000000007", "answering": 1,
             "leader": 1, "term": 4, "committed": 76,
             "changing": false,
             "controllers": [one(1, "leader"), one(2, "voter"), one(3, "learner")] })
}

pub fn happened() -> String {
    let line = |place: u32, event: &str, job: Option<&str>, text: &str| {
        let line = value!({
            "sequence": format!("5120-{place}"), "at": NOW, "event": event, "job": job,
            "text": text, "detail": null
        });
        format!("{line}\n")
    };
    [
        line(0, "Watching", None, "from here on"),
        line(1, "JobRunning", Some("41"), "job 41 runs on g-[001-002]"),
        line(2, "NodeDrained", None, "node g-003 is drained by root: bad fan"),
    ]
    .concat()
}

pub fn report(line: &str) -> Value {
    let by = line.split("by=").nth(1).unwrap_or_default().split('&').next().unwrap_or_default();
    let row = |user: &str, account: &str, cpus: u32, hours: u64| {
        let mut row = value!({ "runs": 2, "gpu_milliseconds": hours * HOUR,
                               "cpu_milliseconds": 4 * hours * HOUR });
        for word in by.split("%2C") {
            match word {
                "user" => (row["user"], row["uid"]) = (user.into(), 4_000_000.into()),
                "account" => row["account"] = account.into(),
                "cpus" => row["cpus"] = cpus.into(),
                "gpus" => row["gpus"] = 8.into(),
                _ => {}
            }
        }
        row
    };
    let mut rows = vec![row("ada", "vision", 64, 30), row("bob", "vision", 512, 10)];
    rows.push(row("ada", "", 4, 2));
    let stretch = |hours: u64| {
        let (gpus, cpus) = (8 * hours * HOUR, 64 * hours * HOUR);
        value!({ "gpu_milliseconds": gpus, "cpu_milliseconds": cpus })
    };
    let node = value!({ "name": "g-001", "gpus": 8, "cpus": 64, "up": stretch(20),
                        "drained": stretch(3), "down": stretch(1) });
    value!({ "since": NOW - Span::from_minutes(24 * 60), "until": NOW, "rows": rows,
             "nodes": [node] })
}

/// Time limits and run times of two users.
pub fn estimates() -> Value {
    let row = |user: &str, runs: u64, limit: u64, run: u64| {
        value!({ "user": user, "uid": 4_000_000, "account": "vision", "runs": runs, "timeouts": 1,
                 "limit_milliseconds": runs * limit * HOUR, "run_milliseconds": runs * run * HOUR,
                 "used_percent_p50": 100 * run / limit, "used_percent_p95": 100,
                 "gpu_milliseconds_unused": 8 * runs * (limit - run) * HOUR,
                 "cpu_milliseconds_unused": 64 * runs * (limit - run) * HOUR })
    };
    value!({ "since": NOW - Span::from_minutes(24 * 60), "until": NOW,
             "rows": [row("ada", 40, 24, 2), row("bob", 12, 4, 3)] })
}
