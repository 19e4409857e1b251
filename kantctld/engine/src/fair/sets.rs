//! The components of one job (a set) in a fair-sharing round: one job of the plan with a group for
//! each component, so that others yield to all of it or to none of it.
//!
//! Source: KAI Scheduler, subgroups: a job is served once each of its groups has its minimum.
//! Only components of one queue ask together. Components of several queues have no queue whose
//! share they could claim, and are tried after all other jobs. No job is moved for a set.
//!
//! Example, three nodes of 8 GPUs; queues a and b have a fair share of 12 each. Jobs 1, 2 and 3 of
//! b run with 8 each. Job 4 of a has two components, 4 of 8 GPUs and 5 of 4: jobs 3 and 2 are
//! stopped, their nodes are reserved for 4 and 5, and both start once both nodes are free.

use super::amount::Amount;
use super::bars::Bars;
use super::bounds::{Excess, within_quotas};
use super::counted::amount;
use super::line::sum;
use super::plan::{Act, Plan};
use super::tree::Tree;
use super::view::{View, is_by_task, may_be_preempted, priority};
use super::world::{Group, GroupAt, Job, JobAt, Least, NodeAt, TaskState, World};
use crate::cluster::NodeIndex;
use crate::job::WaitingJob;
use crate::planner::{Component, RoundState, Victim};
use crate::shape_cache::ShapeIndex;
use common::id::JobKey;
use common::policy::queue::Queue;
use common::unit::Tasks;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A set that asks as one job.
pub(super) struct Set<'a> {
    /// The key of its first component, which may no longer exist.
    pub first: JobKey,
    /// All components, each with its group.
    components: Vec<(&'a Arc<WaitingJob>, ShapeIndex, GroupAt)>,
}

/// The sets of a world, by job.
pub(super) type Sets<'a> = BTreeMap<JobAt, Set<'a>>;

impl<'a> View<'a> {
    /// Adds the components that start together with this one as one job. A set that cannot ask as
    /// one is left out.
    pub(super) fn wait_together(
        &mut self,
        desk: &mut RoundState<'a>,
        first: JobKey,
        is_barred: bool,
    ) {
        let components: Vec<&Arc<WaitingJob>> = desk.snapshot.wait_queue.together(first).collect();
        let Some(queue) = one_queue(desk, &components) else { return };
        let mut job = self.plain(first, queue, 0, 0);
        job.is_preemptible = components.iter().all(|one| may_be_preempted(desk, one, queue));
        let ranks = components
            .iter()
            .map(|one| priority(&desk.snapshot.policy, one.qos.as_ref(), one.nice));
        job.priority = ranks.min().unwrap_or_default();
        let since = components.iter().map(|one| one.since()).max();
        job.submitted = super::view::amount(since.unwrap_or_default().0);
        job.may_reclaim = queue.preemption.reclaim;
        job.may_preempt = queue.preemption.by_priority;
        job.is_apart = components.iter().any(|one| is_apart(one));
        job.turn = components.iter().filter_map(|one| self.turns.get(&one.key)).max().copied();
        job.was_tried = desk.snapshot.resume_cursor.tried.contains(&first);
        job.groups[0].least = Least::Groups(components.len());
        job.may_start = !is_barred;
        let mut set = Set { first, components: Vec::new() };
        let mut tasks = Vec::new();
        for one in components {
            let shape = desk.shape_for(queue, one);
            job.may_start &= desk.may_start_at_all(one, shape).is_ok();
            let (mut own, least) = self.parts(desk, one, shape);
            let group = GroupAt(job.groups.len());
            own.iter_mut().for_each(|task| task.group = Some(group));
            let kept = desk.seats_kept_for(one.key);
            // With room reserved, the job waits only for the tasks that are leaving it.
            job.may_start &= kept.is_empty();
            for (task, node) in own.iter_mut().zip(kept) {
                (task.state, task.node) = (TaskState::Promised, Some(NodeAt(node.at())));
            }
            let (name, parent) = (String::new(), Some(GroupAt(0)));
            job.groups.push(Group { name, parent, least: Least::Tasks(least), near: None });
            set.components.push((one, shape, group));
            tasks.extend(own);
        }
        let at = self.push(job, tasks);
        self.sets.insert(at, set);
    }
}

/// Whether no two of the job's tasks may share a node.
pub(super) fn is_apart(job: &WaitingJob) -> bool {
    job.request.nodes.is_some() || job.request.tasks_per_node == Some(Tasks(1))
}

/// The queue of all components. `None`: they are in several queues or in none, or one of them may
/// not start.
fn one_queue<'a>(desk: &RoundState<'a>, components: &[&Arc<WaitingJob>]) -> Option<&'a Queue> {
    let first = components.first()?;
    let is_ready = |one: &&Arc<WaitingJob>| desk.snapshot.class_of(one.key).is_some();
    let is_beside = |one: &&Arc<WaitingJob>| one.queue == first.queue;
    let is_one = components.iter().all(|one| is_ready(one) && is_beside(one));
    desk.queues.get(&first.queue).filter(|_| is_one)
}

impl<'a> Set<'a> {
    /// Carries out the plan for this set. Returns whether the desk accepted it, and bars the nodes
    /// if not.
    pub fn carry_out(
        &self,
        (desk, view): (&mut RoundState<'a>, &View<'a>),
        (plan, at): (&Plan, JobAt),
        victims: &[Victim<'a>],
        bars: &mut Bars,
    ) -> bool {
        let places = self.places(view, plan, at);
        let acts = || view.world.jobs[at.0].tasks.iter().filter_map(|task| plan.acts.get(task));
        if acts().next().is_none() {
            return true;
        }
        let is_done = if acts().all(|act| matches!(act, Act::Start(..))) {
            desk.start_all_there(self.first, &places, None)
        } else {
            desk.take_for_all(&places, victims)
        };
        if !is_done {
            let nodes: BTreeSet<NodeIndex> =
                places.iter().flat_map(|one| &one.nodes).copied().collect();
            bars.no_room(self.first, &nodes.into_iter().collect::<Vec<_>>());
        }
        is_done
    }

    /// The nodes of each component, and its maximum of tasks.
    fn places(&self, view: &View<'_>, plan: &Plan, at: JobAt) -> Vec<Component<'a>> {
        let place = |(job, shape, group): &(&'a Arc<WaitingJob>, ShapeIndex, GroupAt)| {
            let tasks = &view.world.jobs[at.0].tasks;
            let of_group =
                |task: &&super::world::TaskAt| view.world.tasks[task.0].group == Some(*group);
            let own = tasks.iter().filter(of_group);
            let (mut nodes, mut most, mut all) = (BTreeSet::new(), 0, 0);
            for task in own {
                all += 1;
                if let Some(Act::Start(node, _) | Act::Reserve(node, _)) = plan.acts.get(task) {
                    nodes.insert(View::node(*node));
                    most += 1;
                }
            }
            let most = is_by_task(job, all).then_some(Tasks(most));
            Component { job, shape: *shape, nodes: nodes.into_iter().collect(), most }
        };
        self.components.iter().map(place).collect()
    }

    /// The least that the set holds once it has started.
    fn least(&self, world: &World, at: JobAt) -> Amount {
        let job = &world.jobs[at.0];
        let of = |(_, _, group): &(_, _, GroupAt)| {
            let Least::Tasks(least) = job.groups[group.0].least else { return Amount::default() };
            let own = job.tasks.iter().filter(|task| world.tasks[task.0].group == Some(*group));
            sum(own.take(least).map(|task| amount(&world.tasks[task.0], 0)))
        };
        sum(self.components.iter().map(of))
    }

    /// The quota that the set would exceed if it started; it is not preemptible.
    pub fn excess(&self, books: &Tree, world: &World, at: JobAt) -> Option<Excess> {
        let job = &world.jobs[at.0];
        let asks = self.least(world, at);
        within_quotas(books, job.queue, &asks).err().filter(|_| !job.is_preemptible)
    }

    pub fn keys(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.components.iter().map(|(job, ..)| job.key)
    }
}

/// Tries to start sets that the plan found no room for: a plan covers no links, zones or sets in
/// several queues. A set that a quota forbids is not tried.
pub(super) fn try_the_rest<'a>(
    desk: &mut RoundState<'a>,
    view: &View<'a>,
    (plan, books): (&Plan, &Tree),
) {
    let firsts: BTreeSet<JobKey> =
        desk.snapshot.all_waiting().filter_map(|job| job.together).collect();
    let mut books = books.clone();
    let by_first: BTreeMap<JobKey, (JobAt, &Set<'a>)> =
        view.sets.iter().map(|(at, set)| (set.first, (*at, set))).collect();
    for first in firsts {
        if has_started(desk, first) {
            continue;
        }
        let Some((at, set)) = by_first.get(&first) else {
            desk.start_components(first, false);
            continue;
        };
        if let Some(excess) = set.excess(&books, &view.world, *at) {
            let reason = super::refusal::view_of(&view.world, &plan.accounts, *at, excess);
            for key in set.keys() {
                reason.iter().for_each(|reason| desk.is_refused(key, reason.clone()));
            }
            continue;
        }
        let job: &Job = &view.world.jobs[at.0];
        desk.start_components(first, !job.is_preemptible);
        if has_started(desk, first) {
            let least = set.least(&view.world, *at);
            books.charge(job.queue, &least, !job.is_preemptible, true);
        }
    }
}

/// Whether the set's components start in this round.
fn has_started(desk: &RoundState<'_>, first: JobKey) -> bool {
    desk.snapshot.wait_queue.together(first).next().is_some_and(|one| desk.starts(one.key))
}
