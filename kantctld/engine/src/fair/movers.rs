//! Jobs that move so that another has room: which may move, which a plan moves, and which are about
//! to start again at their new place.
//!
//! Source: KAI Scheduler, consolidation: running pods move if all of them have a place afterwards.
//! Reads: the budget of moves, what a job would lose, how long it has run. Knobs: `[moves]`,
//! `runtime_min`.
//!
//! Example: see [`crate::planner`], `moving`.

use super::board::{Board, State};
use super::plan::{Act, Plan};
use super::view::{View, may_be_preempted};
use super::world::{Job, JobAt, NodeAt, TaskAt, TaskState};
use super::yielding::{Quest, Why};
use crate::cluster::NodeIndex;
use crate::job::{RunningJob, WaitingJob};
use crate::planner::{Mover, RoundState};
use common::time::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether a running job may be moved and is past its `runtime_min`.
pub(crate) fn may_move(desk: &RoundState<'_>, job: &RunningJob) -> bool {
    // A job that can give up nodes is not stopped for a move: it would restart with its minimum.
    if job.nodes_min.is_some() || desk.snapshot.may_move(job, desk.now).is_none() {
        return false;
    }
    let path = std::iter::successors(desk.queues.get(&job.queue), |queue| {
        desk.queues.get(queue.parent.as_ref()?)
    });
    // Policies with a cycle of queues are refused; the bound only makes the walk finite.
    let mut safe = path.take(desk.queues.len()).map(|queue| queue.preemption.runtime_min);
    let least = safe.find(|least| *least > Span::default()).unwrap_or_default();
    desk.now.since(job.started_at) >= least
}

/// The jobs that move for each job, and their new nodes. A job moves as a whole, with those of its
/// tasks that could stay.
pub(super) fn movers<'a>(
    desk: &RoundState<'a>,
    view: &View<'a>,
    plan: &Plan,
) -> BTreeMap<JobAt, Vec<Mover<'a>>> {
    let mut movers: BTreeMap<JobAt, Vec<Mover<'a>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for task in &plan.gone {
        let Some(Act::Move(_, _, Some(by), Why::Consolidate)) = plan.acts.get(task) else {
            continue;
        };
        let at = view.world.job_of[task.0];
        let key = view.running.get(&at).filter(|_| seen.insert(at));
        let Some(job) = key.and_then(|key| desk.snapshot.running(*key)) else { continue };
        let place = |task: &TaskAt| match plan.acts.get(task) {
            Some(Act::Move(node, ..)) => Some(View::node(*node)),
            _ => view.world.tasks[task.0].node.map(View::node),
        };
        let to: BTreeSet<NodeIndex> =
            view.world.jobs[at.0].tasks.iter().filter_map(place).collect();
        movers.entry(*by).or_default().push((job, to.into_iter().collect()));
    }
    movers
}

impl<'a> View<'a> {
    /// Adds a job that was stopped to be moved: its new place is taken.
    pub(super) fn goes_on(&mut self, desk: &mut RoundState<'a>, job: &'a Arc<WaitingJob>) {
        let Some(queue) = desk.queues.get(&job.queue) else { return };
        let shape = desk.shape_for(queue, job);
        let kept: Vec<NodeIndex> = desk.seats_kept_for(job.key).to_vec();
        let (mut tasks, least) = self.parts(desk, job, shape);
        tasks.truncate(kept.len());
        for (task, node) in tasks.iter_mut().zip(&kept) {
            (task.state, task.node) = (TaskState::Promised, Some(NodeAt(node.at())));
        }
        if !tasks.is_empty() {
            let is_preemptible = may_be_preempted(desk, job, queue);
            let plain = self.plain(job.key, queue, job.since().0, least);
            self.push(Job { is_preemptible, stays: true, ..plain }, tasks);
        }
    }
}

impl Board<'_> {
    /// Whether any task of a job was given another place in this round.
    pub fn has_moved(&self, job: JobAt) -> bool {
        let seats = self.world.jobs[job.0].tasks.iter().map(|task| &self.seats[task.0]);
        seats.into_iter().any(|seat| seat.state == State::Promised && seat.old.is_some())
    }
}

impl Quest<'_, '_> {
    /// The number of jobs in these bundles that lose their place.
    pub(super) fn jobs_of(&self, bundles: &[Vec<TaskAt>]) -> u32 {
        let moved = |task: &&TaskAt| self.board.seats[task.0].state != State::Running;
        let tasks = bundles.iter().flatten().filter(moved);
        let jobs: BTreeSet<JobAt> = tasks.map(|task| self.board.world.job_of[task.0]).collect();
        u32::try_from(jobs.len()).unwrap_or(u32::MAX)
    }
}
