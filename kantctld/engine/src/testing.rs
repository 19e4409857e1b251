//! Small nodes, jobs and clusters for the tests of this crate.

mod rounds;

pub(crate) use rounds::*;

use crate::model::job::{RunningJob, WaitingJob};
use crate::model::node_snapshot::NodeSnapshot;
use crate::model::snapshot::Snapshot;
use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::gpu_parts::GpuParts;
use common::id::{
    Attempt, GpuIndex, JobId, JobKey, NodeName, QueueName, SwitchName, Uid, ZoneName,
};
use common::node::{Inventory, Numa};
use common::policy::queue::Queue;
use common::policy::{Placement, Policy, VictimMode};
use common::resource::{Allocation, GpuList, GpuRequest, Request, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Tasks};
use std::sync::Arc;

pub(crate) fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

pub(crate) fn key(job: u32) -> JobKey {
    JobKey::single(JobId(job))
}

/// A node of 64 GiB with these cores and NUMA nodes, and the NUMA node of each GPU; `path` gives
/// the links between GPUs.
fn node(
    text: &str,
    cores: Vec<CpuSet>,
    numa: &[&str],
    gpu_numa: &[u16],
    path: impl Fn(usize, usize) -> GpuPath,
) -> NodeSnapshot {
    let cpus = cores.iter().fold(CpuSet::new(), |all, core| all.union(core));
    let threads = cores.iter().map(CpuSet::len).max().unwrap_or(1);
    let numa: Vec<Numa> = (0..)
        .zip(numa)
        .map(|(id, cpus)| Numa { id, cpus: cpus.parse().unwrap(), memory: Bytes(32 << 30) })
        .collect();
    let gpus = (0..).zip(gpu_numa).map(|(i, on)| Gpu {
        index: GpuIndex(i),
        uuid: format!("GPU-{text}-{i}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes(80 << 30),
        minor: i.into(),
        pci_bus_id: format!("0000:{i:02x}:00.0"),
        numa: Some(*on),
        cpus: CpuSet::new(),
        mig: None,
    });
    let each = || 0..gpu_numa.len();
    let paths = each()
        .map(|a| each().map(|b| if a == b { GpuPath::Own } else { path(a, b) }).collect())
        .collect();
    let inventory = Inventory {
        sockets: 1,
        threads_per_core: threads,
        cpus,
        cores,
        numa,
        memory: Bytes(64 << 30),
        gpus: gpus.collect(),
        gpu_matrix: GpuMatrix { paths },
        boot_id: String::new(),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: Vec::new(),
    };
    NodeSnapshot::usable(name(text), Arc::new(inventory))
}

fn single_threads(cpus: u32) -> Vec<CpuSet> {
    (0..cpus).map(|cpu| CpuSet::from_iter([cpu])).collect()
}

/// `cpus` cores of one thread.
pub(crate) fn cpu_node(text: &str, cpus: u32) -> NodeSnapshot {
    let all = CpuSet::first_n(cpus).to_string();
    node(text, single_threads(cpus), &[&all], &[], |_, _| GpuPath::Sys)
}

/// `cores` cores of two threads: CPU i and CPU i + cores.
pub(crate) fn smt_node(text: &str, cores: u32) -> NodeSnapshot {
    let all = CpuSet::first_n(cores * 2).to_string();
    let cores = (0..cores).map(|cpu| CpuSet::from_iter([cpu, cpu + cores])).collect();
    node(text, cores, &[&all], &[], |_, _| GpuPath::Sys)
}

/// 16 CPUs on two NUMA nodes, half of the GPUs on each, every two GPUs with 18 NVLinks.
pub(crate) fn gpu_node(text: &str, gpus: u16) -> NodeSnapshot {
    let numa: Vec<u16> = (0..gpus).map(|i| u16::from(i >= gpus.div_ceil(2))).collect();
    node(text, single_threads(16), &["0-7", "8-15"], &numa, |_, _| GpuPath::NvLink(18))
}

/// 8 CPUs and 2 GPUs on two NUMA nodes, across a host bridge.
pub(crate) fn numa_node(text: &str) -> NodeSnapshot {
    node(text, single_threads(8), &["0-3", "4-7"], &[0, 1], |_, _| GpuPath::Sys)
}

/// GPUs on these NUMA nodes, with the given links.
pub(crate) fn linked_node(
    gpu_numa: &[u16],
    path: impl Fn(usize, usize) -> GpuPath,
) -> NodeSnapshot {
    node("n", single_threads(16), &["0-7", "8-15"], gpu_numa, path)
}

/// Four GPUs, two NVLinks between 2 and 3 and between 0 and 1. GPU 1 is gone; the rest keep their
/// numbers, in an order of their own.
pub(crate) fn node_without_gpu_1(text: &str) -> NodeSnapshot {
    let path = |a: usize, b: usize| {
        if a / 2 == b / 2 { GpuPath::NvLink(2) } else { GpuPath::Sys }
    };
    let whole = node(text, single_threads(16), &["0-7", "8-15"], &[0, 0, 1, 1], path);
    let mut inventory = Inventory::clone(&whole.inventory);
    inventory.gpus.remove(1);
    inventory.gpus.reverse();
    NodeSnapshot::usable(name(text), Arc::new(inventory))
}

/// One task with these CPUs and 1 GiB.
pub(crate) fn share(node: &str, cpus: &str) -> Share {
    Share {
        gpu_milli: None,
        node: name(node),
        tasks: Tasks(1),
        cpus: cpus.parse().unwrap(),
        memory: Bytes(1 << 30),
        gpus: GpuList::new(),
    }
}

pub(crate) fn queue(text: &str) -> Queue {
    Queue {
        default: true,
        memory_per_cpu: Bytes(1 << 20),
        ..Queue::with_defaults(QueueName::new(text).unwrap())
    }
}

/// These nodes, an unlimited queue `q`, and no jobs.
pub(crate) fn snapshot(nodes: Vec<NodeSnapshot>) -> Snapshot {
    with_queues(nodes, vec![queue("q")])
}

/// These nodes and queues, and no jobs.
pub(crate) fn with_queues(nodes: Vec<NodeSnapshot>, queues: Vec<Queue>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.set_policy(Arc::new(Policy { queues, ..Policy::default() }));
    nodes.iter().for_each(|node| snapshot.set_node(node));
    snapshot
}

pub(crate) fn change_policy(snapshot: &mut Snapshot, change: impl FnOnce(&mut Policy)) {
    let mut policy = Policy::clone(snapshot.policy());
    change(&mut policy);
    snapshot.set_policy(Arc::new(policy));
}

/// Sets the placement of all queues.
pub(crate) fn set_placement_policy(snapshot: &mut Snapshot, placement: Placement) {
    change_policy(snapshot, |policy| {
        policy.queues.iter_mut().for_each(|queue| queue.placement = placement);
    });
}

/// Leafs, each with its nodes.
pub(crate) fn set_leaf_groups(snapshot: &mut Snapshot, leafs: &[(&str, &str)]) {
    change_policy(snapshot, |policy| {
        for (leaf, nodes) in leafs {
            for node in nodes.split(' ') {
                let position = policy.topology.0.entry(name(node)).or_default();
                position.leaf = Some(SwitchName::new(*leaf).unwrap());
            }
        }
    });
}

/// A zone of these nodes for the services of all queues, which are spread there.
pub(crate) fn set_zone(snapshot: &mut Snapshot, zone: &str, nodes: &[&str]) {
    let zone = ZoneName::new(zone).unwrap();
    change_policy(snapshot, |policy| {
        for node in nodes {
            policy.topology.0.entry(name(node)).or_default().zone = Some(zone.clone());
        }
        for queue in &mut policy.queues {
            (queue.zone, queue.placement) = (Some(zone.clone()), Placement::ESpread);
        }
    });
}

/// Starts a job without an end on the first `count` GPUs of a node, and as many CPUs.
pub(crate) fn use_gpus(snapshot: &mut Snapshot, node: &str, count: u16) {
    let cpus = if count == 0 { String::new() } else { format!("0-{}", count - 1) };
    let share = Share { gpus: (0..count).map(GpuIndex).collect(), ..share(node, &cpus) };
    let job = 900 + u32::try_from(snapshot.all_running().count()).unwrap();
    run(snapshot, job, share, None);
}

/// Starts a job without an end on `milli` thousandths of the first GPU of a node.
pub(crate) fn use_share(snapshot: &mut Snapshot, node: &str, milli: u32) {
    let gpus = [GpuIndex(0)].into();
    let share = Share { gpus, gpu_milli: Some(GpuMilli(milli)), ..share(node, "0") };
    let job = 900 + u32::try_from(snapshot.all_running().count()).unwrap();
    run(snapshot, job, share, None);
}

pub(crate) fn request(tasks: u32, cpus_per_task: u32) -> Request {
    Request { tasks: Tasks(tasks), cpus_per_task: Cpus(cpus_per_task), ..Request::default() }
}

/// One task, one CPU, this many GPUs on one node.
pub(crate) fn gpu_request(gpus: u32) -> Request {
    Request { gpus: Some(GpuRequest::PerNode(Gpus(gpus))), ..Request::default() }
}

/// One task, one CPU, a share of one GPU.
pub(crate) fn share_request(milli: u32) -> Request {
    Request {
        gpus: Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(milli)))),
        ..Request::default()
    }
}

/// A job of queue `q`, submitted at second `job`, with a limit of `minutes`.
pub(crate) fn waiting(job: u32, request: Request, minutes: u64) -> WaitingJob {
    WaitingJob {
        key: key(job),
        attempt: Attempt(1),
        owner: Uid(1000),
        queue: QueueName::new("q").unwrap(),
        request: Arc::new(request),
        time_limit: Some(Span::from_minutes(minutes)),
        nice: 0,
        submitted_at: Time(u64::from(job) * 1000),
        begin_at: None,
        not_before: None,
        held: false,
        array_limit: None,
        account: None,
        qos: None,
        deadline: None,
        preemptible: None,
        reservation: None,
        service: false,
        together: None,
        near_all: None,
        expected: None,
        awaits: false,
    }
}

/// Starts a job with this share of the snapshot's node until a time.
pub(crate) fn run(snapshot: &mut Snapshot, job: u32, share: Share, ends_by: Option<Time>) {
    run_on_all(snapshot, job, Allocation::new(vec![share]).unwrap(), ends_by);
}

/// Starts a job with this allocation until a time.
pub(crate) fn run_on_all(
    snapshot: &mut Snapshot,
    job: u32,
    allocation: Allocation,
    ends_by: Option<Time>,
) {
    snapshot.set_running(RunningJob {
        key: key(job),
        attempt: Attempt(1),
        allocation: Arc::new(allocation),
        ends_by,
        owner: Uid(1000),
        queue: QueueName::new("q").unwrap(),
        account: None,
        qos: None,
        nice: 0,
        submitted_at: Time(0),
        started_at: Time(0),
        saved_at: None,
        whole_nodes: false,
        group: None,
        preemptible: false,
        victim_mode: VictimMode::Requeue,
        ending: false,
        yields_to: None,
        nodes_min: None,
        leaving: 0,
    });
}
