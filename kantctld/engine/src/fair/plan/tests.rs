//! Tests of how far the searches of a round reach. The choice of victims is tested by the KAI
//! cases.

use super::*;
use crate::fair::runtime::Protection;
use crate::fair::tree::{Terms, Tree};
use crate::fair::world::{GpuAsk, Group, GroupAt, Job, Least, Node, Task};
use proptest::prelude::*;

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

/// A job with this number of GPUs on each of these nodes or, if there are none, on any one.
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

/// Forty nodes of 8 GPUs, in groups of `nodes_each`. On each group, a job of queue b, which
/// borrows, holds 4 GPUs per node, and a job that is not preemptible holds the other 4. A job that
/// asks for 8 GPUs on one node never has room.
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
        queues: Tree::new(vec![queue("a"), queue("b"), queue("c")]),
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
    // The first job would need sixty searches if all were made.
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

/// On one node of 6 GPUs, queue a, the older, and b hold 3 each; c has a quota of 2: the fair share
/// of each is 2.
fn two_over_their_due() -> World {
    let node =
        Node { name: "n".to_owned(), gpus: 6, cpu_milli: 1000, tasks_max: 100, ..Node::default() };
    let mut queues = ["a", "b", "c"].map(queue).to_vec();
    (0..3).for_each(|at| queues[at].created = at as u64);
    queues[2].quota.gpu_milli = 2000;
    let mut world = World { nodes: vec![node], queues: Tree::new(queues), ..World::default() };
    for queue in [0, 1, 0, 1, 0, 1] {
        add(&mut world, queue, 1, &[0], true);
    }
    world
}

/// What each of these queues holds after others were preempted for a job of queue c.
fn left_after(world: &World, queues: [usize; 2]) -> [i64; 2] {
    let plan = plan(world, &[Step::Allocate, Step::Reclaim]);
    assert!(!plan.gone.is_empty(), "{:?}", plan.in_vain);
    queues.map(|at| plan.accounts[at].allocated.gpu_milli / 1000)
}

fn gang(world: &mut World, queue: usize, tasks: usize) -> JobAt {
    let task = || Task { gpus: GpuAsk::Whole(1), group: Some(GroupAt(0)), ..Task::default() };
    push(world, queue, (0..tasks).map(|_| task()).collect(), true)
}

#[test]
fn a_gang_takes_one_from_each_of_two_queues_that_hold_one_more_than_their_due() {
    let mut world = two_over_their_due();
    gang(&mut world, 2, 2);
    assert_eq!(left_after(&world, [0, 1]), [2, 2]);
}

proptest! {
    /// All queues have one priority and every job holds one GPU, as priority goes before shares.
    #[test]
    fn no_queue_ends_below_its_due_while_another_keeps_more_than_its_due(
        quotas in prop::collection::vec(0..4i64, 4),
        weights in prop::collection::vec(1..4u8, 4),
        holds in prop::collection::vec(0..3usize, 4..17),
        asks in 1..5usize,
    ) {
        let nodes = holds.len().div_ceil(4);
        let gpus = |at: usize| u32::try_from((holds.len() - 4 * at).min(4)).unwrap();
        let mut world = world(1, 1000);
        world.jobs.clear();
        world.tasks.clear();
        world.job_of.clear();
        let node = |at| Node { gpus: gpus(at), ..world.nodes[0].clone() };
        world.nodes = (0..nodes).map(node).collect();
        let mut queues = ["a", "b", "c", "d"].map(queue).to_vec();
        for (at, terms) in queues.iter_mut().enumerate() {
            terms.created = at as u64;
            terms.quota.gpu_milli = 1000 * quotas[at];
            terms.weight = [f64::from(weights[at]); 3];
        }
        world.queues = Tree::new(queues);
        for (at, queue) in holds.iter().enumerate() {
            add(&mut world, *queue, 1, &[at / 4], true);
        }
        gang(&mut world, 3, asks);
        let plan = plan(&world, &[Step::Allocate, Step::Reclaim]);
        let of = |task: &TaskAt| world.jobs[world.job_of[task.0].0].queue;
        let stands = |at: QueueAt| {
            let account = &plan.accounts[at.0];
            account.allocated.gpu_milli.cmp(&account.fair.gpu_milli)
        };
        let is_above = (0..3).any(|at| stands(QueueAt(at)).is_gt());
        for queue in plan.gone.iter().map(of) {
            prop_assert!(!(stands(queue).is_lt() && is_above), "{:?}", plan.accounts);
        }
    }
}

/// A tree of `levels` levels, with four queues below each: a job waits in each of the lowest.
fn deep(levels: u32) -> World {
    let mut world = World { nodes: world(1, 0).nodes, ..World::default() };
    let mut queues = Vec::new();
    let mut above: Vec<Option<QueueAt>> = vec![None];
    for level in 0..levels {
        let mut below = Vec::new();
        for (parent, place) in above.into_iter().flat_map(|one| (0..4).map(move |at| (one, at))) {
            let name = format!("{level}-{}-{place}", parent.map_or(0, |at: QueueAt| at.0));
            below.push(Some(QueueAt(queues.len())));
            queues.push(Terms { parent, ..queue(&name) });
        }
        above = below;
    }
    world.queues = Tree::new(queues);
    for leaf in above.into_iter().flatten() {
        add(&mut world, leaf.0, 1, &[], true);
    }
    world
}

#[test]
fn queues_are_compared_on_the_way_to_a_job_and_not_all_of_them_for_each() {
    for levels in [3, 5] {
        let world = deep(levels);
        let plan = plan(&world, &[Step::Allocate]);
        assert_eq!(plan.turns.len(), world.jobs.len().min(320), "of 40 nodes of 8 GPUs");
        // Each queue once at the start; then its siblings and ancestors, when a job starts and when
        // no more of it is left.
        let once = world.queues.terms.len();
        let most = once + 2 * world.jobs.len() * 3 * levels as usize;
        assert!(plan.compared <= most as u64, "{} comparisons, {most} at most", plan.compared);
    }
}
