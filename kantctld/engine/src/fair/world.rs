//! What a fair round sees, as plain lists. Never changes while it is worked out; the board does.

pub use super::settings::Settings;
use super::tree::{QueueAt, Tree};
pub use super::unseen::Unseen;
use common::time::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node's place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeAt(pub usize);

/// A job's place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobAt(pub usize);

/// A task's place in the list of all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskAt(pub usize);

/// A group's place in its job's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupAt(pub usize);

/// How a node's GPUs are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cut {
    /// Not at all: whole GPUs and parts that jobs agree on.
    #[default]
    Whole,
    /// All in one profile, which counts as a GPU: whole GPUs alone.
    Single,
    /// In profiles that jobs name: nothing else.
    Mixed,
}

#[derive(Debug, Clone, Default)]
pub struct Node {
    /// Its name, for who reads it; a plan does not.
    pub name: String,
    pub gpus: u32,
    /// Of each device; `None`: not known, so that nobody may ask for it here.
    pub gpu_memory_mib: Option<u64>,
    /// Thousandths of a CPU.
    pub cpu_milli: i64,
    /// Bytes.
    pub memory_bytes: i64,
    /// So many tasks at once.
    pub tasks_max: i64,
    /// What topologies and affinities name.
    pub labels: BTreeMap<String, String>,
    /// How its GPUs are cut.
    pub cut: Cut,
    /// Of each profile, so many.
    pub slices: BTreeMap<String, i64>,
    /// Nothing new starts there, and it is nobody's share.
    pub is_closed: bool,
}

/// The GPUs that a task asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum GpuAsk {
    /// None.
    #[default]
    None,
    Whole(u32),
    /// So many thousandths of each of so many devices.
    Part {
        /// Thousandths of a device.
        milli: i64,
        /// Devices of one node.
        devices: u32,
    },
    /// So much memory of each of so many devices.
    Memory {
        mib: u64,
        /// Devices of one node.
        devices: u32,
    },
    Slices(BTreeMap<String, i64>),
}

/// What a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskState {
    #[default]
    Waiting,
    Gated,
    /// It holds its place.
    Running,
    /// It does not start yet, and its place is kept for it: others are on their way out there.
    Promised,
    /// It is on its way out: what it holds may be promised.
    Leaving,
    /// It is on its way out and does not get there: nothing of it may be promised.
    Stuck,
    /// It is over, and failed.
    Failed,
    /// It is over, and did what it was to do.
    Succeeded,
}

/// Tasks, by labels, that a task is to be near to or away from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affinity {
    /// The label of nodes that says what is near; `None`: the node itself.
    pub level: Option<String>,
    /// Tasks that have all of these.
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default)]
pub struct Task {
    pub name: String,
    /// Thousandths of a CPU.
    pub cpu_milli: i64,
    /// Bytes.
    pub memory_bytes: i64,
    pub gpus: GpuAsk,
    /// What it is doing.
    pub state: TaskState,
    pub node: Option<NodeAt>,
    /// On which shared devices of it: equal names are one device.
    pub device_names: Vec<String>,
    /// On which devices of it, where that is known.
    pub devices: Option<Vec<usize>>,
    /// Its group: a leaf of its job's.
    pub group: Option<GroupAt>,
    /// Only there, rising; `None`: anywhere.
    pub only_nodes: Option<Arc<Vec<NodeAt>>>,
    /// Not there, rising; `None`: anywhere.
    pub not_nodes: Option<Arc<Vec<NodeAt>>>,
    /// What others' affinities name.
    pub labels: BTreeMap<String, String>,
    /// Where it has to be near tasks.
    pub near: Option<Affinity>,
    /// Where it must not be.
    pub apart: Option<Affinity>,
    /// How many of a node's places for tasks it takes; 0 is one, too.
    pub slots: i64,
    /// Of its job's tasks the higher is placed first and let go last.
    pub order: i64,
}

/// How near tasks are to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearness {
    /// Which list of levels.
    pub topology: usize,
    /// All in one domain of this level (its place, widest first).
    pub required: Option<usize>,
    /// If it can be, in one of this.
    pub preferred: Option<usize>,
}

/// What a group needs to run at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// So many of its tasks.
    Tasks(usize),
    /// So many of the groups below it, each with what that needs.
    Groups(usize),
}

/// Tasks, or groups, that start together.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    /// The group above it; `None`: it is the job.
    pub parent: Option<GroupAt>,
    pub least: Least,
    /// How near its tasks are.
    pub near: Option<Nearness>,
}

#[derive(Debug, Clone)]
pub struct Job {
    pub name: String,
    pub queue: QueueAt,
    /// Inside its queue a higher priority goes first.
    pub priority: i64,
    /// May it be made to yield, and may it borrow?
    pub is_preemptible: bool,
    pub submitted: i64,
    /// How long it runs; `None`: it does not, or nobody knows.
    pub runs_for: Option<Span>,
    /// How long it has been below what it needs.
    pub stale_for: Option<Span>,
    /// It is left alone that long then; `None`: as [`Settings`] says.
    pub stale_grace: Option<Grace>,
    /// Others yield to it once it has waited that long.
    pub patience: Span,
    /// How long it has waited.
    pub waited: Span,
    /// May it start at all now? It asks in any case.
    pub may_start: bool,
    /// May it take back from other queues?
    pub may_reclaim: bool,
    /// May it take from lower priorities of its queue?
    pub may_preempt: bool,
    /// May others be moved to make room for it?
    pub may_move_others: bool,
    /// No two of its tasks share a node.
    pub is_apart: bool,
    /// Jobs of one queue with the same number ask for the same, and may have the same nodes.
    pub alike: Option<u64>,
    /// The smaller has its turn first, before any priority; `None`: it goes by that.
    pub turn: Option<i64>,
    /// Did an earlier round that ran out of searches look in vain for others to yield to it?
    pub was_tried: bool,
    /// Nobody asks it to yield in this round.
    pub stays: bool,
    /// What it did since would be lost: of those alike the last yields first. `None`: who was
    /// submitted last.
    pub unsaved_since: Option<i64>,
    /// May it be moved so that another has room, though nobody is owed it?
    pub may_move: bool,
    /// What it consists of: the job first, each group behind the one above it.
    pub groups: Vec<Group>,
    pub tasks: Vec<TaskAt>,
}

impl Job {
    /// Of two alike, the one for which this is later yields first.
    pub(super) fn loses_since(&self) -> i64 {
        self.unsaved_since.unwrap_or(self.submitted)
    }
}

/// How long a gang may be short of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grace {
    For(Span),
    /// As long as it likes.
    Ever,
}

#[derive(Debug, Clone, Default)]
pub struct World {
    /// Nodes that jobs may start on.
    pub nodes: Vec<Node>,
    /// Of nothing that is held or asked for.
    pub queues: Tree,
    /// Past use of each queue, for CPU, memory and GPU, 0 to 1; empty: none.
    pub usage: Vec<[f64; 3]>,
    pub jobs: Vec<Job>,
    /// The tasks of all of them.
    pub tasks: Vec<Task>,
    /// Of each task, its job.
    pub job_of: Vec<JobAt>,
    /// What runs beside them.
    pub unseen: Unseen,
    /// Lists of node labels, widest first.
    pub topologies: Vec<Vec<String>>,
    /// What holds for all.
    pub settings: Settings,
}
