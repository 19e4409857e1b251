//! The input of a fair-sharing plan, as plain lists. It is constant while the plan is made; changes
//! go to the board.

pub use super::settings::Settings;
use super::tree::{QueueAt, Tree};
pub use super::unseen::Unseen;
use common::time::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeAt(pub usize);

/// The index of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobAt(pub usize);

/// The index of a task in the list of all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskAt(pub usize);

/// The index of a group in its job's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupAt(pub usize);

/// How a node's GPUs are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cut {
    /// Not cut: whole GPUs and parts that jobs agree on.
    #[default]
    Whole,
    /// All in one profile, whose slices count as GPUs: whole GPUs only.
    Single,
    /// In profiles that jobs ask for by name, and nothing else.
    Mixed,
}

#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The node's name, for display only.
    pub name: String,
    pub gpus: u32,
    /// The memory of each device. `None`: unknown; then no job may ask for it here.
    pub gpu_memory_mib: Option<u64>,
    /// Thousandths of a CPU.
    pub cpu_milli: i64,
    /// Bytes.
    pub memory_bytes: i64,
    /// The most tasks at once.
    pub tasks_max: i64,
    /// The labels that topologies and affinities refer to.
    pub labels: BTreeMap<String, String>,
    pub cut: Cut,
    /// The number of slices of each profile.
    pub slices: BTreeMap<String, i64>,
    /// No task starts there, and its capacity belongs to no share.
    pub is_closed: bool,
}

/// The GPUs that a task asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum GpuAsk {
    #[default]
    None,
    Whole(u32),
    /// The same fraction of each of N devices.
    Part {
        /// Thousandths of a device.
        milli: i64,
        /// Devices of one node.
        devices: u32,
    },
    /// The same amount of memory of each of N devices.
    Memory {
        mib: u64,
        /// Devices of one node.
        devices: u32,
    },
    Slices(BTreeMap<String, i64>),
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskState {
    #[default]
    Waiting,
    Gated,
    Running,
    /// It does not start yet; its place is reserved, and other tasks are leaving it.
    Promised,
    /// It is leaving, and what it holds may be reserved for others.
    Leaving,
    /// It is leaving but stuck: nothing that it holds may be reserved.
    Stuck,
    Failed,
    Succeeded,
}

/// The tasks, by labels, that a task must be near to or apart from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affinity {
    /// The node label that defines the domain; `None`: the node itself.
    pub level: Option<String>,
    /// Tasks that have all of these labels.
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
    pub state: TaskState,
    pub node: Option<NodeAt>,
    /// The names of shared devices of its node that it uses. Equal names are one device.
    pub device_names: Vec<String>,
    /// The devices of its node that it uses, where known.
    pub devices: Option<Vec<usize>>,
    /// Its group, a leaf among its job's groups.
    pub group: Option<GroupAt>,
    /// The only nodes that it may use, ascending; `None`: any.
    pub only_nodes: Option<Arc<Vec<NodeAt>>>,
    /// Nodes that it must not use, ascending; `None`: none.
    pub not_nodes: Option<Arc<Vec<NodeAt>>>,
    /// The labels that affinities of other tasks refer to.
    pub labels: BTreeMap<String, String>,
    /// Tasks that it must be near to.
    pub near: Option<Affinity>,
    /// Tasks that it must be apart from.
    pub apart: Option<Affinity>,
    /// The number of task slots that it takes on a node; 0 counts as one.
    pub slots: i64,
    /// Among its job's tasks, a higher order is placed first and stopped last.
    pub order: i64,
}

/// How near tasks must be to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearness {
    /// The index of the list of levels.
    pub topology: usize,
    /// All in one domain of this level (its index in the list, widest first).
    pub required: Option<usize>,
    /// If possible, all in one domain of this level.
    pub preferred: Option<usize>,
}

/// The minimum of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// This many of its tasks.
    Tasks(usize),
    /// This many of its child groups, each with its own minimum.
    Groups(usize),
}

/// Tasks, or groups of tasks, that start together.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: String,
    /// The parent group; `None`: this is the job.
    pub parent: Option<GroupAt>,
    pub least: Least,
    /// How near its tasks must be.
    pub near: Option<Nearness>,
}

#[derive(Debug, Clone)]
pub struct Job {
    pub name: String,
    pub queue: QueueAt,
    /// A higher priority goes first inside the queue.
    pub priority: i64,
    /// Whether the job may be preempted; only then may it borrow.
    pub is_preemptible: bool,
    pub submitted: i64,
    /// How long it has run; `None`: it does not run, or its start is unknown.
    pub runs_for: Option<Span>,
    /// How long it has been below its minimum.
    pub stale_for: Option<Span>,
    /// How long it may stay below its minimum; `None`: as set in [`Settings`].
    pub stale_grace: Option<Grace>,
    /// Others yield to it only after it has waited this long.
    pub patience: Span,
    /// How long it has waited.
    pub waited: Span,
    /// Whether it may start now. Its request counts in any case.
    pub may_start: bool,
    /// Whether it may reclaim from other queues.
    pub may_reclaim: bool,
    /// Whether it may preempt lower priorities of its queue.
    pub may_preempt: bool,
    /// Whether other jobs may be moved to make room for it.
    pub may_move_others: bool,
    /// Whether no two of its tasks may share a node.
    pub is_apart: bool,
    /// Jobs of one queue with the same number have equal requests and may use the same nodes.
    pub alike: Option<u64>,
    /// Its turn in the queue: the smaller goes first, whatever the priority. `None`: by priority.
    pub turn: Option<i64>,
    /// Whether an earlier round that ran out of searches found no victims for it.
    pub was_tried: bool,
    /// It may not be stopped in this round.
    pub stays: bool,
    /// The start or last checkpoint: work since then would be lost. Of equally ranked jobs, the one
    /// with the latest time is stopped first. `None`: the one that was submitted last.
    pub unsaved_since: Option<i64>,
    /// Whether it may be moved to make room, although no queue reclaims its place.
    pub may_move: bool,
    /// Its groups: first the job itself, and each group after its parent.
    pub groups: Vec<Group>,
    pub tasks: Vec<TaskAt>,
}

impl Job {
    /// Tie-break between equally ranked jobs: the later value is preempted first.
    pub(super) fn loses_since(&self) -> i64 {
        self.unsaved_since.unwrap_or(self.submitted)
    }
}

/// How long a gang may be short of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grace {
    For(Span),
    /// Without end.
    Ever,
}

#[derive(Debug, Clone, Default)]
pub struct World {
    /// Nodes that jobs may start on.
    pub nodes: Vec<Node>,
    /// The queues, without any holdings or requests.
    pub queues: Tree,
    /// The past use of each queue, for CPU, memory and GPU, 0 to 1; empty: none.
    pub usage: Vec<[f64; 3]>,
    pub jobs: Vec<Job>,
    /// The tasks of all jobs.
    pub tasks: Vec<Task>,
    /// The job of each task.
    pub job_of: Vec<JobAt>,
    /// Running jobs that are not listed.
    pub unseen: Unseen,
    /// Lists of node labels, widest first.
    pub topologies: Vec<Vec<String>>,
    pub settings: Settings,
}
