//! Random jobs that a submission would accept. They do not depend on the cluster, so some never
//! fit.

use super::cluster::name;
use super::draw::Draw;
use super::policies::queue_name;
use common::gpu::GpuKind;
use common::gpu_parts::{GpuParts, PartSize};
use common::id::{AccountName, ArrayIndex, Attempt, DataName, JobId, JobKey, QosName, Uid};
use common::resource::{Apart, GpuRequest, MemoryRequest, Request, Spread};
use common::time::{Span, Time};
use common::topology::{Level, Nearness};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Nodes, Tasks};
use engine::WaitingJob;
use std::sync::Arc;

/// Parts of GPUs, by thousandths or by memory.
fn parts(draw: &mut Draw) -> GpuParts {
    let each = match draw.once_in(3) {
        true => PartSize::Memory(Bytes(draw.one(&[5, 20, 45, 90]) << 30)),
        false => PartSize::Milli(GpuMilli(draw.one(&[100, 250, 500, 700]))),
    };
    GpuParts { devices: Gpus(draw.one(&[1, 1, 2, 3])), each }
}

pub fn request(draw: &mut Draw) -> Request {
    let nodes = draw.maybe(3, |draw| draw.within(1, 3));
    let mut tasks = draw.one(&[1, 1, 2, 3, 4, 6]).max(nodes.unwrap_or(1));
    let near = draw.maybe(5, |draw| Nearness {
        level: draw.one(&[Level::NvlinkDomain, Level::Leaf, Level::Spine, Level::Superspine]),
        required: draw.once_in(2),
    });
    let gpus = match draw.below(8) {
        0 | 1 => Some(GpuRequest::PerNode(Gpus(draw.one(&[1, 2, 4])))),
        2 => Some(GpuRequest::PerTask(Gpus(draw.one(&[1, 1, 2])))),
        3 => Some(GpuRequest::Total(Gpus(draw.within(1, 4) * nodes.unwrap_or(1)))),
        4 => Some(GpuRequest::Parts(parts(draw))),
        _ => None,
    };
    let is_share = matches!(gpus, Some(GpuRequest::Parts(_)));
    let nodes = if is_share { None } else { nodes };
    if is_share {
        tasks = 1;
    }
    let kind = |text: &str| GpuKind(text.to_owned());
    let gpu_kind = gpus.and_then(|_| draw.maybe(4, |draw| kind(draw.one(&["a100", "h100"]))));
    let or = gpu_kind.as_ref().and_then(|_| draw.maybe(3, |_| vec![kind("v100")]));
    let memory = match draw.below(6) {
        0 => Some(MemoryRequest::PerNode(Bytes(draw.one(&[0, 1, 4, 12]) << 30))),
        1 => Some(MemoryRequest::PerCpu(Bytes(draw.one(&[256, 1024]) << 20))),
        2 if gpus.is_some() && !is_share => Some(MemoryRequest::PerGpu(Bytes(1 << 30))),
        _ => None,
    };
    let is_total = matches!(gpus, Some(GpuRequest::Total(_)));
    let tasks_min = (!is_total && !is_share && tasks > 1)
        .then(|| draw.maybe(5, |draw| Tasks(draw.within(nodes.unwrap_or(1), tasks))))
        .flatten();
    let segment = nodes.filter(|nodes| near.is_some() && nodes % 2 == 0);
    let segment = segment.and_then(|nodes| draw.maybe(2, |_| Nodes(nodes / 2)));
    let each = |draw: &mut Draw| Tasks(draw.within(1, 3).max(tasks.div_ceil(nodes.unwrap_or(6))));
    let some = |draw: &mut Draw| (0..6).filter(|_| draw.once_in(2)).map(name).collect();
    Request {
        nodes: nodes.map(Nodes),
        tasks: Tasks(tasks),
        tasks_per_node: draw.maybe(5, each),
        cpus_per_task: Cpus(draw.one(&[1, 1, 1, 2, 3, 4])),
        memory,
        gpus,
        gpu_kind,
        gpu_kinds_or: or.unwrap_or_default(),
        tasks_min,
        grow: false,
        near,
        segment,
        apart: apart(draw, tasks),
        exclusive: !is_share && draw.once_in(10),
        constraint: draw.maybe(10, |draw| draw.one(&["ib", "ib|fast", "ib&fast"]).parse().unwrap()),
        only_nodes: draw.maybe(12, some).unwrap_or_default(),
        not_nodes: draw.maybe(12, some).unwrap_or_default(),
        data: data(tasks),
    }
}

/// What jobs with 4 or 6 tasks read; not drawn either. Some nodes have it.
fn data(tasks: u32) -> Vec<DataName> {
    let names: &[&str] = match tasks {
        4 => &["x"],
        6 => &["x", "y"],
        _ => &[],
    };
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// Some jobs have a bound for each node, some avoid others of their group, and some do both. What
/// they avoid follows from their tasks, so that seeds that were found earlier draw the same jobs.
fn apart(draw: &mut Draw, tasks: u32) -> Option<Apart> {
    let bound = draw.maybe(8, |draw| (draw.one(&["web", "api"]), draw.within(1, 2)));
    let spread = match tasks {
        2 => Some(Spread::Node),
        3 | 4 => Some(Spread::Leaf),
        _ => None,
    };
    let group = bound.map(|(group, _)| group).or(spread.map(|_| "avoiding"))?.to_owned();
    Some(Apart { group, per_node_max: bound.map(|(_, most)| most), spread })
}

fn job(draw: &mut Draw, key: JobKey, queues: u32, now: Time) -> WaitingJob {
    let later = |draw: &mut Draw| now + Span::from_minutes(draw.below(30).into());
    let limit = (!draw.once_in(12)).then(|| Span::from_minutes(draw.one(&[1, 5, 10, 30, 60, 90])));
    WaitingJob {
        key,
        attempt: Attempt(1),
        owner: Uid(1000 + draw.below(3)),
        queue: queue_name(draw.below(queues)),
        account: draw.maybe(2, |draw| AccountName::new(draw.one(&["red", "blue"])).unwrap()),
        qos: draw.maybe(3, |draw| QosName::new(draw.one(&["high", "low"])).unwrap()),
        request: Arc::new(request(draw)),
        time_limit: limit,
        nice: draw.one(&[0, 0, 0, -1, 1]),
        submitted_at: now,
        begin_at: draw.maybe(10, later),
        not_before: None,
        deadline: draw.maybe(12, |draw| {
            now + Span::from_minutes(draw.within(30, 200).into()) + limit.unwrap_or(Span(1))
        }),
        held: draw.once_in(20),
        array_limit: None,
        preemptible: draw.maybe(3, |draw| draw.once_in(2)),
        reservation: None,
        service: draw.once_in(5),
        together: None,
        near_all: None,
        expected: expected(key),
        awaits: false,
    }
}

/// What is expected of half of the jobs. Not drawn, so that the rest of each history stays as it
/// is.
fn expected(key: JobKey) -> Option<Span> {
    [None, Some(1), None, Some(20)][key.job.0 as usize % 4].map(Span::from_minutes)
}

/// A job, the tasks of an array, or the components of one job.
pub fn arrive(draw: &mut Draw, next: &mut u32, queues: u32, now: Time) -> Vec<WaitingJob> {
    *next += 1;
    let first = job(draw, JobKey::single(JobId(*next)), queues, now);
    match draw.below(10) {
        0 => {
            let limit = draw.maybe(2, |draw| draw.within(1, 2));
            let id = first.key.job;
            let task = |index| {
                let key = JobKey { job: id, index: Some(ArrayIndex(index)) };
                WaitingJob { key, array_limit: limit, ..first.clone() }
            };
            (0..draw.within(2, 5)).map(task).collect()
        }
        1 => {
            let key = Some(first.key);
            let mut parts = vec![WaitingJob { together: key, held: false, ..first }];
            for _ in 0..draw.within(1, 2) {
                *next += 1;
                let request = Arc::new(request(draw));
                let own = JobKey::single(JobId(*next));
                parts.push(WaitingJob { key: own, request, ..parts[0].clone() });
            }
            parts
        }
        _ => vec![first],
    }
}
