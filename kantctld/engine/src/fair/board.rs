//! The working state of a plan: the seat of each task, and all sums that follow from the seats.
//! Every change can be undone.

use super::amount::Amount;
use super::counted::{amount, in_hundreds};
use super::ground::{Load, NodeLoad};
use super::tree::Tree;
use super::world::{GpuAsk, NodeAt, Task, TaskAt, TaskState, World};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub node: NodeAt,
    pub devices: Vec<usize>,
    /// Thousandths of each device.
    pub milli: i64,
}

/// The state of a task on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    Running,
    /// Started by a decision of this round.
    Started,
    /// Has a place reserved, which it gets when others are gone.
    Promised,
    Leaving,
    Stuck,
    /// Ended, or not to start.
    Out,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    pub state: State,
    /// The place where it runs or will run.
    pub place: Option<Place>,
    /// The place that it has to leave.
    pub old: Option<Place>,
}

/// A point to roll back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(usize);

pub(super) struct Board<'a> {
    pub world: &'a World,
    pub tree: Tree,
    /// The total capacity of open nodes.
    pub total: Amount,
    pub nodes: Vec<NodeLoad>,
    /// The devices of all nodes, in thousandths of each device.
    pub(super) devices: Vec<Load>,
    pub spare: Amount,
    pub(super) has_spare: bool,
    pub seats: Vec<Seat>,
    log: Vec<(TaskAt, Seat)>,
    /// The memory of the smallest and of the largest GPU.
    pub memory_mib: (u64, u64),
}

impl<'a> Board<'a> {
    /// The board of a world before any decision.
    pub fn new(world: &'a World) -> Self {
        let known = || world.nodes.iter().filter(|node| node.gpus > 0);
        let memory = || known().filter_map(|node| node.gpu_memory_mib).map(in_hundreds);
        let memory_mib = (memory().min().unwrap_or(100), memory().max().unwrap_or(100));
        let mut board = Self {
            world,
            tree: world.queues.clone(),
            total: world
                .nodes
                .iter()
                .filter(|node| !node.is_closed)
                .fold(Amount::default(), |sum, node| sum.plus(&super::seat::capacity(node))),
            nodes: Vec::new(),
            devices: Vec::new(),
            spare: Amount::default(),
            has_spare: false,
            seats: vec![Seat { state: State::Out, place: None, old: None }; world.tasks.len()],
            log: Vec::new(),
            memory_mib,
        };
        for (account, usage) in board.tree.accounts.iter_mut().zip(&world.usage) {
            account.usage = *usage;
        }
        board.lay_out();
        let mut shared = BTreeMap::new();
        // Tasks with known devices first, then parts of GPUs. Whole devices take what is left.
        let turn = |task: &Task| match (&task.devices, &task.gpus) {
            (Some(_), _) => 0,
            (None, GpuAsk::Whole(_)) => 2,
            _ => 1,
        };
        for which in 0..3 {
            for (at, task) in world.tasks.iter().enumerate() {
                if turn(task) == which {
                    let seat = board.first_seat(task, &mut shared);
                    board.swap(TaskAt(at), seat);
                }
            }
        }
        board.count_spare();
        board.ask();
        board.keep_promises();
        board
    }

    fn first_seat(&self, task: &Task, shared: &mut BTreeMap<(NodeAt, String), usize>) -> Seat {
        let place = task.node.map(|node| super::seat::found(self, task, node, shared));
        let (state, is_there) = match task.state {
            TaskState::Waiting => (State::Waiting, false),
            TaskState::Running => (State::Running, true),
            TaskState::Leaving => (State::Leaving, true),
            TaskState::Stuck => (State::Stuck, true),
            TaskState::Promised => (State::Waiting, false),
            TaskState::Gated | TaskState::Failed | TaskState::Succeeded => (State::Out, false),
        };
        let place = place.filter(|_| is_there);
        match state {
            State::Leaving | State::Stuck => Seat { state, place: None, old: place },
            _ => Seat { state, place, old: None },
        }
    }

    /// Seats the tasks that have a place reserved.
    fn keep_promises(&mut self) {
        for at in 0..self.world.tasks.len() {
            let task = &self.world.tasks[at];
            let Some(node) = task.node.filter(|_| task.state == TaskState::Promised) else {
                continue;
            };
            if let Some(found) = super::seat::look(self, TaskAt(at), node) {
                let seat = Seat { state: State::Promised, place: Some(found.place), old: None };
                self.swap(TaskAt(at), seat);
            }
        }
    }

    /// Adds up all requests and computes the fair shares.
    fn ask(&mut self) {
        for (at, seat) in self.seats.iter().enumerate() {
            let job = &self.world.jobs[self.world.job_of[at].0];
            let asks = match (seat.state, &seat.place) {
                (State::Waiting, _) => self.at_most(TaskAt(at)),
                (State::Running, Some(place)) => self.amount_on(TaskAt(at), place.node),
                _ => continue,
            };
            self.tree.ask(job.queue, &asks);
        }
        self.tree.share_out(&self.total, self.world.settings.usage_strength);
    }

    /// The amount that a task counts for on a node.
    pub fn amount_on(&self, task: TaskAt, node: NodeAt) -> Amount {
        let memory = self.world.nodes[node.0].gpu_memory_mib.map_or(100, in_hundreds);
        amount(&self.world.tasks[task.0], memory)
    }

    /// The most that a task counts for on any node: on the smallest GPUs.
    pub fn at_most(&self, task: TaskAt) -> Amount {
        amount(&self.world.tasks[task.0], self.memory_mib.0)
    }

    /// The least that a task counts for on any node: on the largest GPUs.
    pub fn at_least(&self, task: TaskAt) -> Amount {
        amount(&self.world.tasks[task.0], self.memory_mib.1)
    }

    /// Changes a seat, so that it can be undone.
    pub fn set(&mut self, task: TaskAt, seat: Seat) {
        let before = self.swap(task, seat);
        self.log.push((task, before));
    }

    fn swap(&mut self, task: TaskAt, seat: Seat) -> Seat {
        let before = std::mem::replace(&mut self.seats[task.0], seat);
        self.add(task, &before, -1);
        let now = self.seats[task.0].clone();
        self.add(task, &now, 1);
        before
    }

    fn add(&mut self, task: TaskAt, seat: &Seat, sign: i64) {
        if let Some(place) = &seat.place {
            let is_held = seat.state != State::Promised;
            self.load(task, place, |load, amount| {
                let sum = if is_held { &mut load.held } else { &mut load.promised };
                *sum += sign * amount;
            });
            let job = &self.world.jobs[self.world.job_of[task.0].0];
            let amount = self.amount_on(task, place.node);
            self.tree.charge(job.queue, &amount, !job.is_preemptible, sign > 0);
        }
        if let Some(place) = &seat.old {
            let may_be_promised = seat.state != State::Stuck;
            self.load(task, place, |load, amount| {
                load.held += sign * amount;
                load.leaving += if may_be_promised { sign * amount } else { 0 };
            });
        }
    }

    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    pub fn go_back(&mut self, mark: Mark) {
        while self.log.len() > mark.0 {
            if let Some((task, seat)) = self.log.pop() {
                self.swap(task, seat);
            }
        }
    }

    /// The tasks that ran at the mark and do not run now.
    pub fn left_since(&self, mark: Mark) -> Vec<TaskAt> {
        let changed = self.log[mark.0..].iter();
        let ran = changed.filter(|(_, before)| before.state == State::Running);
        let tasks = ran.map(|(task, _)| *task);
        tasks.filter(|task| self.seats[task.0].state != State::Running).collect()
    }

    /// Makes a running task leave.
    pub fn evict(&mut self, task: TaskAt) {
        let seat = &self.seats[task.0];
        let old = seat.place.clone().filter(|_| seat.state == State::Running);
        let seat = match (&seat.state, old) {
            (State::Running, old) => Seat { state: State::Leaving, place: None, old },
            // A place that was reserved or taken in this round is only given back.
            (State::Promised, _) if seat.old.is_some() => {
                Seat { state: State::Leaving, place: None, old: seat.old.clone() }
            }
            _ => Seat { state: State::Waiting, place: None, old: None },
        };
        self.set(task, seat);
    }
}
