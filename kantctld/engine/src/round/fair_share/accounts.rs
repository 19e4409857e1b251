//! What each queue holds, asks for and is entitled to at the start of a round, from the snapshot's
//! own sums: the running jobs of each queue are summed as they start and end, and waiting jobs are
//! summed by class. No running job is read unless it is leaving.
//!
//! Example, two nodes of 8 GPUs; job 1 of queue a runs with 8, jobs 2 and 3 of b wait for 8 each: a
//! holds 8 and asks for 8, b holds none and asks for 16; each has a fair share of 8.

use super::asks::Asks;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::{RoomIndex, ShapeIndex};
use crate::model::shares::Amount;
use crate::model::shares::held;
use crate::model::shares::tree::{QueueAt, Tree};
use crate::model::wait_queue::{ClassId, SharingTerms};
use crate::policy::sharing::past::used_ppm;
use crate::policy::sharing::terms::is_preemptible;
use crate::round::planner::RoundState;
use common::id::{JobKey, QueueName};
use common::policy::queue::Queue;
use common::resource::Allocation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accounts of a round, and what the shapes in it count for.
pub(crate) struct Accounts<'a> {
    pub tree: Tree,
    /// The capacity of the nodes that are up.
    pub total: Amount,
    /// The queue of each row of the running jobs, in the same order. `None`: it is gone.
    pub row_queues: Vec<Option<QueueAt>>,
    asks: BTreeMap<RoomIndex, Asks>,
    /// The classes of waiting jobs whose queue exists, by number.
    classes: Vec<WaitingClass<'a>>,
    /// The other classes.
    pub(super) gone: Vec<ClassId>,
}

/// The place of a class in [`Accounts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassAt(pub usize);

/// A class of waiting jobs.
pub(super) struct WaitingClass<'a> {
    pub id: ClassId,
    /// The job that has waited longest.
    pub first: &'a Arc<WaitingJob>,
    /// How many jobs it has.
    pub jobs: usize,
    pub facts: ClassFacts,
}

/// What the jobs of a class have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClassFacts {
    pub queue: QueueAt,
    pub shape: ShapeIndex,
    pub room: RoomIndex,
    pub asks: Asks,
    /// Whether they may be preempted while they run.
    pub is_preemptible: bool,
    /// Their priority in their queue.
    pub priority: i64,
    /// Whether they may reclaim from other queues, and preempt in their own.
    pub reclaims: bool,
    pub preempts: bool,
}

impl<'a> Accounts<'a> {
    /// The accounts before any decision but the starts of jobs whose room was kept.
    pub fn of(state: &mut RoundState<'a>) -> Self {
        let snapshot = state.snapshot;
        let up = snapshot.cluster.nodes().filter(|(_, node)| node.is_usable());
        let capacity = up.map(|(_, node)| Amount {
            cpu_milli: i64::from(node.class.core_cpus.0) * 1000,
            memory_bytes: i64::try_from(node.class.inventory.memory.0).unwrap_or(i64::MAX),
            gpu_milli: i64::from(node.class.gpu_count().0) * 1000,
        });
        let total = capacity.fold(Amount::default(), |sum, one| sum.plus(&one));
        let (asks, tree) = (BTreeMap::new(), snapshot.queues.clone());
        let (row_queues, classes, gone) = (Vec::new(), Vec::new(), Vec::new());
        let mut accounts = Self { tree, total, row_queues, asks, classes, gone };
        accounts.add_classes(state);
        accounts.add_running(state);
        accounts.add_started(state);
        accounts.add_waiting(state);
        let used = used_ppm(snapshot, state.now);
        for (account, used) in accounts.tree.accounts.iter_mut().zip(used) {
            account.usage = [0.0, 0.0, used as f64 / 1e6];
        }
        let k = f64::from(snapshot.policy.factors.past_use_percent) / 100.0;
        accounts.tree.share_out(&total, k);
        accounts
    }

    /// The index of a queue in the tree.
    pub fn find(&self, queue: &QueueName) -> Option<QueueAt> {
        self.tree.find(queue.as_str())
    }

    /// What jobs of this shape count for.
    pub fn demand_of_shape(&mut self, state: &RoundState<'_>, shape: ShapeIndex) -> Asks {
        let of = || Asks::of(&state.snapshot.cluster, state.shapes.get(shape));
        *self.asks.entry(state.shapes.room_of(shape)).or_insert_with(of)
    }

    /// The classes of waiting jobs whose queue exists.
    pub(super) fn classes(&self) -> impl ExactSizeIterator<Item = (ClassAt, &WaitingClass<'a>)> {
        self.classes.iter().enumerate().map(|(at, class)| (ClassAt(at), class))
    }

    /// Where a class is. `None`: its queue is gone.
    pub(super) fn find_class(&self, class: ClassId) -> Option<ClassAt> {
        self.classes.binary_search_by_key(&class, |one| one.id).ok().map(ClassAt)
    }

    /// What the jobs of a class have in common.
    pub(super) fn facts(&self, at: ClassAt) -> &ClassFacts {
        &self.classes[at.0].facts
    }

    /// Lists the classes of waiting jobs.
    fn add_classes(&mut self, state: &mut RoundState<'a>) {
        let snapshot = state.snapshot;
        for (id, class) in snapshot.wait_queue.classes() {
            let Some(first) = class.jobs().next() else { continue };
            let terms = class.sharing;
            let Some(facts) = terms.and_then(|terms| self.class_facts(state, terms, first)) else {
                self.gone.push(id);
                continue;
            };
            self.classes.push(WaitingClass { id, first, jobs: class.len(), facts });
        }
    }

    fn class_facts(
        &mut self,
        state: &mut RoundState<'a>,
        terms: SharingTerms,
        job: &'a Arc<WaitingJob>,
    ) -> Option<ClassFacts> {
        let SharingTerms { queue: at, is_preemptible, priority } = terms;
        let queue = state.snapshot.policy.queues.get(at.0)?;
        let shape = state.shape_for(queue, job);
        Some(ClassFacts {
            queue: at,
            reclaims: queue.preemption.reclaim,
            preempts: queue.preemption.by_priority,
            shape,
            room: state.shapes.room_of(shape),
            asks: self.demand_of_shape(state, shape),
            is_preemptible,
            priority,
        })
    }

    /// Adds what jobs of a queue hold, and ask for.
    fn add(&mut self, queue: &QueueName, (holds, asks): (&Amount, &Amount), is_firm: bool) {
        let Some(at) = self.find(queue) else { return };
        self.tree.charge(at, holds, is_firm, true);
        self.tree.add_request(at, asks);
    }

    /// Adds the running jobs. A job that is giving up nodes holds the others; a job that is being
    /// moved holds its new place.
    fn add_running(&mut self, state: &mut RoundState<'a>) {
        let snapshot = state.snapshot;
        for (queue, row) in snapshot.running_index.rows() {
            let at = self.find(queue);
            self.row_queues.push(at);
            let Some(at) = at else { continue };
            self.tree.charge(at, &row.held.minus(&row.firm), false, true);
            self.tree.charge(at, &row.firm, true, true);
            self.tree.add_request(at, &row.held);
        }
        for key in snapshot.giving_up.keys() {
            let Some(job) = snapshot.running_job(*key).filter(|job| !job.ending) else { continue };
            let stays = held(&snapshot.cluster, job.staying_shares());
            self.add(&job.queue, (&stays, &stays), !job.preemptible);
        }
        for key in snapshot.ending.keys() {
            let Some(job) = state.restarting_job(*key) else { continue };
            let Some(queue) = state.queues.get(&job.queue) else { continue };
            let shape = state.shape_for(queue, job);
            let asks = self.demand_of_shape(state, shape);
            let is_firm = !is_preemptible(&snapshot.policy, job, queue);
            self.add(&job.queue, (&asks.least, &asks.most), is_firm);
        }
    }

    /// Adds what jobs hold that started in the room that was kept for them.
    fn add_started(&mut self, state: &RoundState<'_>) {
        for (job, allocation) in started_jobs(state) {
            let Some(queue) = state.queues.get(&job.queue) else { continue };
            let gets = held(&state.snapshot.cluster, allocation.shares());
            let is_firm = !is_preemptible(&state.snapshot.policy, job, queue);
            self.add(&job.queue, (&gets, &gets), is_firm);
        }
    }

    /// Adds what waiting jobs ask for, class by class; those that have room kept hold it.
    fn add_waiting(&mut self, state: &mut RoundState<'a>) {
        let snapshot = state.snapshot;
        let mut is_in: BTreeMap<_, usize> = BTreeMap::new();
        for (job, _) in started_jobs(state) {
            if let Some(class) = snapshot.class_of(job.key) {
                *is_in.entry(class).or_default() += 1;
            }
        }
        for class in &self.classes {
            let together = class.first.together;
            if together.is_some_and(|first| one_queue(state, first).is_none()) {
                continue;
            }
            let most = class.facts.asks.most;
            let jobs = class.jobs - is_in.get(&class.id).copied().unwrap_or(0);
            let jobs = i64::try_from(jobs).unwrap_or(i64::MAX);
            let all = most.zip(&most, |most, _| most.saturating_mul(jobs));
            self.tree.add_request(class.facts.queue, &all);
        }
        for key in state.jobs_awaiting() {
            let Some(job) = snapshot.waiting_job(key) else { continue };
            let Some(queue) = state.queues.get(&job.queue) else { continue };
            let shape = state.shape_for(queue, job);
            let least = self.demand_of_shape(state, shape).least;
            let is_firm = !is_preemptible(&snapshot.policy, job, queue);
            self.add(&job.queue, (&least, &Amount::default()), is_firm);
        }
    }
}

/// Jobs that have started in this round, with what they got.
fn started_jobs<'s, 'a>(
    state: &'s RoundState<'a>,
) -> impl Iterator<Item = (&'a Arc<WaitingJob>, &'s Allocation)> + 's {
    let snapshot = state.snapshot;
    state.decisions.iter().filter_map(move |decision| match decision {
        Decision::Start { key, allocation, .. } => Some((snapshot.waiting_job(*key)?, allocation)),
        Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => None,
    })
}

/// The queue of all components of a set. `None`: they are in several queues or in none, or one of
/// them may not start.
pub(super) fn one_queue<'a>(state: &RoundState<'a>, first: JobKey) -> Option<&'a Queue> {
    let snapshot = state.snapshot;
    let mut components = snapshot.wait_queue.components_with(first);
    let queue = &components.next()?.queue;
    let mut all = snapshot.wait_queue.components_with(first);
    let is_one = all.all(|one| one.queue == *queue && snapshot.class_of(one.key).is_some());
    state.queues.get(queue).filter(|_| is_one)
}
