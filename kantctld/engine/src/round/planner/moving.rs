//! Moves of running jobs that make room for another job. All of them are tried together with their
//! exact places, and then all are decided, or none ([`RoundState::preempt_for_all`]). `fair_share`
//! and `explain::solve` choose the jobs.
//!
//! A moved job is stopped, and its new place is kept until it waits again and starts there. No job
//! is stopped unless all jobs concerned have a place when the victims are gone.
//!
//! Example, two nodes of 8 GPUs. Job 1 runs on a with 4, job 2 on b with 4; job 3 asks for 8. Job 2
//! is stopped; the other half of a is kept for it, and b for job 3.

use super::RoundState;
use super::preempting::Awaiting;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::decision::Decision;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::PlannedStart;
use crate::model::usage_accounting::Claim;
use crate::place::fit::gang::Layout;
use crate::place::placing::Placed;
use common::id::{JobKey, NodeName};
use common::job::PreemptReason;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A job to move, and its new nodes.
pub(crate) type Mover<'a> = (&'a Arc<RunningJob>, Vec<NodeIndex>);

impl<'a> RoundState<'a> {
    /// The rooms of jobs with victims, and the places of moved jobs as long as those are kept.
    pub(super) fn rooms_kept(&self) -> Vec<(JobKey, PlannedStart)> {
        let snapshot = self.snapshot;
        let planned_start =
            snapshot.planned_starts.iter().filter(|(_, planned_start)| planned_start.yielded);
        let planned_start = planned_start.map(|(key, planned_start)| (*key, planned_start.clone()));
        let has_planned_start =
            |key| snapshot.planned_starts.get(key).is_some_and(|kept| kept.yielded);
        let moving = snapshot
            .moving
            .iter()
            .filter(|(key, _)| snapshot.is_moving(**key, self.now) && !has_planned_start(key));
        let place = |nodes: &[NodeName]| PlannedStart {
            yielded: true,
            ..PlannedStart::without_preemption(self.now, nodes.to_vec())
        };
        planned_start.chain(moving.map(|(key, moving)| (*key, place(&moving.to)))).collect()
    }

    /// An ending job that will start again elsewhere, as it will wait then.
    pub(crate) fn restarting_job(&self, key: JobKey) -> Option<&'a Arc<WaitingJob>> {
        self.snapshot.restarts_elsewhere(key, self.now)
    }

    /// Keeps a job's room, without trying to start it.
    pub(super) fn keep_room_waiting(&mut self, key: JobKey, awaiting: Awaiting) {
        self.accounting.add(&awaiting.claim, awaiting.ends_by);
        self.awaiting.insert(key, awaiting);
    }

    /// Makes a job move to a place, for another.
    pub(super) fn decide_move(&mut self, mover: &RunningJob, to: &Layout, by: JobKey) {
        self.asks.chosen.insert(mover.key);
        self.yielders.entry(by).or_insert((0, mover.key)).0 += 1;
        let cluster = self.trial.cluster;
        let to: BTreeSet<NodeName> =
            to.iter().map(|(at, _)| cluster.node(*at).name.clone()).collect();
        self.decisions.push(Decision::Preempt {
            key: mover.key,
            attempt: mover.attempt,
            by,
            reason: PreemptReason::Move,
            mode: mover.victim_mode,
            to: to.into_iter().collect(),
        });
    }

    /// Takes a place on trial.
    pub(crate) fn hold(&mut self, job: &WaitingJob, placed: &Placed) {
        for (at, holder) in placed.holders(job, self.ends_by(job.time_limit)) {
            self.trial.take(at, holder);
        }
    }

    /// Keeps the new place of a moved job.
    pub(super) fn keep_place(
        &mut self,
        job: &WaitingJob,
        index: ShapeIndex,
        shape: &Shape<'a>,
        layout: Layout,
        claim: Claim,
    ) {
        let nodes: Vec<NodeIndex> = layout.iter().map(|(at, _)| *at).collect();
        self.book_from_now(job, shape, layout);
        self.update_shadows(&nodes, NEVER);
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        self.keep_room_waiting(job.key, Awaiting { shape: index, nodes, claim, ends_by });
    }
}
