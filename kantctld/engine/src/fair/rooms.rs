//! An upper bound on how many equal tasks would have a place if some others left, summed node by
//! node. Where the bound is too low, no trial is needed.
//!
//! Source: ours. A search for victims tries many sets that free a little of a node here and there;
//! to sum what those nodes would hold costs a thousandth of a trial.

use super::board::{Board, Seat, State};
use super::gang::Gang;
use super::ground::{Load, NodeLoad};
use super::tree::QueueAt;
use super::world::{GpuAsk, JobAt, NodeAt, Task, TaskAt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many of the tasks each node has room for on the initial board, as a base for trials.
pub(super) struct Rooms {
    /// One of the tasks; the others ask for the same.
    like: TaskAt,
    /// Whether no two of them may share a node.
    is_apart: bool,
    /// How many each node has room for as it is.
    by_node: Vec<usize>,
    all: usize,
}

impl Rooms {
    /// The room for these tasks of a job. `None`: the tasks differ, or ask for something that is
    /// not summed here.
    pub fn of(board: &Board<'_>, job: JobAt, tasks: &[TaskAt]) -> Option<Self> {
        let known = &board.world.tasks;
        let first = &known[tasks.first()?.0];
        let is_plain = matches!(first.gpus, GpuAsk::None | GpuAsk::Whole(_));
        let is_like = |task: &TaskAt| {
            let other = &known[task.0];
            other.gpus == first.gpus
                && other.cpu_milli == first.cpu_milli
                && other.memory_bytes == first.memory_bytes
                && other.slots == first.slots
                && is_same(other.only_nodes.as_ref(), first.only_nodes.as_ref())
                && is_same(other.not_nodes.as_ref(), first.not_nodes.as_ref())
        };
        if !is_plain || !tasks.iter().all(is_like) {
            return None;
        }
        // Tasks of different groups may share a node.
        let is_one = tasks.iter().all(|task| known[task.0].group == first.group);
        let is_apart = is_one && board.world.jobs[job.0].is_apart;
        let mut rooms = Self { like: tasks[0], is_apart, by_node: Vec::new(), all: 0 };
        let nodes = (0..board.nodes.len()).map(NodeAt);
        let as_is = |at: NodeAt| (&board.nodes[at.0], board.devices(at));
        rooms.by_node = nodes.map(|at| rooms.on(board, at, as_is(at))).collect();
        rooms.all = rooms.by_node.iter().sum();
        Some(rooms)
    }

    /// An upper bound on how many tasks have room once these tasks have left the places that they
    /// had.
    pub fn without<'t>(&self, board: &Board<'_>, gone: impl Iterator<Item = &'t TaskAt>) -> usize {
        let mut nodes: BTreeMap<NodeAt, (NodeLoad, Vec<Load>)> = BTreeMap::new();
        for task in gone {
            let Some(place) = &board.seats[task.0].place else { continue };
            let as_is = || (board.nodes[place.node.0].clone(), board.devices(place.node).to_vec());
            let (load, devices) = nodes.entry(place.node).or_insert_with(as_is);
            let held = &board.world.tasks[task.0];
            load.cpu.leaving += held.cpu_milli;
            load.memory.leaving += held.memory_bytes;
            load.tasks.leaving += held.slots.max(1);
            for device in &place.devices {
                if let Some(device) = devices.get_mut(*device) {
                    device.leaving += place.milli;
                }
            }
        }
        let more = |(at, (load, devices)): (&NodeAt, &(NodeLoad, Vec<Load>))| {
            self.on(board, *at, (load, devices)).saturating_sub(self.by_node[at.0])
        };
        self.all + nodes.iter().map(more).sum::<usize>()
    }

    /// Whether there would be room for fewer than `many` tasks even if all preemptible jobs of
    /// these queues left, named or not, and all reservations were dropped. `false` also where all
    /// jobs are named.
    pub fn are_too_few(
        &self,
        board: &Board<'_>,
        many: usize,
        may: impl Fn(QueueAt) -> bool,
    ) -> bool {
        let rests = &board.world.unseen.queues;
        let rests = rests.iter().enumerate().filter(|(at, _)| may(QueueAt(*at)));
        let mut nodes: BTreeMap<NodeAt, (NodeLoad, Vec<Load>)> = BTreeMap::new();
        let as_is = |at: NodeAt| (board.nodes[at.0].clone(), board.devices(at).to_vec());
        for (at, held, devices) in rests.flat_map(|(_, rest)| rest.spots.each()) {
            let (load, on_devices) = nodes.entry(at).or_insert_with(|| as_is(at));
            load.cpu.leaving += held.cpu_milli;
            load.memory.leaving += held.memory_bytes;
            load.tasks.leaving += held.slots;
            for (device, milli) in on_devices.iter_mut().zip(devices) {
                device.leaving += milli;
            }
        }
        let has_planned_start = |seat: &&Seat| seat.state == State::Promised;
        let promised =
            board.seats.iter().filter(has_planned_start).filter_map(|seat| seat.place.as_ref());
        for at in promised.map(|place| place.node) {
            let (load, devices) = nodes.entry(at).or_insert_with(|| as_is(at));
            let all = [&mut load.cpu, &mut load.memory, &mut load.tasks];
            all.into_iter().chain(devices).for_each(|load| load.promised = 0);
        }
        let more = |(at, (load, devices)): (&NodeAt, &(NodeLoad, Vec<Load>))| {
            self.on(board, *at, (load, devices)).saturating_sub(self.by_node[at.0])
        };
        !board.world.unseen.queues.is_empty()
            && self.all + nodes.iter().map(more).sum::<usize>() < many
    }

    fn on(&self, board: &Board<'_>, at: NodeAt, (load, devices): (&NodeLoad, &[Load])) -> usize {
        let task = &board.world.tasks[self.like.0];
        let is_in = |list: &Arc<Vec<NodeAt>>| list.binary_search(&at).is_ok();
        if board.world.nodes[at.0].is_closed
            || task.only_nodes.as_ref().is_some_and(|only| !is_in(only))
            || task.not_nodes.as_ref().is_some_and(is_in)
        {
            return 0;
        }
        let times = |free: i64, each: i64| match each {
            0 => usize::MAX,
            each => usize::try_from(free / each).unwrap_or(0),
        };
        let by_gpus = match task.gpus {
            GpuAsk::Whole(gpus) if gpus > 0 => {
                devices.iter().filter(|device| device.later() >= 1000).count() / gpus as usize
            }
            _ => usize::MAX,
        };
        let most = if self.is_apart { 1 } else { usize::MAX };
        times(load.cpu.later(), task.cpu_milli)
            .min(times(load.memory.later(), task.memory_bytes))
            .min(times(load.tasks.later(), task.slots.max(1)))
            .min(by_gpus)
            .min(most)
    }
}

/// What a set of tasks that start together asks of nodes. Either all jobs with equal requests have
/// room or none has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Room<'a> {
    many: usize,
    gpus: &'a GpuAsk,
    cpu_milli: i64,
    memory_bytes: i64,
    slots: i64,
    is_apart: bool,
    /// Lists of nodes, compared by address.
    only_nodes: Option<*const Vec<NodeAt>>,
    not_nodes: Option<*const Vec<NodeAt>>,
}

/// The request of these tasks of a job, of which none has a place. `None`: the tasks differ, or ask
/// for more than this describes.
pub(super) fn room_for<'a>(board: &Board<'a>, job: JobAt, tasks: &[TaskAt]) -> Option<Room<'a>> {
    let (known, world) = (&board.world.jobs[job.0], board.world);
    let first = &world.tasks[tasks.first()?.0];
    let room = |task: &'a Task| Room {
        many: tasks.len(),
        gpus: &task.gpus,
        cpu_milli: task.cpu_milli,
        memory_bytes: task.memory_bytes,
        slots: task.slots,
        is_apart: known.is_apart,
        only_nodes: task.only_nodes.as_ref().map(Arc::as_ptr),
        not_nodes: task.not_nodes.as_ref().map(Arc::as_ptr),
    };
    let is_plain = |task: &Task| task.near.is_none() && task.apart.is_none();
    let wanted = room(first);
    let is_like = |task: &'a Task| is_plain(task) && room(task) == wanted;
    let is_one = known.groups.len() == 1 && known.groups[0].near.is_none();
    let is_new = || Gang::of(board, job).active().is_empty();
    let may = is_one && tasks.iter().all(|task| is_like(&world.tasks[task.0])) && is_new();
    may.then_some(wanted)
}

/// The requests of jobs that have not had their turn, and those for which there is no room.
#[derive(Default)]
pub(super) struct Asked<'a> {
    /// The number of jobs with each request.
    many: BTreeMap<Room<'a>, usize>,
    /// The number of jobs that may still find room.
    open: usize,
    none: BTreeSet<Room<'a>>,
}

impl<'a> Asked<'a> {
    /// Adds a job that is waiting for its first or next turn.
    pub fn waits(&mut self, board: &Board<'a>, job: JobAt) {
        let tasks = Gang::of(board, job).next();
        let room = room_for(board, job, &tasks);
        self.open += usize::from(!self.has_none(room.as_ref()));
        if let Some(room) = room {
            *self.many.entry(room).or_default() += 1;
        }
    }

    /// Removes a job whose turn it is.
    pub fn has_turn(&mut self, room: Option<&Room<'a>>) {
        self.open -= usize::from(!self.has_none(room));
        if let Some(many) = room.and_then(|room| self.many.get_mut(room)) {
            *many -= 1;
        }
    }

    /// Notes that there is no room for this request. `None`: the request is not comparable with
    /// others.
    pub fn found_none(&mut self, room: Option<Room<'a>>) {
        if let Some(room) = room {
            self.open -= self.many.get(&room).copied().unwrap_or(0);
            self.none.insert(room);
        }
    }

    pub fn has_none(&self, room: Option<&Room<'a>>) -> bool {
        room.is_some_and(|room| self.none.contains(room))
    }

    /// Whether any job may still find room.
    pub const fn is_any_open(&self) -> bool {
        self.open > 0
    }
}

fn is_same(a: Option<&Arc<Vec<NodeAt>>>, b: Option<&Arc<Vec<NodeAt>>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::tree::Tree;
    use crate::fair::world::{Node, Task, TaskState, World};

    /// Two nodes of 8 GPUs. Job 0 holds 2 of the first, job 1 holds 7 of the second; job 2 asks for
    /// three tasks of 4.
    fn world() -> World {
        let node = Node { gpus: 8, cpu_milli: 8000, tasks_max: 9, ..Node::default() };
        let task = |gpus, node: Option<usize>| Task {
            gpus: GpuAsk::Whole(gpus),
            state: if node.is_some() { TaskState::Running } else { TaskState::Waiting },
            node: node.map(NodeAt),
            ..Task::default()
        };
        let mut world = World {
            nodes: vec![node.clone(), node],
            queues: Tree::new(vec![crate::fair::plan::tests::queue("a")]),
            ..World::default()
        };
        let waits = || task(4, None);
        for tasks in
            [vec![task(2, Some(0))], vec![task(7, Some(1))], vec![waits(), waits(), waits()]]
        {
            crate::fair::plan::tests::push(&mut world, 0, tasks, true);
        }
        world
    }

    #[test]
    fn what_each_node_would_take_is_added_up() {
        let world = world();
        let board = Board::new(&world);
        let tasks = &world.jobs[2].tasks;
        let rooms = Rooms::of(&board, JobAt(2), tasks).unwrap();
        let gone = |jobs: &[usize]| {
            let tasks: Vec<TaskAt> =
                jobs.iter().flat_map(|at| world.jobs[*at].tasks.clone()).collect();
            rooms.without(&board, tasks.iter())
        };
        assert_eq!([gone(&[]), gone(&[0]), gone(&[1]), gone(&[0, 1])], [1, 2, 3, 4]);
    }

    #[test]
    fn tasks_that_differ_are_not_added_up() {
        let mut world = world();
        world.tasks[3].gpus = GpuAsk::Whole(1);
        let board = Board::new(&world);
        assert!(Rooms::of(&board, JobAt(2), &world.jobs[2].tasks).is_none());
    }
}
