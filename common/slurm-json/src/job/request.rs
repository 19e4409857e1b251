//! The resources that a job asks for.

use super::Row;
use crate::field::{Field, always, plain, stated};
use crate::job_line::Line;
use crate::version::Version;
use common::resource::{GpuRequest, MemoryRequest};
use serde_json::json;

pub(super) const ROWS: &[Row] = &[
    (always("contiguous"), |_| Field::flag(false)),
    (stated("core_spec"), |_| Field::whole(0)),
    (stated("thread_spec"), |_| Field::whole(0)),
    (stated("cores_per_socket"), |_| Field::Number(None)),
    // One is Slurm's default, which 0.0.38 does not write; clients made from its document fail on
    // a number.
    (plain("cpus_per_task"), |l| {
        let cpus = l.job.ask.request.cpus_per_task.0;
        Field::Number(Some(cpus.into()).filter(|_| cpus > 1))
    }),
    (stated("cpus_per_task"), |l| Field::Count(Some(l.job.ask.request.cpus_per_task.0.into()))),
    (always("cpus_per_tres"), |_| Field::text("")),
    (stated("cpu_frequency_minimum"), |_| Field::Number(None)),
    (stated("cpu_frequency_maximum"), |_| Field::Number(None)),
    (stated("cpu_frequency_governor"), |_| Field::Number(None)),
    (stated("exclusive").until(Version::V41), |l| {
        let is_exclusive = l.job.ask.request.exclusive;
        Field::Same(if is_exclusive { json!(["true"]) } else { json!([]) })
    }),
    (always("max_cpus"), |_| Field::Count(Some(0))),
    (always("max_nodes"), |_| Field::Count(Some(0))),
    (stated("maximum_switch_wait_time"), |_| Field::whole(0)),
    (always("memory_per_cpu"), |l| memory(l, MemoryUnit::Cpu)),
    (always("memory_per_node"), |l| memory(l, MemoryUnit::Node)),
    (always("memory_per_tres"), |l| match l.job.ask.request.memory {
        Some(MemoryRequest::PerGpu(bytes)) => Field::text(format!("gres:gpu:{}", bytes.0 >> 20)),
        _ => Field::text(""),
    }),
    (always("minimum_cpus_per_node"), |l| {
        Field::Count(Some(l.job.ask.request.cpus_per_task.0.into()))
    }),
    (stated("minimum_switches").until(Version::V41), |_| Field::whole(0)),
    (always("minimum_tmp_disk_per_node"), |_| Field::Count(Some(0))),
    (stated("oversubscribe").until(Version::V41), |l| Field::flag(!l.job.ask.request.exclusive)),
    (stated("prefer"), |_| Field::text("")),
    (stated("required_switches").from(Version::V42), |_| Field::whole(0)),
    (stated("segment_size").from(Version::V43), |l| {
        Field::whole(l.job.ask.request.segment.map_or(0, |nodes| nodes.0))
    }),
    (always("shared"), |l| {
        let is_exclusive = l.job.ask.request.exclusive;
        Field::Words(if is_exclusive { vec!["none".to_owned()] } else { Vec::new() })
    }),
    (stated("sockets_per_board"), |_| Field::whole(0)),
    (stated("sockets_per_node"), |_| Field::Number(None)),
    (always("tasks"), |l| Field::Count(Some(l.job.ask.request.tasks.0.into()))),
    (always("tasks_per_board"), |_| Field::Count(Some(0))),
    (plain("tasks_per_core"), |_| Field::Number(None)),
    (stated("tasks_per_core"), |_| Field::Limit(None)),
    (always("tasks_per_node"), |l| {
        let tasks = l.job.ask.request.tasks_per_node.map_or(0, |tasks| tasks.0);
        Field::Count(Some(tasks.into()))
    }),
    (plain("tasks_per_socket"), |_| Field::Number(None)),
    (stated("tasks_per_socket"), |_| Field::Limit(None)),
    (stated("tasks_per_tres"), |_| Field::Count(Some(0))),
    (stated("threads_per_core"), |_| Field::Number(None)),
    (always("tres_bind"), |_| Field::text("")),
    (always("tres_freq"), |_| Field::text("")),
    (always("tres_per_job"), |l| {
        gpus(l, |gpus| match gpus {
            GpuRequest::Total(count) => Some(count.0),
            _ => None,
        })
    }),
    (always("tres_per_node"), |l| {
        gpus(l, |gpus| match gpus {
            GpuRequest::PerNode(count) => Some(count.0),
            _ => None,
        })
    }),
    (always("tres_per_socket"), |_| Field::text("")),
    (always("tres_per_task"), |l| {
        gpus(l, |gpus| match gpus {
            GpuRequest::PerTask(count) => Some(count.0),
            _ => None,
        })
    }),
    (always("tres_req_str"), |l| Field::text(l.tres())),
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
