//! A snapshot as a fair-sharing round sees it. All waiting jobs are in it: those that may not start
//! still count as requests.

use super::amount::UNLIMITED;
use super::bars::Bars;
use super::sets::{Sets, is_apart};
use super::sight::{Sight, seen};
use super::tree::QueueAt;
use super::turns::turns;
use super::world::{
    Group, Job, JobAt, Least, Node, NodeAt, Settings, Task, TaskAt, TaskState, World,
};
use crate::admit::Refused;
use crate::cluster::NodeIndex;
use crate::decision::Decision;
use crate::job::WaitingJob;
use crate::planner::RoundState;
use crate::shape_cache::{RoomIndex, ShapeIndex};
use common::id::{JobKey, QosName};
use common::policy::Policy;
use common::policy::queue::Queue;
use common::reason::WaitReason;
use common::resource::{Allocation, GpuRequest};
use common::time::{Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Task slots of a node that jobs may use whole: more tasks than ever run there.
pub(super) const SLOTS: i64 = 1 << 32;

/// The world, and the jobs of the snapshot that its indices stand for.
pub(crate) struct View<'a> {
    pub world: World,
    /// Waiting jobs that may start, by index.
    pub waiting: BTreeMap<JobAt, (&'a Arc<WaitingJob>, ShapeIndex)>,
    /// Waiting jobs of several components.
    pub(super) sets: Sets<'a>,
    /// Running jobs, by index.
    pub running: BTreeMap<JobAt, JobKey>,
    /// Why other jobs do not start, whatever is free.
    pub refused: Vec<(JobKey, WaitReason)>,
    /// The nodes of each room in which jobs look for a place.
    pub(super) lists: BTreeMap<RoomIndex, Option<Arc<Vec<NodeAt>>>>,
    /// A number for each shape and end time: jobs with the same number are interchangeable.
    alike: BTreeMap<(ShapeIndex, Time), u64>,
    /// The turns of jobs in queues that sort by more than priority and submission.
    pub(super) turns: BTreeMap<JobKey, i64>,
}

impl<'a> View<'a> {
    /// The view of a desk's snapshot. `bars`: what was refused before in this round.
    pub fn of(desk: &mut RoundState<'a>, bars: &Bars, sight: Sight) -> Self {
        let snapshot = desk.snapshot;
        let world = World {
            nodes: snapshot.cluster.nodes().map(|(_, node)| of_node(node)).collect(),
            queues: snapshot.queues.clone(),
            settings: Settings {
                may_move: false,
                moves_max: snapshot.moves_left(desk.now),
                moves_once: true,
                may_grow: false,
                last_first: true,
                usage_strength: f64::from(snapshot.policy.factors.past_use_percent) / 100.0,
                ..Settings::default()
            },
            usage: super::past::used_ppm(snapshot, desk.now)
                .into_iter()
                .map(|gpus| [0.0, 0.0, gpus as f64 / 1e6])
                .collect(),
            ..World::default()
        };
        let (waiting, sets, running) = (BTreeMap::new(), Sets::new(), BTreeMap::new());
        let (refused, lists, alike) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let turns = turns(snapshot, desk.now);
        let mut view = Self { world, waiting, sets, running, refused, lists, alike, turns };
        let (seen, unseen) = seen(desk, &view.world.queues, sight);
        view.world.unseen = unseen;
        for job in seen {
            view.runs(desk, job);
            if let Some(again) = desk.mover(job.key) {
                view.goes_on(desk, again);
            }
        }
        let started: BTreeMap<JobKey, Allocation> = desk
            .decisions
            .iter()
            .filter_map(|decision| match decision {
                Decision::Start { key, allocation, .. } => Some((*key, allocation.clone())),
                Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => None,
            })
            .collect();
        for job in snapshot.all_waiting() {
            if let Some(allocation) = started.get(&job.key) {
                view.starts(desk, job, allocation);
            } else if let Some(first) = job.together {
                // A set is added once, at its first remaining component.
                if snapshot.wait_queue.together(first).next().is_some_and(|one| one.key == job.key)
                {
                    view.wait_together(desk, first, bars.is_out(first));
                }
            } else if snapshot.class_of(job.key).is_some() {
                view.waits(desk, job, bars.is_out(job.key));
            }
        }
        bars.keep_off(desk, &mut view);
        view
    }

    /// The node index of the floor for a node of the plan.
    pub const fn node(at: NodeAt) -> NodeIndex {
        NodeIndex(at.0 as u32)
    }

    /// Whether any job waits that may start.
    pub fn somebody_waits(&self) -> bool {
        !self.waiting.is_empty() || !self.sets.is_empty()
    }

    /// The waiting job, or the first component of the waiting set.
    pub fn asker(&self, at: JobAt) -> Option<JobKey> {
        let set = || self.sets.get(&at).map(|set| set.first);
        self.waiting.get(&at).map(|(job, _)| job.key).or_else(set)
    }

    /// Whether the job asks for GPUs by the node and all of its tasks could share one.
    pub fn may_need_less(&self, at: JobAt) -> bool {
        let is_coarse = |job: &WaitingJob| {
            let by_node = matches!(job.request.gpus, Some(GpuRequest::PerNode(_)));
            by_node && job.request.nodes.is_none() && job.request.tasks.0 > 1
        };
        self.waiting.get(&at).is_some_and(|(job, _)| is_coarse(job))
    }

    /// Whether a waiting job is counted task by task, not node by node.
    pub fn is_by_task(&self, at: JobAt) -> bool {
        let tasks = self.world.jobs[at.0].tasks.len();
        self.waiting.get(&at).is_some_and(|(job, _)| is_by_task(job, tasks))
    }

    pub(super) fn push(&mut self, job: Job, tasks: Vec<Task>) -> JobAt {
        let at = JobAt(self.world.jobs.len());
        let from = self.world.tasks.len();
        let places = (from..from + tasks.len()).map(TaskAt).collect();
        self.world.job_of.extend(tasks.iter().map(|_| at));
        self.world.tasks.extend(tasks);
        self.world.jobs.push(Job { tasks: places, ..job });
        at
    }

    fn waits(&mut self, desk: &mut RoundState<'a>, job: &'a Arc<WaitingJob>, is_barred: bool) {
        let Some(queue) = desk.queues.get(&job.queue) else {
            let reason = WaitReason::QueueGone { queue: job.queue.clone() };
            return self.refused.push((job.key, reason));
        };
        let shape = desk.shape_for(queue, job);
        let admitted = desk.may_start_at_all(job, shape).map(|_| ());
        let promised: Vec<NodeIndex> = desk.seats_kept_for(job.key).to_vec();
        let (tasks, least) = self.parts(desk, job, shape);
        let mut known = Job {
            is_preemptible: may_be_preempted(desk, job, queue),
            priority: priority(&desk.snapshot.policy, job.qos.as_ref(), job.nice),
            may_reclaim: queue.preemption.reclaim,
            may_preempt: queue.preemption.by_priority,
            may_move_others: true,
            may_start: admitted.is_ok() && !is_barred,
            is_apart: is_apart(job),
            turn: self.turns.get(&job.key).copied(),
            was_tried: desk.snapshot.resume_cursor.tried.contains(&job.key),
            alike: promised.is_empty().then(|| self.alike(shape, desk.ends_by(job.time_limit))),
            ..self.plain(job.key, queue, job.since().0, least)
        };
        let mut tasks = tasks;
        if !promised.is_empty() {
            // With room reserved, the job waits only for the tasks that are leaving it.
            known.may_start = false;
            for (task, node) in tasks.iter_mut().zip(&promised) {
                (task.state, task.node) = (TaskState::Promised, Some(NodeAt(node.at())));
            }
        }
        let at = self.push(known, tasks);
        match admitted {
            Ok(()) => _ = self.waiting.insert(at, (job, shape)),
            Err(Refused::Job(reason) | Refused::Class(reason)) => {
                self.refused.push((job.key, reason));
            }
        }
    }

    fn alike(&mut self, shape: ShapeIndex, ends: Time) -> u64 {
        let next = self.alike.len() as u64;
        *self.alike.entry((shape, ends)).or_insert(next)
    }

    pub(super) fn plain(&self, key: JobKey, queue: &Queue, since: u64, least: usize) -> Job {
        Job {
            name: name_of(key),
            queue: self.world.queues.find(queue.name.as_str()).unwrap_or(QueueAt(0)),
            priority: 0,
            is_preemptible: false,
            submitted: amount(since),
            runs_for: None,
            stale_for: None,
            stale_grace: None,
            patience: Span(0),
            waited: Span(0),
            may_start: false,
            may_reclaim: false,
            may_preempt: false,
            may_move_others: false,
            is_apart: false,
            alike: None,
            turn: None,
            was_tried: false,
            stays: false,
            unsaved_since: None,
            may_move: false,
            groups: vec![Group {
                name: String::new(),
                parent: None,
                least: Least::Tasks(least),
                near: None,
            }],
            tasks: Vec::new(),
        }
    }
}

/// Whether a job that is counted as this many tasks is counted task by task.
pub(super) fn is_by_task(job: &WaitingJob, tasks: usize) -> bool {
    job.request.tasks.0 as usize == tasks
}

/// The name of a job; names sort in the order of keys.
pub(super) fn name_of(key: JobKey) -> String {
    format!("{:010} {:010?}", key.job.0, key.index.map(|index| index.0))
}

pub(super) fn amount(of: u64) -> i64 {
    i64::try_from(of).unwrap_or(UNLIMITED)
}

fn of_node(node: &crate::cluster::node::Node) -> Node {
    Node {
        gpus: node.class.gpu_count().0,
        cpu_milli: i64::from(node.class.core_cpus.0) * 1000,
        memory_bytes: amount(node.class.inventory.memory.0),
        tasks_max: SLOTS,
        is_closed: !node.is_usable(),
        ..Node::default()
    }
}

pub(super) fn may_be_preempted(desk: &RoundState<'_>, job: &WaitingJob, queue: &Queue) -> bool {
    let qos = desk.snapshot.policy.qos.iter().find(|qos| Some(&qos.name) == job.qos.as_ref());
    let says = job.preemptible.or_else(|| qos.and_then(|qos| qos.preemptible));
    says.unwrap_or(queue.preemption.preemptible)
}

pub(super) fn priority(policy: &Policy, qos: Option<&QosName>, nice: i32) -> i64 {
    let found = policy.qos.iter().find(|known| Some(&known.name) == qos);
    let qos = found.map_or(0, |qos| qos.priority);
    (i64::from(qos) << 32) - i64::from(nice)
}
