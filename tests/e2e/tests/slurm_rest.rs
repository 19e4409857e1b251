//! Slurm's REST API on real daemons, as programs written for slurmrestd use it.

mod forwarding;

use anyhow::{Context as _, ensure};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, free_port, wait_for};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::OnceLock;

/// The port of the one cluster of this test.
static PORT: OnceLock<u16> = OnceLock::new();

fn port() -> u16 {
    *PORT.get_or_init(|| free_port().unwrap_or(0))
}

/// The status and the JSON of an answer to these header lines.
fn ask(line: &str, headers: &str, body: &str) -> anyhow::Result<(u16, Value)> {
    ask_on(TcpStream::connect(("127.0.0.1", port()))?, line, headers, body)
}

/// The same on this connection.
fn ask_on(
    mut stream: impl Read + Write,
    line: &str,
    headers: &str,
    body: &str,
) -> anyhow::Result<(u16, Value)> {
    let length = body.len();
    // HTTP/1.0, so that long answers do not come in chunks.
    write!(
        stream,
        "{line} HTTP/1.0\r\nHost: x\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split(' ').nth(1).unwrap_or_default().parse()?;
    ensure!(head.to_lowercase().contains("content-type: application/json"), "{head}");
    Ok((status, serde_json::from_str(body).with_context(|| body.to_owned())?))
}

/// A client with its token, as Slurm-web and Telegraf send it.
struct Client {
    headers: String,
}

impl Client {
    fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.asked(&format!("GET {path}"), "")
    }

    fn asked(&self, line: &str, body: &str) -> anyhow::Result<Value> {
        let (status, answer) = ask(line, &self.headers, body)?;
        ensure!(status == 200 && answer["errors"] == json!([]), "{line}: {status} {answer}");
        Ok(answer)
    }

    fn submitted(&self, kantctl: &Kantctl, script: &str) -> anyhow::Result<u64> {
        let job = json!({
            "name": "rest", "current_working_directory": kantctl.dir(), "environment": ["A=b"],
            "tasks": 1, "time_limit": { "set": true, "infinite": false, "number": 5 },
        });
        let body = json!({ "script": script, "job": job }).to_string();
        let answer = self.asked("POST /slurm/v0.0.40/job/submit", &body)?;
        answer["job_id"].as_u64().with_context(|| answer.to_string())
    }

    /// Waits until the job has this state, in the lists of slurmctld.
    fn until(&self, id: u64, state: &str) -> anyhow::Result<Value> {
        wait_for(&format!("job {id} to be {state}"), || {
            let job = self.get(&format!("/slurm/v0.0.40/job/{id}"))?["jobs"][0].clone();
            Ok(Some(job).filter(|job| job["job_state"] == json!([state])))
        })
    }
}

/// `SLURM_JWT` of `scontrol token`.
fn token(kantctl: &Kantctl) -> anyhow::Result<String> {
    let names = kantctl.slurm_names()?;
    let mut scontrol = Command::new(format!("{names}/scontrol"));
    scontrol.env_clear().envs(kantctl.command().get_envs().filter_map(|(k, v)| Some((k, v?))));
    scontrol.args(["token", "lifespan=600"]).current_dir(kantctl.dir());
    Person::plain().dress(&mut scontrol);
    let output = scontrol.output()?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let token = printed.strip_prefix("SLURM_JWT=").map(str::to_owned);
    token.with_context(|| format!("{printed} {}", String::from_utf8_lossy(&output.stderr)))
}

/// A route, the list in its answer, and the kinds of the fields that are read from each element.
type Reading = (&'static str, &'static str, &'static [(&'static str, Kind)]);

/// The fields that Telegraf's plugin decodes from 0.0.38, with their types.
/// Source: influxdata/telegraf, plugins/inputs/slurm/slurm.go.
const TELEGRAF: &[Reading] = &[
    (
        "diag",
        "statistics",
        &[
            ("server_thread_count", Kind::Integer),
            ("jobs_canceled", Kind::Integer),
            ("jobs_submitted", Kind::Integer),
            ("jobs_started", Kind::Integer),
            ("jobs_completed", Kind::Integer),
            ("jobs_failed", Kind::Integer),
            ("jobs_pending", Kind::Integer),
            ("jobs_running", Kind::Integer),
            ("schedule_cycle_last", Kind::Integer),
            ("schedule_cycle_mean", Kind::Integer),
            ("bf_queue_len", Kind::Integer),
            ("bf_queue_len_mean", Kind::Integer),
            ("bf_active", Kind::Flag),
        ],
    ),
    (
        "jobs",
        "jobs",
        &[
            ("name", Kind::Text),
            ("job_id", Kind::Integer),
            ("job_state", Kind::Text),
            ("state_reason", Kind::Text),
            ("partition", Kind::Text),
            ("nodes", Kind::Text),
            ("node_count", Kind::Integer),
            ("priority", Kind::Integer),
            ("nice", Kind::Integer),
            ("group_id", Kind::Integer),
            ("command", Kind::Text),
            ("standard_output", Kind::Text),
            ("standard_error", Kind::Text),
            ("standard_input", Kind::Text),
            ("current_working_directory", Kind::Text),
            ("submit_time", Kind::Integer),
            ("start_time", Kind::Integer),
            ("cpus", Kind::Integer),
            ("tasks", Kind::Integer),
            ("time_limit", Kind::Integer),
            ("tres_req_str", Kind::Text),
        ],
    ),
    (
        "nodes",
        "nodes",
        &[
            ("name", Kind::Text),
            ("state", Kind::Text),
            ("cores", Kind::Integer),
            ("cpus", Kind::Integer),
            ("cpu_load", Kind::Integer),
            ("alloc_cpus", Kind::Integer),
            ("real_memory", Kind::Integer),
            ("free_memory", Kind::Integer),
            ("alloc_memory", Kind::Integer),
            ("tres", Kind::Text),
            ("tres_used", Kind::Text),
            ("weight", Kind::Integer),
            ("slurmd_version", Kind::Text),
            ("architecture", Kind::Text),
        ],
    ),
    (
        "partitions",
        "partitions",
        &[
            ("name", Kind::Text),
            ("state", Kind::Text),
            ("total_cpus", Kind::Integer),
            ("total_nodes", Kind::Integer),
            ("nodes", Kind::Text),
            ("tres", Kind::Text),
        ],
    ),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    Integer,
    Flag,
    Text,
}

impl Kind {
    fn is_of(self, value: &Value) -> bool {
        match self {
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Flag => value.is_boolean(),
            Self::Text => value.is_string(),
        }
    }
}

/// What Telegraf's plugin does at each interval.
fn gather(client: &Client) -> anyhow::Result<()> {
    for (path, name, fields) in TELEGRAF {
        let answer = client.get(&format!("/slurm/v0.0.38/{path}"))?;
        let found = match &answer[name] {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        ensure!(!found.is_empty(), "{path} is empty: {answer}");
        for one in &found {
            for (field, kind) in *fields {
                let value = &one[field];
                ensure!(kind.is_of(value), "{path}: {field} is {value}, not {kind:?}");
            }
        }
    }
    client.get("/slurm/v0.0.38/reservations")?;
    Ok(())
}

/// What Slurm-web reads.
/// Source: rackslab/Slurm-web, slurmweb/slurmrestd/__init__.py.
fn web(client: &Client, id: u64, node: &str) -> anyhow::Result<()> {
    for version in ["v0.0.41", "v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"] {
        let of = |path: &str| client.get(&path.replace("VERSION", version));
        let ping = of("/slurm/VERSION/ping")?;
        ensure!(ping["meta"]["slurm"]["release"].is_string(), "{ping}");
        let job = of(&format!("/slurm/VERSION/job/{id}"))?["jobs"][0].clone();
        ensure!(job["job_id"] == id && job["exit_code"]["return_code"]["number"] == 0, "{job}");
        let past = of(&format!("/slurmdb/VERSION/job/{id}"))?["jobs"][0].clone();
        ensure!(past["state"]["current"] == json!(["COMPLETED"]), "{past}");
        ensure!(past["steps"][0]["step"]["id"] == format!("{id}.batch"), "{past}");
        let shown = of(&format!("/slurm/VERSION/node/{node}"))?["nodes"][0].clone();
        ensure!(shown["name"] == node && shown["state"].is_array(), "{shown}");
        for (path, name) in [
            ("/slurm/VERSION/nodes", "nodes"),
            ("/slurm/VERSION/partitions", "partitions"),
            ("/slurm/VERSION/reservations", "reservations"),
            ("/slurmdb/VERSION/accounts", "accounts"),
            ("/slurmdb/VERSION/qos", "qos"),
        ] {
            let answer = of(path)?;
            ensure!(answer[name].is_array() && answer["warnings"] == json!([]), "{answer}");
        }
    }
    Ok(())
}

#[test]
fn programs_of_slurmrestd_submit_watch_and_cancel_jobs() -> anyhow::Result<()> {
    let controller: Option<fn(&mut common::config::ControllerConfig)> =
        Some(|config| config.http_listen = format!("127.0.0.1:{}", port()));
    let cluster =
        Cluster::start(ClusterOptions { controller, ..ClusterOptions::cpu_nodes(&["n1"]) })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let secret = token(&kantctl)?;
    // A user without an account on this host has its number as its name.
    let user = Person::plain().uid.to_string();
    let headers = format!("X-SLURM-USER-NAME: {user}\r\nX-SLURM-USER-TOKEN: {secret}\r\n");
    let client = Client { headers };

    let ping = client.get("/slurm/v0.0.40/ping")?;
    ensure!(ping["pings"][0]["pinged"] == "UP", "{ping}");
    let done = client.submitted(&kantctl, "#!/bin/sh\necho \"$A\" > done.txt\n")?;
    client.until(done, "COMPLETED")?;
    ensure!(kantctl.line("done.txt")? == "b", "the environment of the submission");
    let long = client.submitted(&kantctl, "#!/bin/sh\nsleep 600\n")?;
    let running = client.until(long, "RUNNING")?;
    let start = running["start_time"]["number"].as_u64();
    ensure!(running["nodes"] == "n1" && start > Some(0), "{running}");
    gather(&client)?;
    web(&client, done, "n1")?;
    client.asked(&format!("DELETE /slurm/v0.0.40/job/{long}"), "")?;
    client.until(long, "CANCELLED")?;
    let path = format!("/slurmdb/v0.0.40/jobs?users={user}&state=CANCELLED");
    let past = wait_for("the record", || {
        let jobs = client.get(&path)?["jobs"].clone();
        Ok(Some(jobs).filter(|jobs| jobs[0]["job_id"] == long))
    })?;
    ensure!(past[0]["time"]["limit"]["number"] == 5, "{past}");

    for (headers, words) in [
        (format!("X-SLURM-USER-TOKEN: {secret}\r\nX-SLURM-USER-NAME: root\r\n"), "another user's"),
        ("X-SLURM-USER-TOKEN: kant-token-0\r\n".to_owned(), "not valid"),
        (String::new(), "needs a token"),
    ] {
        let (status, answer) = ask("GET /slurm/v0.0.40/jobs", &headers, "")?;
        let error = &answer["errors"][0];
        ensure!(status == 401 && error["error_number"] == 1007, "{status} {answer}");
        ensure!(error["description"].as_str().is_some_and(|text| text.contains(words)), "{error}");
    }
    Ok(())
}
