//! How far the searches of a round reach. Never which victims are right: the cases say that.

use super::*;
use crate::fair::runtime::Protection;
use crate::fair::tree::Terms;
use crate::fair::world::{GpuAsk, Group, GroupAt, Job, Least, Node, Task};

pub(in crate::fair) fn queue(name: &str) -> Terms {
    let quota = Amount { gpu_milli: 0, ..Amount::UNLIMITED };
    Terms {
        name: name.to_owned(),
        parent: None,
        priority: 0,
        created: 0,
        quota,
        firm: Amount::UNLIMITED,
        limit: Amount::UNLIMITED,
        weight: [1.0; 3],
        protection: Protection::default(),
    }
}

/// A job of so many GPUs on each of these nodes or, if there are none, on any one.
fn add(world: &mut World, queue: usize, gpus: u32, on: &[usize], is_preemptible: bool) -> JobAt {
    let places: Vec<Option<NodeAt>> =
        if on.is_empty() { vec![None] } else { on.iter().map(|at| Some(NodeAt(*at))).collect() };
    let task = |node: Option<NodeAt>| {
        let state = if node.is_some() { TaskState::Running } else { TaskState::Waiting };
        let (gpus, group) = (GpuAsk::Whole(gpus), Some(GroupAt(0)));
        Task { gpus, state, group, node, ..Task::default() }
    };
    push(world, queue, places.into_iter().map(task).collect(), is_preemptible)
}

/// A job of these tasks.
pub(in crate::fair) fn push(
    world: &mut World,
    queue: usize,
    tasks: Vec<Task>,
    is_preemptible: bool,
) -> JobAt {
    let (at, from) = (JobAt(world.jobs.len()), world.tasks.len());
    let least = Least::Tasks(tasks.len());
    let places = (from..from + tasks.len()).map(TaskAt).collect();
    world.job_of.extend(tasks.iter().map(|_| at));
    world.tasks.extend(tasks);
    world.jobs.push(Job {
        name: format!("{:04}", at.0),
        queue: QueueAt(queue),
        priority: 0,
        is_preemptible,
        submitted: at.0 as i64,
        runs_for: None,
        stale_for: None,
        stale_grace: None,
        patience: Span(0),
        waited: Span(0),
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
        groups: vec![Group { name: String::new(), parent: None, least, near: None }],
        tasks: places,
    });
    at
}

/// On 40 nodes of 8 GPUs jobs of queue b, which borrows, hold 4 on each of so many, and 4 beside
/// them yield to nobody: who asks for 8 on one node never has room.
fn world(nodes_each: usize, trials_max: u32) -> World {
    let node = |at: usize| Node {
        name: format!("n{at:02}"),
        gpus: 8,
        cpu_milli: 1000,
        tasks_max: 100,
        ..Node::default()
    };
    let mut world = World {
        nodes: (0..40).map(node).collect(),
        queues: vec![queue("a"), queue("b"), queue("c")],
        ..World::default()
    };
    world.settings.trials_max = trials_max;
    let nodes: Vec<usize> = (0..40).collect();
    for some in nodes.chunks(nodes_each) {
        add(&mut world, 1, 4, some, true);
        add(&mut world, 2, 4, some, false);
    }
    world
}

fn has_room(world: &World, job: JobAt) -> Plan {
    let plan = plan(world, &[Step::Allocate, Step::Reclaim]);
    let task = world.jobs[job.0].tasks[0];
    assert!(plan.acts.contains_key(&task), "{:?}, {}", plan.in_vain, plan.ran_out);
    plan
}

#[test]
fn it_is_proved_that_nobody_makes_room_where_victims_are_on_two_nodes_as_well() {
    // Sixty searches for the first, were all of them made.
    let mut world = world(2, 30);
    add(&mut world, 0, 8, &[], true);
    let small = add(&mut world, 0, 1, &[], true);
    assert!(!has_room(&world, small).ran_out);
}

#[test]
fn of_jobs_alike_one_is_searched_for() {
    let mut world = world(1, 30);
    for _ in 0..50 {
        let job = add(&mut world, 0, 8, &[], true);
        world.jobs[job.0].alike = Some(7);
    }
    let small = add(&mut world, 0, 1, &[], true);
    let plan = has_room(&world, small);
    assert_eq!((plan.in_vain.len(), plan.ran_out), (50, false));
}

#[test]
fn who_is_behind_those_that_use_up_all_searches_has_its_turn_in_a_later_round() {
    let mut world = world(1, 10);
    let large: Vec<JobAt> = (0..3).map(|_| add(&mut world, 0, 8, &[], true)).collect();
    let small = add(&mut world, 0, 1, &[], true);
    for (round, job) in large.iter().enumerate() {
        let plan = plan(&world, &[Step::Allocate, Step::Reclaim]);
        assert!(plan.is_unfinished && plan.in_vain.contains(job), "round {round}");
        plan.in_vain.iter().for_each(|at| world.jobs[at.0].was_tried = true);
    }
    assert!(!has_room(&world, small).is_unfinished, "all had their turn");
}
