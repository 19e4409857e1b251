//! The resources that a job asks for.

use super::Row;
use crate::field::{Field, in_all_versions, only_v38, since_v40};
use crate::job_line::Line;
use crate::version::Version;
use common::resource::{GpuRequest, MemoryRequest};
use serde_json::json;

pub(super) const ROWS: &[Row] = &[
    (in_all_versions("contiguous"), |_| Field::flag(false)),
    (since_v40("core_spec"), |_| Field::integer_value(0)),
    (since_v40("thread_spec"), |_| Field::integer_value(0)),
    (since_v40("cores_per_socket"), |_| Field::Number(None)),
    // One is Slurm's default, which 0.0.38 does not write; clients made from its document fail on
    // a number.
    (only_v38("cpus_per_task"), |l| {
        let cpus = l.job.ask.request.cpus_per_task.0;
        Field::Number(Some(cpus.into()).filter(|_| cpus > 1))
    }),
    (since_v40("cpus_per_task"), |l| Field::Count(Some(l.job.ask.request.cpus_per_task.0.into()))),
    (in_all_versions("cpus_per_tres"), |_| Field::text("")),
    (since_v40("cpu_frequency_minimum"), |_| Field::Number(None)),
    (since_v40("cpu_frequency_maximum"), |_| Field::Number(None)),
    (since_v40("cpu_frequency_governor"), |_| Field::Number(None)),
    (since_v40("exclusive").until_version(Version::V41), |l| {
        let is_exclusive = l.job.ask.request.exclusive;
        Field::Same(if is_exclusive { json!(["true"]) } else { json!([]) })
    }),
    (in_all_versions("max_cpus"), |_| Field::Count(Some(0))),
    (in_all_versions("max_nodes"), |_| Field::Count(Some(0))),
    (since_v40("maximum_switch_wait_time"), |_| Field::integer_value(0)),
    (in_all_versions("memory_per_cpu"), |l| memory(l, MemoryUnit::Cpu)),
    (in_all_versions("memory_per_node"), |l| memory(l, MemoryUnit::Node)),
    (in_all_versions("memory_per_tres"), |l| match l.job.ask.request.memory {
        Some(MemoryRequest::PerGpu(bytes)) => Field::text(format!("gres:gpu:{}", bytes.0 >> 20)),
        _ => Field::text(""),
    }),
    (in_all_versions("minimum_cpus_per_node"), |l| {
        Field::Count(Some(l.job.ask.request.cpus_per_task.0.into()))
    }),
    (since_v40("minimum_switches").until_version(Version::V41), |_| Field::integer_value(0)),
    (in_all_versions("minimum_tmp_disk_per_node"), |_| Field::Count(Some(0))),
    (since_v40("oversubscribe").until_version(Version::V41), |l| {
        Field::flag(!l.job.ask.request.exclusive)
    }),
    (since_v40("prefer"), |_| Field::text("")),
    (since_v40("required_switches").since_version(Version::V42), |_| Field::integer_value(0)),
    (since_v40("segment_size").since_version(Version::V43), |l| {
        Field::integer_value(l.job.ask.request.segment.map_or(0, |nodes| nodes.0))
    }),
    (in_all_versions("shared"), |l| {
        let is_exclusive = l.job.ask.request.exclusive;
        Field::Words(if is_exclusive { vec!["none".to_owned()] } else { Vec::new() })
    }),
    (since_v40("sockets_per_board"), |_| Field::integer_value(0)),
    (since_v40("sockets_per_node"), |_| Field::Number(None)),
    (in_all_versions("tasks"), |l| Field::Count(Some(l.job.ask.request.tasks.0.into()))),
    (in_all_versions("tasks_per_board"), |_| Field::Count(Some(0))),
    (only_v38("tasks_per_core"), |_| Field::Number(None)),
    (since_v40("tasks_per_core"), |_| Field::Limit(None)),
    (in_all_versions("tasks_per_node"), |l| {
        let tasks = l.job.ask.request.tasks_per_node.map_or(0, |tasks| tasks.0);
        Field::Count(Some(tasks.into()))
    }),
    (only_v38("tasks_per_socket"), |_| Field::Number(None)),
    (since_v40("tasks_per_socket"), |_| Field::Limit(None)),
    (since_v40("tasks_per_tres"), |_| Field::Count(Some(0))),
    (since_v40("threads_per_core"), |_| Field::Number(None)),
    (in_all_versions("tres_bind"), |_| Field::text("")),
    (in_all_versions("tres_freq"), |_| Field::text("")),
    (in_all_versions("tres_per_job"), |l| {
        gpus(l, |gpus| match gpus {
            GpuRequest::Total(count) => Some(count.0),
            _ => None,
        })
    }),
    (in_all_versions("tres_per_node"), |l| {
        gpus(l, |gpus| match gpus {
            GpuRequest::PerNode(count) => Some(count.0),
            _ => None,
        })
    }),
    (in_all_versions("tres_per_socket"), |_| Field::text("")),
    (in_all_versions("tres_per_task"), |l| {
        gpus(l, |gpus| match gpus {
            GpuRequest::PerTask(count) => Some(count.0),
            _ => None,
        })
    }),
    (in_all_versions("tres_req_str"), |l| Field::text(l.tres())),
];

#[derive(Clone, Copy)]
enum MemoryUnit {
    Cpu,
    Node,
}

/// The memory asked for per CPU or node, in MiB.
fn memory(line: &Line<'_>, unit: MemoryUnit) -> Field {
    let bytes = match (line.job.ask.request.memory, unit) {
        (Some(MemoryRequest::PerNode(bytes)), MemoryUnit::Node)
        | (Some(MemoryRequest::PerCpu(bytes)), MemoryUnit::Cpu) => Some(bytes),
        _ => None,
    };
    Field::Number(bytes.map(|bytes| bytes.0 >> 20))
}

/// The GPUs asked for in one of the ways: `gres:gpu:h100:4`.
fn gpus(line: &Line<'_>, count: fn(GpuRequest) -> Option<u32>) -> Field {
    let request = &line.job.ask.request;
    let kind = request.gpu_kind.as_ref().map(|kind| format!("{}:", kind.0)).unwrap_or_default();
    let count = request.gpus.and_then(count);
    Field::text_or_empty(count.map(|count| format!("gres:gpu:{kind}{count}")))
}
