//! A plan in which running jobs move to make room for gangs. Only the plan is measured, on a world
//! made for it, without a whole round.

use engine::fair::runtime::Protection;
use engine::fair::tree::{QueueAt, Terms, Tree};
use engine::fair::world::{
    GpuAsk, Group, GroupAt, Job, JobAt, Least, Node, NodeAt, Task, TaskAt, TaskState,
};
use engine::fair::{Act, Amount, Plan, Step, World, plan};
use std::sync::Arc;

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

/// Two queues; the second has a quota of this many GPUs.
fn world(nodes: usize, second: i64) -> World {
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
        queues: Tree::new(vec![queue("first", owed, 0), queue("second", second, 1)]),
        ..World::default()
    }
}

/// A job of `tasks` tasks with `gpus` GPUs each, and the nodes it runs on, if it runs.
fn add(world: &mut World, queue: usize, tasks: usize, gpus: u32, on: Option<usize>) {
    let job = JobAt(world.jobs.len());
    let from = world.tasks.len();
    let only = Arc::new((0..world.nodes.len()).map(NodeAt).collect::<Vec<_>>());
    for _ in 0..tasks {
        world.tasks.push(Task {
            cpu_milli: 1000,
            memory_bytes: 1 << 30,
            gpus: GpuAsk::Whole(gpus),
            state: if on.is_some() { TaskState::Running } else { TaskState::Waiting },
            node: on.map(NodeAt),
            group: Some(GroupAt(0)),
            only_nodes: Some(only.clone()),
            ..Task::default()
        });
        world.job_of.push(job);
    }
    world.jobs.push(Job {
        name: format!("j{:06}", job.0),
        queue: QueueAt(queue),
        priority: 50,
        is_preemptible: true,
        submitted: job.0 as i64,
        runs_for: None,
        stale_for: None,
        stale_grace: None,
        patience: common::time::Span(0),
        waited: common::time::Span(0),
        may_start: true,
        may_reclaim: true,
        may_preempt: true,
        may_move_others: true,
        is_apart: false,
        alike: None,
        turn: None,
        was_tried: false,
        stays: false,
        unsaved_since: None,
        may_move: true,
        groups: vec![Group {
            name: String::new(),
            parent: None,
            least: Least::Tasks(tasks),
            near: None,
        }],
        tasks: (from..from + tasks).map(TaskAt).collect(),
    });
}

/// 500 nodes of 8 GPUs with a job of one GPU on each, and 41 gangs of 10 x 8 GPUs.
pub fn for_gangs() -> World {
    let mut world = world(500, 4000);
    (0..500).for_each(|at| add(&mut world, 0, 1, 1, Some(at)));
    (0..41).for_each(|_| add(&mut world, 1, 10, 8, None));
    world
}

/// Makes room by moves only.
pub fn planned(world: &World) -> Plan {
    plan(world, &[Step::Allocate, Step::Consolidate])
}

/// The number of jobs that move, and the number of gangs that have room then.
pub fn counts(plan: &Plan) -> (usize, usize) {
    let count = |is: fn(&Act) -> bool| plan.acts.values().filter(|act| is(act)).count();
    let rooms = count(|act| matches!(act, Act::Reserve(..)));
    (count(|act| matches!(act, Act::Move(..))), rooms / 10)
}
