//! What has one turn: a waiting job, or all components of a job that start together.

use super::accounts::{Accounts, one_queue};
use super::line::Turn;
use crate::model::cluster::NodeIndex;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use crate::model::shares::Amount;
use crate::model::shares::priority;
use crate::policy::sharing::terms::is_preemptible;
use crate::round::planner::{Component, RoundState};
use common::topology::Nearness;
use std::cmp::Reverse;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(super) struct Gang<'a> {
    /// The largest first, so that small ones do not take what only it could use.
    pub parts: Vec<(&'a Arc<WaitingJob>, ShapeIndex)>,
    /// What they count for with their minimum of tasks.
    pub asks: Amount,
    /// Whether all of them may be preempted while they run.
    pub is_preemptible: bool,
    /// The lowest priority of them.
    pub priority: i64,
    /// How near to each other the nodes of all parts are.
    pub near: Option<Nearness>,
}

impl<'a> Gang<'a> {
    /// What has this turn. `None`: as for [`Self::of`].
    pub fn of_turn(
        state: &mut RoundState<'a>,
        accounts: &mut Accounts<'a>,
        turn: &Turn<'a>,
    ) -> Option<Self> {
        if turn.job.together.is_some() {
            return Self::of(state, accounts, turn.job);
        }
        let facts = *accounts.facts(turn.at);
        Some(Self {
            parts: vec![(turn.job, facts.shape)],
            asks: facts.asks.least,
            is_preemptible: facts.is_preemptible,
            priority: facts.priority,
            near: turn.job.near_all,
        })
    }

    /// The job, or all components that start together with it. `None`: their queue is gone, they
    /// are in several queues, or one of them may not start.
    pub fn of(
        state: &mut RoundState<'a>,
        accounts: &mut Accounts<'a>,
        job: &'a Arc<WaitingJob>,
    ) -> Option<Self> {
        let queue = match job.together {
            Some(first) => one_queue(state, first)?,
            None => state.queues.get(&job.queue)?,
        };
        let jobs: Vec<&'a Arc<WaitingJob>> = match job.together {
            Some(first) => state.snapshot.wait_queue.components_with(first).collect(),
            None => vec![job],
        };
        let near = jobs.first().and_then(|one| one.near_all);
        let policy = &state.snapshot.policy;
        let may = jobs.iter().all(|one| is_preemptible(policy, one, queue));
        let priority = jobs.iter().map(|one| priority(policy, one.qos.as_ref(), one.nice)).min();
        let parts: Vec<_> =
            jobs.into_iter().map(|one| (one, state.shape_for(queue, one))).collect();
        let mut sized: Vec<_> = parts
            .into_iter()
            .map(|part| (accounts.demand_of_shape(state, part.1).least, part))
            .collect();
        let asks = sized.iter().fold(Amount::default(), |sum, (one, _)| sum.plus(one));
        sized.sort_by_key(|(one, _)| Reverse((one.gpu_milli, one.cpu_milli)));
        let parts = sized.into_iter().map(|(_, part)| part).collect();
        Some(Self { parts, asks, is_preemptible: may, priority: priority?, near })
    }

    /// The parts, each with its nodes, in the order of their keys.
    pub fn at(&self, places: &[Vec<NodeIndex>]) -> Vec<Component<'a>> {
        let component = |((job, shape), nodes): (&(&'a Arc<WaitingJob>, _), &Vec<_>)| {
            let most = job.request.tasks_min;
            Component { job, shape: *shape, nodes: nodes.clone(), most }
        };
        let mut all: Vec<_> = self.parts.iter().zip(places).map(component).collect();
        all.sort_by_key(|one| one.job.key);
        all
    }
}
