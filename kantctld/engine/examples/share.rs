//! `cargo xtask bench share`: how long a fair round takes on the workloads that KAI Scheduler
//! publishes (500 nodes of 8 GPUs), and on one of 10,000 nodes. Never a test: it prints times.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // it measures

use engine::fair::runtime::Protection;
use engine::fair::tree::{QueueAt, Terms};
use engine::fair::world::{
    GpuAsk, Group, GroupAt, Job, JobAt, Least, Node, NodeAt, Task, TaskAt, TaskState,
};
use engine::fair::{Act, Amount, Plan, Step, World, plan};
use std::sync::Arc;

/// What a workload asks for, and the steps that it is about.
struct Workload {
    name: &'static str,
    world: World,
    steps: Vec<Step>,
}

fn queue(name: &str, quota: i64, created: u64) -> Terms {
    let quota = Amount { gpu_milli: quota * 1000, ..Amount::UNLIMITED };
    Terms {
        name: name.to_owned(),
        parent: None,
        priority: 100,
        created,
        quota,
        firm: quota,
        limit: Amount::UNLIMITED,
        weight: [1.0; 3],
        protection: Protection::default(),
    }
}

fn world(nodes: usize) -> World {
    let node = |at: usize| Node {
        name: format!("n{at:05}"),
        gpus: 8,
        cpu_milli: 96_000,
        memory_bytes: 1 << 40,
        tasks_max: 110,
        ..Node::default()
    };
    let owed = 4 * nodes as i64;
    World {
        nodes: (0..nodes).map(node).collect(),
        queues: vec![queue("first", owed, 0), queue("second", owed, 1)],
        ..World::default()
    }
}

/// A job of so many tasks with so many GPUs each; where they run, if they do.
fn add(world: &mut World, queue: usize, tasks: usize, gpus: u32, on: Option<usize>, keeps: bool) {
    let job = JobAt(world.jobs.len());
    let from = world.tasks.len();
    for _ in 0..tasks {
        world.tasks.push(Task {
            cpu_milli: 1000,
            memory_bytes: 1 << 30,
            gpus: GpuAsk::Whole(gpus),
            state: if on.is_some() { TaskState::Running } else { TaskState::Waiting },
            node: on.map(NodeAt),
            group: Some(GroupAt(0)),
            only_nodes: None::<Arc<Vec<NodeAt>>>,
            ..Task::default()
        });
        world.job_of.push(job);
    }
    world.jobs.push(Job {
        name: format!("j{:06}", job.0),
        queue: QueueAt(queue),
        priority: 50,
        is_preemptible: !keeps,
        submitted: job.0 as i64,
        runs_for: None,
        stale_for: None,
        stale_grace: None,
        patience: common::time::Span(0),
        waited: common::time::Span(0),
        may_start: true,
        may_reclaim: true,
        may_preempt: true,
        is_apart: false,
        alike: None,
        turn: None,
        was_tried: false,
        stays: false,
        groups: vec![Group {
            name: String::new(),
            parent: None,
            least: Least::Tasks(tasks),
            near: None,
        }],
        tasks: (from..from + tasks).map(TaskAt).collect(),
    });
}

/// Everything is held by the first queue's jobs of one GPU.
fn full(nodes: usize) -> World {
    let mut world = world(nodes);
    for at in 0..nodes * 8 {
        add(&mut world, 0, 1, 1, Some(at / 8), false);
    }
    world
}

fn workloads() -> Vec<Workload> {
    let all = Step::ALL.to_vec();
    let mut many = full(500);
    many.queues[1].quota.gpu_milli = 4_000_000;
    many.queues[0].quota.gpu_milli = 0;
    (0..4000).for_each(|_| add(&mut many, 1, 1, 1, None, false));
    let mut one = full(500);
    add(&mut one, 1, 1, 1, None, false);
    let mut large = full(10_000);
    add(&mut large, 1, 1, 1, None, false);
    let mut gang = world(500);
    for at in 0..4000 {
        // One of each node's jobs yields to nobody, so that no node can be emptied.
        add(&mut gang, 0, 1, 1, Some(at / 8), at % 8 == 0);
    }
    add(&mut gang, 1, 10, 8, None, false);
    let mut apart = world(500);
    (0..500).for_each(|at| add(&mut apart, 0, 1, 1, Some(at), false));
    (0..41).for_each(|_| add(&mut apart, 1, 10, 8, None, false));
    apart.queues[1].quota.gpu_milli = 4_000_000;
    let moves = vec![Step::Allocate, Step::Consolidate];
    vec![
        Workload { name: "4,000 jobs reclaim 4,000", world: many, steps: all.clone() },
        Workload { name: "reclaim one GPU of 4,000", world: one, steps: all.clone() },
        Workload { name: "reclaim one GPU of 80,000", world: large, steps: all.clone() },
        Workload { name: "a gang of 10 x 8 GPUs has no place", world: gang, steps: all },
        Workload { name: "jobs move for 41 gangs of 10 x 8", world: apart, steps: moves },
    ]
}

fn count(plan: &Plan, is: fn(&Act) -> bool) -> usize {
    plan.acts.values().filter(|act| is(act)).count()
}

/// CPU time of this thread: what else runs on the machine is not in it.
fn used_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let used = text.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
    used.expect("Linux says how long a thread has run") / 1e6
}

fn main() {
    println!("| workload | CPU time, median of up to 5 (ms) | promised | stopped | moved |");
    println!("|---|---:|---:|---:|---:|");
    for Workload { name, world, steps } in workloads() {
        let mut times: Vec<f64> = Vec::new();
        let mut last = Plan::default();
        // What takes long is not asked for again and again.
        while times.len() < 5 && times.iter().sum::<f64>() < 5_000.0 {
            let begin = used_ms();
            last = plan(&world, &steps);
            times.push(used_ms() - begin);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "| {name} | {:.1} | {} | {} | {} |",
            times[times.len() / 2],
            count(&last, |act| matches!(act, Act::Reserve(..))),
            count(&last, |act| matches!(act, Act::Evict(..))),
            count(&last, |act| matches!(act, Act::Move(..))),
        );
    }
}
