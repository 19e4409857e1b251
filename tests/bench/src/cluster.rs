//! A made-up cluster: nodes of 8 GPUs under leafs and spines, nearly full of jobs, with a long line
//! of others. Never random: the same numbers give the same cluster.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::{Attempt, GpuIndex, JobId, JobKey, NodeName, QueueName, SwitchName, Uid};
use common::node::{Inventory, Numa};
use common::policy::{Policy, VictimMode};
use common::queue::Queue;
use common::resource::{Allocation, GpuRequest, Request, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use engine::{NodeSnapshot, RunningJob, Snapshot, WaitingJob};
use fastrand::Rng;
use std::sync::Arc;

/// The time at which the measured rounds are.
pub const NOW: Time = Time(1_800_000_000_000);

const GPUS: u16 = 8;
const CPUS: u32 = 96;
const LEAF: u32 = 32;
const SPINE: u32 = 16 * LEAF;
const QUEUES: u32 = 8;

/// What nodes and jobs a cluster has.
pub struct Cluster {
    pub snapshot: Snapshot,
    rng: Rng,
    next_job: u32,
    running: Vec<JobKey>,
    shapes: Vec<Arc<Request>>,
}

fn inventory() -> Inventory {
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes(80 << 30),
        minor: index.into(),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(index / 4),
        cpus: CpuSet::new(),
    };
    let path = |a: u16, b: u16| if a == b { GpuPath::Own } else { GpuPath::NvLink(18) };
    let half = |from: u32| (from..from + CPUS / 2).collect::<CpuSet>();
    let numa =
        |id: u16| Numa { id, cpus: half(u32::from(id) * CPUS / 2), memory: Bytes(512 << 30) };
    Inventory {
        sockets: 2,
        threads_per_core: 1,
        cpus: CpuSet::first(CPUS),
        cores: (0..CPUS).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![numa(0), numa(1)],
        memory: Bytes(1 << 40),
        gpus: (0..GPUS).map(gpu).collect(),
        gpu_matrix: GpuMatrix {
            paths: (0..GPUS).map(|a| (0..GPUS).map(|b| path(a, b)).collect()).collect(),
        },
        boot_id: String::new(),
        gpu_driver: None,
        limits_missing: Vec::new(),
    }
}

fn name(number: u32) -> NodeName {
    NodeName::new(format!("n{number:06}")).expect("a valid name")
}

fn queue(number: u32) -> QueueName {
    QueueName::new(format!("q{number}")).expect("a valid name")
}

impl Cluster {
    /// So many nodes, of which `full` out of 1000 GPUs are in use, and so many waiting jobs.
    pub fn new(nodes: u32, waiting: u32, full: u32) -> Self {
        let mut policy = Policy::default();
        for number in 0..QUEUES {
            policy.queues.push(Queue { default: number == 0, ..Queue::plain(queue(number)) });
        }
        let switch = |text: String| SwitchName::new(text).ok();
        for number in 0..nodes {
            let position = policy.topology.0.entry(name(number)).or_default();
            position.leaf = switch(format!("leaf{:05}", number / LEAF));
            position.spine = switch(format!("spine{:04}", number / SPINE));
        }
        let mut snapshot = Snapshot::default();
        snapshot.set_policy(Arc::new(policy));
        let inventory = Arc::new(inventory());
        for number in 0..nodes {
            snapshot.set_node(&NodeSnapshot::usable(name(number), inventory.clone()));
        }
        let mut cluster = Self {
            snapshot,
            rng: Rng::with_seed(7),
            next_job: 1,
            running: Vec::new(),
            shapes: shapes(),
        };
        cluster.fill(nodes, full);
        for _ in 0..waiting {
            cluster.submit();
        }
        cluster
    }

    fn fill(&mut self, nodes: u32, full: u32) {
        for number in 0..nodes {
            let mut free = 0;
            while free < GPUS {
                let sizes = [1, 1, 2, 2, 4, 8].into_iter().filter(|size| *size <= GPUS - free);
                let sizes: Vec<u16> = sizes.collect();
                let size = sizes[self.rng.usize(..sizes.len())];
                let gpus: Vec<GpuIndex> = (free..free + size).map(GpuIndex).collect();
                free += size;
                if self.rng.u32(..1000) < full {
                    self.hold(number, gpus);
                }
            }
        }
    }

    fn hold(&mut self, node: u32, gpus: Vec<GpuIndex>) {
        let cpus = gpus.iter().flat_map(|gpu| (0..8).map(move |n| u32::from(gpu.0) * 8 + n));
        let share = Share {
            node: name(node),
            tasks: Tasks(1),
            cpus: cpus.collect(),
            memory: Bytes(64 << 30),
            gpus,
            gpu_milli: None,
        };
        let key = JobKey::single(JobId(self.next_job));
        self.next_job += 1;
        let left = Span::from_minutes(self.rng.u64(1..4000));
        let allocation = Allocation::new(vec![share]).expect("one share");
        self.running.push(key);
        self.snapshot.set_running(RunningJob {
            key,
            attempt: Attempt(1),
            allocation: Arc::new(allocation),
            ends_by: Some(NOW + left),
            owner: Uid(1000 + self.rng.u32(..200)),
            queue: queue(self.rng.u32(..QUEUES)),
            account: None,
            qos: None,
            nice: 0,
            submitted_at: NOW - left,
            started_at: NOW - left,
            whole_nodes: false,
            group: None,
            preemptible: false,
            victim_mode: VictimMode::Requeue,
            ending: false,
            yields_to: None,
        });
    }

    /// One more job waits.
    pub fn submit(&mut self) {
        let key = JobKey::single(JobId(self.next_job));
        self.next_job += 1;
        let request = self.shapes[self.rng.usize(..self.shapes.len())].clone();
        let waited = Span::from_minutes(self.rng.u64(..10_000));
        self.snapshot.set_waiting(WaitingJob {
            key,
            attempt: Attempt(1),
            owner: Uid(1000 + self.rng.u32(..200)),
            queue: queue(self.rng.u32(..QUEUES)),
            account: None,
            qos: None,
            request,
            time_limit: Some(Span::from_minutes(self.rng.u64(10..4000))),
            nice: 0,
            submitted_at: NOW - waited,
            begin_at: None,
            not_before: None,
            deadline: None,
            held: false,
            array_limit: None,
            preemptible: None,
            reservation: None,
            service: false,
            together: None,
        });
    }

    /// One running job ends.
    pub fn end_one(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let key = self.running.swap_remove(self.rng.usize(..self.running.len()));
        self.snapshot.remove_job(key);
    }
}

/// What the waiting jobs ask for.
fn shapes() -> Vec<Arc<Request>> {
    let sizes = [(1, 1), (1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8), (16, 8)];
    let cpus = [4, 8, 12];
    let shapes = sizes.iter().flat_map(|(nodes, gpus)| {
        cpus.iter().map(move |cpus| {
            Arc::new(Request {
                nodes: Some(Nodes(*nodes)),
                tasks: Tasks(*nodes),
                cpus_per_task: Cpus(cpus * gpus),
                gpus: Some(GpuRequest::PerNode(Gpus(*gpus))),
                ..Request::default()
            })
        })
    });
    shapes.collect()
}
