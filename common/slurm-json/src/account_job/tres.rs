//! Trackable resources, as lists of objects.

use crate::job_line::{Line, LinePart};
use crate::version::Version;
use common::policy::Limits;
use common::unit::Bytes;
use serde_json::{Value, json};

/// CPU time and peak memory, where measured.
pub(super) fn measured_tres(line: &Line<'_>, version: Version) -> Vec<Value> {
    let usage = line.job.usage.filter(|usage| usage.memory_peak > Bytes::ZERO && line.is_batch());
    usage.map_or_else(Vec::new, |usage| {
        vec![
            tres_entry(version, "cpu", None, 1, usage.cpu.0),
            tres_entry(version, "mem", None, 2, usage.memory_peak.0),
        ]
    })
}

/// The allocated resources, or those asked for.
pub(super) fn tres(line: &Line<'_>, version: Version, allocated: bool) -> Vec<Value> {
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
        tres_entry(version, "cpu", None, 1, line.cpus().into()),
        tres_entry(version, "mem", None, 2, memory.0 >> 20),
        tres_entry(version, "node", None, 4, line.node_count() as u64),
        tres_entry(version, "billing", None, 5, line.cpus().into()),
    ];
    if gpus > 0 {
        all.push(tres_entry(version, "gres", Some("gpu"), 1001, gpus));
    }
    all
}

/// One resource; without a name, 0.0.38 has null and later versions an empty text.
fn tres_entry(version: Version, kind: &str, name: Option<&str>, id: u32, count: u64) -> Value {
    let name = if version.is_plain() { name } else { Some(name.unwrap_or_default()) };
    json!({ "type": kind, "name": name, "id": id, "count": count })
}

/// The CPUs and GPUs of limits, where they are limited.
pub(crate) fn tres_of_limits(limits: &Limits, version: Version) -> Value {
    let cpus = limits.cpus.map(|cpus| tres_entry(version, "cpu", None, 1, cpus.0.into()));
    let gpus =
        limits.gpus.map(|gpus| tres_entry(version, "gres", Some("gpu"), 1001, gpus.0.into()));
    cpus.into_iter().chain(gpus).collect()
}
