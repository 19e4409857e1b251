//! `cargo xtask bench share`: the time of a fair round on the workloads that KAI Scheduler
//! publishes (500 nodes of 8 GPUs), and on one of 10,000 nodes. It measures whole rounds, as a
//! controller runs them, for jobs that name their kind of GPU.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // it measures

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix, GpuPath};
use common::id::{Attempt, GpuIndex, JobId, JobKey, NodeName, QueueName, Uid};
use common::node::{Inventory, Numa};
use common::policy::queue::Queue;
use common::policy::{Amounts, Moves, Policy};
use common::resource::{Allocation, GpuRequest, Request, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Gpus, Nodes, Tasks};
use engine::{Decision, NodeSnapshot, Snapshot, WaitingJob, schedule};
use std::collections::BTreeSet;
use std::sync::Arc;

const GPUS: u16 = 8;
const CPUS: u32 = 96;
const START: Time = Time(1_800_000_000_000);
const NOW: Time = Time(START.0 + 7_200_000);

fn kind() -> GpuKind {
    GpuKind("h100".to_owned())
}

fn inventory() -> Arc<Inventory> {
    let half = |at: u32| (at * CPUS / 2..(at + 1) * CPUS / 2).collect::<CpuSet>();
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: kind(),
        memory: Bytes(80 << 30),
        minor: index.into(),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(index / (GPUS / 2)),
        cpus: CpuSet::new(),
        mig: None,
    };
    let path = |a: u16, b: u16| if a == b { GpuPath::Own } else { GpuPath::NvLink(18) };
    let paths = (0..GPUS).map(|a| (0..GPUS).map(|b| path(a, b)).collect()).collect();
    let numa = |id: u16| Numa { id, cpus: half(id.into()), memory: Bytes(512 << 30) };
    Arc::new(Inventory {
        sockets: 2,
        threads_per_core: 1,
        cpus: CpuSet::first_n(CPUS),
        cores: (0..CPUS).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![numa(0), numa(1)],
        memory: Bytes(1 << 40),
        gpus: (0..GPUS).map(gpu).collect(),
        gpu_matrix: GpuMatrix { paths },
        boot_id: String::new(),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: Vec::new(),
    })
}

fn name(node: usize) -> NodeName {
    NodeName::new(format!("n{node:05}")).expect("a name of letters and digits")
}

fn queue(name: &str, quota: u32) -> Queue {
    let mut queue = Queue {
        memory_per_cpu: Bytes(1 << 30),
        ..Queue::with_defaults(QueueName::new(name).expect("a name of letters"))
    };
    queue.quota.amounts = Amounts { gpus_any: Some(Gpus(quota)), ..Amounts::default() };
    queue.preemption.preemptible = true;
    queue
}

/// A number of nodes, and two queues with these quotas.
struct World {
    snapshot: Snapshot,
    jobs: u32,
}

impl World {
    fn new(nodes: usize, owed: [u32; 2]) -> Self {
        Self::with_moves(nodes, owed, Moves::default())
    }

    fn with_moves(nodes: usize, owed: [u32; 2], moves: Moves) -> Self {
        let mut snapshot = Snapshot::default();
        let queues = vec![queue("first", owed[0]), queue("second", owed[1])];
        let policy = Policy { queues, fair_sharing: true, moves, ..Policy::default() };
        snapshot.set_policy(Arc::new(policy));
        let inventory = inventory();
        for node in 0..nodes {
            snapshot.set_node(&NodeSnapshot::usable(name(node), inventory.clone()));
        }
        Self { snapshot, jobs: 0 }
    }

    /// Adds a waiting job with `gpus` GPUs on each of `nodes` nodes.
    fn add(&mut self, queue: &str, nodes: u32, gpus: u32, preemptible: bool) -> JobKey {
        self.jobs += 1;
        let key = JobKey::single(JobId(self.jobs));
        let request = Request {
            nodes: Some(Nodes(nodes)),
            tasks: Tasks(nodes),
            gpus: Some(GpuRequest::PerNode(Gpus(gpus))),
            gpu_kind: Some(kind()),
            ..Request::default()
        };
        self.snapshot.set_waiting(WaitingJob {
            key,
            attempt: Attempt(1),
            owner: Uid(1000),
            queue: QueueName::new(queue).expect("a name of letters"),
            request: Arc::new(request),
            time_limit: Some(Span::from_minutes(24 * 60)),
            nice: 0,
            submitted_at: Time(START.0 - 1_000_000_000 + u64::from(self.jobs)),
            begin_at: None,
            not_before: None,
            held: false,
            array_limit: None,
            account: None,
            qos: None,
            deadline: None,
            preemptible: Some(preemptible),
            reservation: None,
            service: false,
            together: None,
            near_all: None,
            expected: None,
            awaits: false,
        });
        key
    }

    /// Fills each GPU with a running job of one GPU.
    fn fill(&mut self, nodes: usize, keeps_one_a_node: bool) {
        for node in 0..nodes {
            (0..GPUS).for_each(|gpu| self.run_job((node, gpu), !(keeps_one_a_node && gpu == 0)));
        }
    }

    /// Runs a job of one GPU on this GPU of a node.
    fn run_job(&mut self, (node, gpu): (usize, u16), preemptible: bool) {
        let key = self.add("first", 1, 1, preemptible);
        let share = Share {
            gpu_milli: None,
            node: name(node),
            tasks: Tasks(1),
            cpus: CpuSet::from_iter([u32::from(gpu)]),
            memory: Bytes(1 << 30),
            gpus: [GpuIndex(gpu)].into(),
        };
        let allocation = Allocation::new(vec![share]).expect("one share");
        self.snapshot.start(key, allocation, START);
    }
}

fn workloads() -> Vec<(&'static str, Snapshot)> {
    let mut many = World::new(500, [0, 4000]);
    many.fill(500, false);
    (0..4000).for_each(|_| _ = many.add("second", 1, 1, true));
    let mut one = World::new(500, [2000, 2000]);
    one.fill(500, false);
    one.add("second", 1, 1, true);
    let mut large = World::new(10_000, [40_000, 40_000]);
    large.fill(10_000, false);
    large.add("second", 1, 1, true);
    // One job of each node is not preemptible, so no node can be emptied.
    let mut gang = World::new(500, [2000, 2000]);
    gang.fill(500, true);
    gang.add("second", 10, 8, true);
    // A job of one GPU on each node: a gang has room once ten of them have moved.
    let free_moves = Moves { per_hour: 1000, lost_gpu_minutes_max: 1000 };
    let mut moving = World::with_moves(500, [2000, 4000], free_moves);
    (0..500).for_each(|node| moving.run_job((node, 0), true));
    (0..41).for_each(|_| _ = moving.add("second", 10, 8, true));
    let named = [
        ("4,000 jobs reclaim 4,000", many),
        ("reclaim one GPU of 4,000", one),
        ("reclaim one GPU of 80,000 (10,000 nodes)", large),
        ("a gang of 10 x 8 GPUs has no place", gang),
        ("jobs move for 41 gangs of 10 x 8", moving),
    ];
    named.into_iter().map(|(name, world)| (name, world.snapshot)).collect()
}

/// CPU time of this thread, so that other load on the machine does not count.
fn used_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let used = text.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
    used.expect("Linux says how long a thread has run") / 1e6
}

/// The clock may advance in steps of some milliseconds. A short run is repeated for at least this
/// long, and the time is divided.
const LEAST_MS: f64 = 100.0;

/// The median of up to five runs, and the last result.
fn median_run_time<T>(mut run: impl FnMut() -> T) -> (f64, T) {
    let mut times: Vec<f64> = Vec::new();
    loop {
        let (begin, mut count) = (used_ms(), 0.0);
        let (used, result) = loop {
            let result = run();
            count += 1.0;
            let used = used_ms() - begin;
            if used >= LEAST_MS {
                break (used, result);
            }
        };
        times.push(used / count);
        // Long runs are not repeated as often.
        if times.len() == 5 || times.iter().sum::<f64>() > 10_000.0 {
            times.sort_by(f64::total_cmp);
            return (times[times.len() / 2], result);
        }
    }
}

fn main() {
    println!("| workload | CPU time, median of up to 5 (ms) | jobs stopped or moved | for |");
    println!("|---|---:|---:|---:|");
    // `--only TEXT`: only the workloads whose names contain the text.
    let only = std::env::args().skip_while(|one| one != "--only").nth(1).unwrap_or_default();
    for (name, mut snapshot) in workloads().into_iter().filter(|(name, _)| name.contains(&only)) {
        snapshot.prepare_for_round(NOW);
        let (time, round) = median_run_time(|| schedule(&snapshot, NOW));
        let by = |decision: &Decision| match decision {
            Decision::Preempt { by, .. } => Some(*by),
            _ => None,
        };
        let stopped = round.decisions.iter().filter_map(by).count();
        let jobs: BTreeSet<JobKey> = round.decisions.iter().filter_map(by).collect();
        println!("| {name} | {time:.1} | {stopped} | {} |", jobs.len());
    }
}
