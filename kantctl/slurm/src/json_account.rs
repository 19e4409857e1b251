//! A job with its steps, as `sacct --json` shows it. The script is a step of its own.
//! Source: the answers of Slurm's openapi/dbv0.0.38 (release 22.05).

use super::job_line::{Line, LinePart};
use super::json::unix_seconds;
use common::job::{ExitStatus, StepRecord};
use common::time::Span;
use common::unit::Bytes;
use serde_json::{Value, json};

/// A job or array task, with its steps.
#[must_use]
pub fn job(line: &Line<'_>, steps: &[StepRecord]) -> Value {
    let job = line.job;
    let ask = &job.ask;
    let text = |name: Option<&str>| name.unwrap_or_default().to_owned();
    let account = text(ask.account.as_ref().map(|account| account.as_str()));
    let partition = text(ask.queue.as_ref().map(|queue| queue.as_str()));
    let index = job.key.index.map(|index| index.0);
    let script = job.started_at.map(|_| LinePart::Batch);
    let parts = script.into_iter().chain(steps.iter().map(LinePart::Step));
    let steps: Vec<Value> = parts.map(|part| step(&Line { part, ..*line })).collect();
    json!({
        "account": account,
        "comment": {
            "administrator": null, "job": ask.comment, "system": null,
        },
        "allocation_nodes": if job.allocation.is_some() { line.node_count() } else { 0 },
        "array": {
            "job_id": index.map_or(0, |_| job.key.job.0),
            "limits": { "max": { "running": { "tasks": 0 } } },
            "task": null,
            "task_id": index,
        },
        "association": {
            "account": account, "cluster": line.page.cluster, "partition": null,
            "user": job.owner.name,
        },
        "cluster": line.page.cluster,
        "constraints": "",
        "derived_exit_code": exit(line.exit()),
        "time": time(line),
        "exit_code": exit(line.exit()),
        "flags": [],
        "group": job.owner.gid.to_string(),
        "het": { "job_id": 0, "job_offset": null },
        "job_id": job.number.unwrap_or(job.key.job).0,
        "name": ask.name,
        "mcs": { "label": "" },
        "nodes": match line.nodes().as_str() { "" => "None assigned", nodes => nodes },
        "partition": partition,
        "priority": line.page.priorities.get(&job.key).copied().unwrap_or(0).max(0),
        "qos": text(ask.qos.as_ref().map(|qos| qos.as_str())),
        "required": { "CPUs": job.cpus.0, "memory": job.memory.0 >> 20 },
        "kill_request_user": null,
        "reservation": {
            "id": 0, "name": text(ask.reservation.as_ref().map(|booked| booked.as_str())),
        },
        "state": { "current": line.state().0, "reason": line.reason_or_end() },
        "steps": steps,
        "tres": { "allocated": tres(line, true), "requested": tres(line, false) },
        "user": job.owner.name,
        "wckey": { "wckey": "", "flags": [] },
        "working_directory": ask.work_dir,
    })
}

fn time(line: &Line<'_>) -> Value {
    let job = line.job;
    let eligible = job.ask.begin_at.map_or(job.submitted_at, |at| at.max(job.submitted_at));
    let total = line.usage().map_or(Span(0), |usage| usage.cpu);
    json!({
        "elapsed": line.elapsed().seconds(),
        "eligible": unix_seconds(Some(eligible)),
        "end": unix_seconds(line.end()),
        "start": unix_seconds(line.start()),
        "submission": unix_seconds(Some(job.submitted_at)),
        "suspended": job.suspended.seconds(),
        "system": { "seconds": 0, "microseconds": 0 },
        "limit": job.ask.time_limit.map(|limit| limit.seconds().div_ceil(60)),
        "total": { "seconds": total.seconds(), "microseconds": total.0 % 1000 * 1000 },
        "user": { "seconds": 0, "microseconds": 0 },
    })
}

fn exit(exit: ExitStatus) -> Value {
    match exit.signal {
        Some(signal) => json!({
            "status": "SIGNALED",
            "return_code": exit.code,
            "signal": { "signal_id": signal, "name": null },
        }),
        None if exit.code == 0 => json!({ "status": "SUCCESS", "return_code": 0 }),
        None => json!({ "status": "ERROR", "return_code": exit.code }),
    }
}

/// The job's script, or one of its steps.
fn step(line: &Line<'_>) -> Value {
    let job = line.job;
    let (id, name) = match line.part {
        LinePart::Step(step) => (step.number.to_string(), step.name.as_str()),
        _ => ("batch".to_owned(), "batch"),
    };
    let energy = job.usage.filter(|_| line.is_batch()).and_then(|used| used.gpu);
    json!({
        "time": time(line),
        "exit_code": exit(line.exit()),
        "nodes": {
            "count": line.node_count(), "range": line.nodes(), "list": [line.nodes()],
        },
        "tasks": { "count": line.tasks() },
        "pid": null,
        "CPU": { "requested_frequency": { "min": 0, "max": 0 }, "governor": "0" },
        "kill_request_user": null,
        "state": line.state().0,
        "statistics": {
            "CPU": { "actual_frequency": 0 },
            "energy": { "consumed": energy.map(|gpu| gpu.energy_joules) },
        },
        "step": {
            "job_id": job.key.job.0, "het": { "component": null },
            "id": id, "name": name,
        },
        "task": { "distribution": "Unknown" },
        "tres": {
            "requested": { "max": measured(line), "average": measured(line) },
            "consumed": { "max": measured(line), "average": measured(line) },
            "allocated": tres(line, true),
        },
    })
}

/// CPU time and peak memory, where measured.
fn measured(line: &Line<'_>) -> Vec<Value> {
    let usage = line.job.usage.filter(|usage| usage.memory_peak > Bytes::ZERO && line.is_batch());
    usage.map_or_else(Vec::new, |usage| {
        vec![one("cpu", None, 1, usage.cpu.0), one("mem", None, 2, usage.memory_peak.0)]
    })
}

fn tres(line: &Line<'_>, allocated: bool) -> Vec<Value> {
    let job = line.job;
    if allocated && job.allocation.is_none() {
        return Vec::new();
    }
    let first = job.allocation.as_ref().and_then(|given| given.shares().first());
    let first = first.filter(|_| line.is_batch());
    let memory = first.map_or(job.memory, |share| share.memory);
    let gpus = match line.part {
        LinePart::Step(step) => u64::from(step.gpus.unwrap_or(job.gpus.0)),
        _ => first.map_or(u64::from(job.gpus.0), |share| share.gpus.len() as u64),
    };
    let mut all = vec![
        one("cpu", None, 1, line.cpus().into()),
        one("mem", None, 2, memory.0 >> 20),
        one("node", None, 4, line.node_count() as u64),
        one("billing", None, 5, line.cpus().into()),
    ];
    if gpus > 0 {
        all.push(one("gres", Some("gpu"), 1001, gpus));
    }
    all
}

fn one(kind: &str, name: Option<&str>, id: u32, count: u64) -> Value {
    json!({ "type": kind, "name": name, "id": id, "count": count })
}
