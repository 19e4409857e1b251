//! Large generated inputs: jobs, nodes and a policy of any size, the same each time.

use common::id::QueueName;
use common::policy::queue::Queue;
use common::policy::{Amounts, Order, Policy};
use common::time::{Span, Time};
use common::unit::{GpuMilli, Gpus, Nodes};
use sim::replay::Named;
use std::collections::BTreeMap;
use trace::{CpuMilli, Job, Node};

/// The input of a replay.
pub struct Input {
    pub name: &'static str,
    pub jobs: Vec<Job>,
    pub nodes: Vec<Node>,
    pub policy: Policy,
}

/// A pseudo-random number below `below` (splitmix64).
fn drawn(of: u64, below: u64) -> u64 {
    let mut bits = of.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x2545_f491_4f6c_dd1d);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)) % below
}

fn one_of<T: Copy>(all: &[T], of: u64) -> T {
    let at = usize::try_from(drawn(of, all.len() as u64)).expect("a place in a list");
    all[at]
}

#[allow(clippy::cast_precision_loss)]
fn job(number: usize, submit: u64, runtime: u64, walltime: u64) -> Job {
    Job {
        id: number as u64 + 1,
        submit: Time(submit * 1000),
        submit_seconds: submit as f64,
        runtime: Span(runtime * 1000),
        runtime_seconds: runtime as f64,
        walltime: Some(Span(walltime * 1000)),
        walltime_seconds: Some(walltime as f64),
        nodes: Nodes(1),
        gpus_per_node: Gpus(0),
        gpu_fraction: GpuMilli::WHOLE,
        gpu_models: Vec::new(),
        cpus: None,
        mem_mib: None,
        user: String::new(),
        group: String::new(),
        qos: String::new(),
        account: String::new(),
        kind: String::new(),
        status: String::new(),
        constraint: BTreeMap::new(),
    }
}

fn node(number: usize, gpus: u32, model: Option<&str>, (cpus, gib): (u32, u64)) -> Node {
    Node {
        name: format!("n{number:05}"),
        gpus: Gpus(gpus),
        gpu_model: model.map(str::to_owned),
        cpus: Some(CpuMilli(cpus * 1000)),
        mem_mib: Some(gib * 1024),
        leaf: None,
        spine: None,
        core: None,
    }
}

const MODELS: [&str; 5] = ["a100", "h100", "v100", "t4", "l40"];

/// Nodes with five models of GPU and nodes without GPUs, and jobs for shares of one GPU, for GPUs
/// of certain models and for CPUs only: more than the nodes can hold.
pub fn mixed(jobs: usize, nodes: usize) -> Input {
    let made = |number: usize| match number % 8 {
        0 | 1 => node(number, 0, None, one_of(&[(64, 256), (96, 512), (128, 1024)], number as u64)),
        kind => {
            let gpus = one_of(&[2, 4, 8], number as u64);
            node(number, gpus, Some(MODELS[kind % 5]), (12 * gpus, 64 * u64::from(gpus)))
        }
    };
    let nodes: Vec<Node> = (0..nodes).map(made).collect();
    let span = 3600;
    let all = jobs as u64;
    let asks = |number: usize| {
        let of = number as u64 * 16;
        let runtime = 600 + drawn(of, 20_000);
        let asked = runtime + drawn(of + 1, 4 * runtime);
        let mut job = job(number, number as u64 * span / all, runtime, asked);
        let cpus: u32 = one_of(&[1, 2, 4, 8, 12], of + 2);
        let mib = u64::from(cpus) * one_of(&[2048, 4096], of + 3);
        (job.cpus, job.mem_mib) = (Some(CpuMilli(1000 * cpus)), Some(mib));
        match drawn(of + 4, 10) {
            0..=2 => job.nodes = Nodes(one_of(&[1, 1, 1, 2, 4], of + 5)),
            3 | 4 => {
                job.gpus_per_node = Gpus(1);
                job.gpu_fraction = GpuMilli(one_of(&[100, 250, 330, 500, 750], of + 6));
            }
            _ => {
                job.gpus_per_node = Gpus(one_of(&[1, 1, 2, 4, 8], of + 7));
                job.nodes = Nodes(one_of(&[1, 1, 1, 1, 2, 4, 8], of + 8));
            }
        }
        if job.gpus_per_node > Gpus(0) && drawn(of + 9, 3) == 0 {
            job.gpu_models = vec![one_of(&MODELS, of + 10).to_owned()];
        }
        job
    };
    let policy = Named::Kant.policy();
    Input { name: "mixed", jobs: (0..jobs).map(asks).collect(), nodes, policy }
}

fn name(text: &str) -> QueueName {
    QueueName::new(text).expect("letters, digits and dashes make a name")
}

/// Fair shares among `wide` to the power of `levels` leaf queues: each queue has `wide` children.
/// Each leaf has one job.
pub fn queues(wide: usize, levels: u32) -> Input {
    let mut policy = Policy { queues: Vec::new(), fair_sharing: true, ..Policy::default() };
    let mut above: Vec<Option<QueueName>> = vec![None];
    for level in 0..levels {
        let mut level_queues = Vec::new();
        for parent in &above {
            for _ in 0..wide {
                let number = level_queues.len();
                let own = name(&format!("l{level}-{number}"));
                let mut queue =
                    Queue { parent: parent.clone(), ..Queue::with_defaults(own.clone()) };
                queue.default = level + 1 == levels && number == 0;
                queue.preemption.preemptible = true;
                queue.preemption.reclaim = true;
                queue.order = Order::Fifo;
                queue.quota.amounts =
                    Amounts { gpus_any: (level == 0).then_some(Gpus(16)), ..Amounts::default() };
                level_queues.push(Some(own));
                policy.queues.push(queue);
            }
        }
        above = level_queues;
    }
    let leaves = above.len();
    let nodes = (0..leaves.div_ceil(32)).map(|at| node(at, 8, Some("h100"), (96, 1024))).collect();
    let asks = |number: usize| {
        let of = number as u64 * 4;
        let runtime = 600 + drawn(of, 3000);
        let mut job = job(number, number as u64 / 16, runtime, runtime + 600);
        job.gpus_per_node = Gpus(one_of(&[1, 1, 2, 4, 8], of + 1));
        // Neighbours in time are not neighbours in the tree.
        job.group = format!("l{}-{}", levels - 1, (number * 1237) % leaves);
        job
    };
    Input { name: "queues", jobs: (0..leaves).map(asks).collect(), nodes, policy }
}

/// EASY backfill: jobs for one to hundreds of equal nodes, of any length.
pub fn easy(jobs: usize, nodes: usize) -> Input {
    let made = (0..nodes).map(|at| node(at, 8, Some("h100"), (96, 1024))).collect();
    let largest = (nodes as u64 / 4).max(2).ilog2();
    let asks = |number: usize| {
        let of = number as u64 * 8;
        let runtime = 60 + drawn(of, 40_000);
        let asked = runtime + drawn(of + 1, 3 * runtime);
        let mut job = job(number, number as u64 * 3600 / jobs as u64, runtime, asked);
        job.gpus_per_node = Gpus(one_of(&[1, 2, 4, 8, 8, 8], of + 2));
        // Mostly powers of two.
        let most = 1 << drawn(of + 3, u64::from(largest) + 1);
        let nodes = if drawn(of + 4, 8) == 0 { 1 + drawn(of + 5, most) } else { most };
        job.nodes = Nodes(u32::try_from(nodes).unwrap_or(1));
        job
    };
    let policy = Named::Easy.policy();
    Input { name: "easy", jobs: (0..jobs).map(asks).collect(), nodes: made, policy }
}
