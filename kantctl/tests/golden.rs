//! What verbs and Slurm's names print, table and JSON, against files kept in `golden/`: one file a
//! command, with the command above its output. UPDATE_GOLDEN writes them anew; look at the diff.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use common::cpuset::CpuSet;
use common::id::{AccountName, GpuIndex, NodeName};
use common::job::{Outcome, Phase, Usage};
use common::resource::{Allocation, Share};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus, Tasks};
use common::wire::api::JobView;
use house::{House, NOW, finish, job, jobs, json, refused_as};
use serde_json::{Value, json as value};
use std::fmt::Write;
use std::path::Path;

/// The commands, each with the name of its file.
const COMMANDS: &[(&str, &[&str])] = &[
    ("queue", &["kantctl", "queue"]),
    ("queue-columns", &["kantctl", "queue", "-o", "id,user,gpus,waited,reason", "--sort=-gpus"]),
    ("queue-csv", &["kantctl", "queue", "--csv", "--all"]),
    ("history", &["kantctl", "history", "--since", "2020-01-01"]),
    ("history-csv", &["kantctl", "history", "40", "--csv", "-o", "id,run,state,gpu_hours,exit"]),
    ("report", &["kantctl", "report", "--since", "2020-01-01"]),
    ("report-csv", &["kantctl", "report", "--since", "2020-01-01", "--csv"]),
    ("priority", &["kantctl", "priority"]),
    ("squeue-json", &["squeue", "--json"]),
    ("sinfo-json", &["sinfo", "--json"]),
    ("sacct-json", &["sacct", "--json", "-j", "40"]),
    ("scontrol-job-json", &["scontrol", "show", "job", "41", "--json"]),
    ("sprio", &["sprio", "-l"]),
    ("sprio-weights", &["sprio", "-w"]),
    ("sshare", &["sshare", "-a", "-l"]),
    ("sreport-cluster", &["sreport", "cluster", "utilization", "-t", "hours"]),
    ("sreport-top", &["sreport", "user", "top", "-T", "gres/gpu", "-t", "hours"]),
    ("sreport-accounts", &["sreport", "-P", "cluster", "AccountUtilizationByUser"]),
    ("sreport-sizes", &["sreport", "job", "SizesByAccount", "-t", "percent"]),
    ("sdiag", &["sdiag"]),
    ("sacctmgr-accounts", &["sacctmgr", "show", "association", "-P"]),
    ("sacctmgr-qos", &["sacctmgr", "list", "qos", "format=Name,Priority%5,MaxTRESPU"]),
];

fn running() -> JobView {
    let share = |node: &str| Share {
        gpu_milli: None,
        node: NodeName::new(node).unwrap(),
        tasks: Tasks(1),
        cpus: CpuSet::first(4),
        memory: Bytes::from_mib(8192),
        gpus: vec![GpuIndex(0), GpuIndex(1)],
    };
    let mut job = job("41", Phase::Running, None);
    job.ask.name = "llama-pretrain".to_owned();
    job.ask.account = Some(AccountName::new("vision").unwrap());
    job.ask.time_limit = Some(Span::from_minutes(120));
    job.started_at = Some(NOW - Span::from_seconds(3661));
    job.submitted_at = NOW - Span::from_seconds(4000);
    job.allocation = Some(Allocation::new(vec![share("g-001"), share("g-002")]).unwrap());
    (job.cpus, job.gpus, job.memory) = (Cpus(8), Gpus(4), Bytes::from_mib(16_384));
    job
}

fn failed() -> JobView {
    let mut job = job("40", Phase::Done, Some(Outcome::Failed));
    job.allocation = running().allocation;
    job.gpus = Gpus(4);
    job.started_at = Some(NOW - Span::from_seconds(7200));
    job.ended_at = Some(NOW - Span::from_seconds(3600));
    let (cpu, memory_peak) = (Span::from_seconds(4), Bytes::from_mib(300));
    job.usage = Some(Usage { cpu, memory_peak, ..Usage::default() });
    job.message = Some("it said \"no\", and left".to_owned());
    job
}

fn report(asked: &str) -> Value {
    const HOUR: u64 = 3_600_000;
    let by = asked.split("by=").nth(1).unwrap_or_default().split('&').next().unwrap_or_default();
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
        value!({ "gpu_milliseconds": 8 * hours * HOUR,
                                         "cpu_milliseconds": 64 * hours * HOUR })
    };
    let node = value!({ "name": "g-001", "gpus": 8, "cpus": 64, "up": stretch(20),
                        "drained": stretch(3), "down": stretch(1) });
    value!({ "since": NOW - Span::from_minutes(24 * 60), "until": NOW, "rows": rows,
             "nodes": [node] })
}

fn factors() -> Vec<Value> {
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
    shown.to_vec()
}

fn cluster() -> House {
    let asked_for = |what: &str| what.split(['?', ' ']).nth(1).unwrap_or_default().to_owned();
    House::answering(move |asked, _| match asked_for(&asked.what).as_str() {
        "/v1/status" => json(value!({
            "cluster": "lab", "version": "0", "leader": true, "applied": 77, "jobs_pending": 2,
            "jobs_running": 1, "jobs_done": 1, "nodes_connected": 1, "nodes": 2
        })),
        "/v1/metrics" => json(value!({
            "as_of": NOW, "sor_from": NOW - Span::from_minutes(60), "gpus": 8,
            "waits": [{ "gpus": "8", "started": 3, "waiting": 1, "mean_seconds": 70,
                        "p50_seconds": 60, "p90_seconds": 100 }]
        })),
        "/v1/jobs" => {
            let mut waiting = job("42", Phase::Pending, None);
            (waiting.gpus, waiting.ask.name) = (Gpus(8), "a, \"quoted\" name".to_owned());
            let mut all = vec![running(), waiting];
            if asked.what.contains("all=true") {
                all.push(failed());
            }
            json(jobs(all))
        }
        "/v1/jobs/41" => json(jobs(vec![running()])),
        "/v1/history" => json(value!({ "as_of": NOW, "next": null, "runs": [{
            "job": failed(), "run": 2, "allocated_at": NOW - Span::from_seconds(7200),
            "gpu_milliseconds": 14_400_000, "cpu_milliseconds": 28_800_000, "requeued": false
        }] })),
        "/v1/report" => json(report(&asked.what)),
        "/v1/priority" => json(value!({ "as_of": NOW, "jobs": [{
            "key": "42", "user": "ada", "queue": "main", "order": "multifactor", "total": 12_015,
            "position": 1, "factors": factors()
        }] })),
        "/v1/accounts" => json(value!({ "as_of": NOW, "accounts": [
            { "name": "vision", "shares": 3, "limits": { "gpus": 64, "jobs": 10 } },
            { "name": "audio", "access": { "users": [0], "groups": [], "accounts": [] } },
        ], "qos": [{ "name": "high", "priority": 100, "limits_per_user": { "gpus": 16 } }] })),
        "/v1/nodes" => json(value!({ "nodes": [], "as_of": NOW })),
        "/v1/queues" => json(value!({ "queues": [] })),
        _ => refused_as("unknown", 404, "no such path"),
    })
}

#[tokio::test]
async fn every_command_prints_what_is_kept() {
    let house = cluster();
    let bin = house.dir.path().join("bin");
    house.kantctl(&["install-slurm-names", bin.to_str().unwrap()]).await.good();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut wrong = String::new();
    for (name, words) in COMMANDS {
        let own = house.command(&words[1..]);
        let mut command = match words[0] {
            "kantctl" => tokio::process::Command::new(env!("CARGO_BIN_EXE_kantctl")),
            slurm => tokio::process::Command::new(bin.join(slurm)),
        };
        command.args(&words[1..]).env_clear().current_dir(house.dir.path());
        for (name, text) in own.as_std().get_envs() {
            command.env(name, text.unwrap());
        }
        command.env("TZ", "UTC").stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let done = finish(command.spawn().unwrap()).await;
        let out = done.out.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let told = format!("$ {}\n{out}{}", words.join(" "), done.err);
        let file = kept.join(format!("{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &told).unwrap();
        }
        if done.code != Some(0) || std::fs::read_to_string(&file).unwrap_or_default() != told {
            writeln!(wrong, "{}: {:?}\n{told}", file.display(), done.code).unwrap();
        }
    }
    assert!(wrong.is_empty(), "what is printed is not what is kept; UPDATE_GOLDEN=1:\n{wrong}");
}
