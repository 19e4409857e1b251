//! What a fair round asks of the working state beyond one decision: more tasks for an elastic job
//! that has started, the jobs for which room is kept, and a search without a job's own bookings.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use common::id::JobKey;
use common::unit::Tasks;
use std::sync::Arc;

impl<'a> RoundState<'a> {
    /// The jobs for which room is kept until others are gone.
    pub(crate) fn jobs_awaiting(&self) -> Vec<JobKey> {
        self.awaiting.keys().copied().collect()
    }

    /// Whether the job has started in this round.
    pub(crate) fn has_started(&self, key: JobKey) -> bool {
        self.waits.has_started(key)
    }

    /// Whether anything that is held now will be free soon.
    pub(crate) fn is_any_leaving(&self) -> bool {
        self.on_the_way_out().next().is_some() || !self.parts.is_empty()
    }

    /// Runs a search as if nothing were kept for these jobs.
    pub(crate) fn without_own_bookings<T>(
        &mut self,
        keys: &[JobKey],
        search: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let own: Vec<_> = keys.iter().filter_map(|key| Some((*key, self.unbook(*key)?))).collect();
        let found = search(self);
        own.into_iter().for_each(|(key, own)| self.book_again(key, own));
        found
    }

    /// Gives a job that has started in this round this many tasks in place of those that it has.
    /// Returns whether there is room for them; if not, nothing changes.
    pub(crate) fn extend_start(
        &mut self,
        job: &'a Arc<WaitingJob>,
        index: ShapeIndex,
        tasks: Tasks,
    ) -> bool {
        let is_own = |one: &Decision| matches!(one, Decision::Start { key, .. } if *key == job.key);
        let Some(place) = self.decisions.iter().rposition(is_own) else { return false };
        let Decision::Start { allocation, .. } = &self.decisions[place] else { return false };
        let shares = allocation.shares();
        let nodes: Vec<NodeIndex> =
            self.trial.cluster.node_indices(shares).into_iter().flatten().collect();
        let claim = crate::model::claims::of_start(
            job,
            shares.iter().zip(nodes.iter().copied()),
            self.trial.cluster,
            &mut self.accounting,
        );
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        let mut shape = self.shapes.get(index).clone();
        shape.demand = shape.demand.with_tasks(tasks);
        let checkpoint = self.trial.checkpoint();
        nodes.iter().for_each(|at| self.trial.give_back(*at, job.key));
        self.accounting.remove(&claim, ends_by);
        let arrays = self.arrays.clone();
        if self.try_sides(job, &shape, &[], true).is_err() {
            self.trial.roll_back(checkpoint);
            self.accounting.add(&claim, ends_by);
            return false;
        }
        self.trial.commit(checkpoint);
        self.arrays = arrays;
        if let Some(last) = self.decisions.pop() {
            self.decisions[place] = last;
        }
        let before = |started: &(_, Option<_>)| *started == (claim.clone(), ends_by);
        if let Some(at) = self.started.iter().position(before) {
            let (claim, ends_by) = self.started.remove(at);
            self.future_claims.iter_mut().for_each(|one| one.revert_start(&claim, ends_by));
        }
        true
    }
}
