//! Moves of running jobs that make room for another job. All of them are tried together with their
//! exact places, and then all are decided, or none. `fair_share` chooses the jobs.
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
use crate::model::usage_accounting::{Claim, UsageAccounting};
use crate::place::fit::gang::Layout;
use crate::place::placing::Placed;
use common::id::{JobKey, NodeName};
use common::job::PreemptReason;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A job to move, and its new nodes.
pub(crate) type Mover<'a> = (&'a Arc<RunningJob>, Vec<NodeIndex>);

/// A job, and the place that was found for it.
struct Found<'a> {
    job: &'a Arc<WaitingJob>,
    index: ShapeIndex,
    shape: Shape<'a>,
    layout: Layout,
    claim: Claim,
}

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
            at: self.now,
            nodes: nodes.to_vec(),
            yielded: true,
        };
        planned_start.chain(moving.map(|(key, moving)| (*key, place(&moving.to)))).collect()
    }

    /// An ending job that will start again elsewhere, as it will wait then.
    pub(crate) fn mover(&self, key: JobKey) -> Option<&'a Arc<WaitingJob>> {
        self.snapshot.goes_on(key, self.now)
    }

    /// Keeps a job's room, without trying to start it.
    pub(super) fn await_others(&mut self, key: JobKey, awaiting: Awaiting) {
        self.accounting.add(&awaiting.claim, awaiting.ends_by);
        self.awaiting.insert(key, awaiting);
    }

    /// Moves these jobs, keeps the room for the job, and keeps their new places for them. None is
    /// moved unless all have room and would be admitted. Returns whether they are moved.
    pub(crate) fn move_for(
        &mut self,
        (job, index): (&'a Arc<WaitingJob>, ShapeIndex),
        nodes: &[NodeIndex],
        movers: &[Mover<'a>],
    ) -> bool {
        let own = self.unbook(job.key);
        let found = self.find_for_all(job, index, nodes, movers);
        let Some((room, places)) = found else {
            own.into_iter().for_each(|own| self.book_again(job.key, own));
            return false;
        };
        for ((mover, _), place) in movers.iter().zip(&places) {
            self.moves(mover, &place.layout, job.key);
        }
        self.keep_room(job, index, &room.shape, room.layout, room.claim);
        for Found { job, index, shape, layout, claim } in places {
            self.keep_place(job, index, &shape, layout, claim);
        }
        true
    }

    /// Makes a job move to a place, for another.
    pub(super) fn moves(&mut self, mover: &RunningJob, to: &Layout, by: JobKey) {
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

    /// A place for the job and for each moved job once the jobs that leave are gone. `None`: one of
    /// them has none, or would not be admitted.
    fn find_for_all(
        &mut self,
        job: &'a Arc<WaitingJob>,
        index: ShapeIndex,
        nodes: &[NodeIndex],
        movers: &[Mover<'a>],
    ) -> Option<(Found<'a>, Vec<Found<'a>>)> {
        let mut asked = vec![(job, index, nodes)];
        for (mover, to) in movers {
            let again = self.snapshot.may_move(mover, self.now)?;
            let queue = self.queues.get(&again.queue)?;
            asked.push((again, self.shape_for(queue, again), to));
        }
        let checkpoint = self.trial.checkpoint();
        let all: BTreeSet<NodeIndex> =
            asked.iter().flat_map(|(_, _, at)| at.iter()).copied().collect();
        let leaving: BTreeSet<JobKey> = movers.iter().map(|(mover, _)| mover.key).collect();
        for at in all {
            let holders = self.trial.holders(at).iter().map(|holder| holder.key);
            let goes = |key: &JobKey| leaving.contains(key) || self.goes_from(*key, at);
            let gone: Vec<JobKey> = holders.filter(goes).collect();
            gone.into_iter().for_each(|key| self.trial.give_back(at, key));
        }
        let mut accounting = self.accounting.clone();
        for (mover, _) in movers {
            if let Some(claim) = self.snapshot.claim_of(mover.key) {
                accounting.remove(claim, mover.ends_by);
            }
        }
        let mut found = Vec::new();
        for (job, index, nodes) in asked {
            match self.seat(job, index, nodes, &mut accounting) {
                Some(one) => found.push(one),
                None => break,
            }
        }
        self.trial.roll_back(checkpoint);
        let is_whole = found.len() == movers.len() + 1;
        let mut found = found.into_iter();
        let room = found.next().filter(|_| is_whole)?;
        Some((room, found.collect()))
    }

    /// A place on these nodes, taken on trial.
    fn seat(
        &mut self,
        job: &'a Arc<WaitingJob>,
        index: ShapeIndex,
        nodes: &[NodeIndex],
        accounting: &mut UsageAccounting,
    ) -> Option<Found<'a>> {
        let shape = self.shapes.get(index).fewest().into_owned();
        let fence = self.fence(nodes);
        let (layout, placed) = self.find(job, &shape, &fence)?;
        let shares = placed.shares.iter();
        let claim = crate::model::claims::of_start(job, shares, self.trial.cluster, accounting);
        accounting.check_limits(&claim, job.time_limit, self.now).ok()?;
        accounting.admit(&claim).ok()?;
        accounting.add(&claim, job.time_limit.map(|limit| self.now + limit));
        self.hold(job, &placed);
        Some(Found { job, index, shape, layout, claim })
    }

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
        self.look(&nodes, NEVER);
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        self.await_others(job.key, Awaiting { shape: index, nodes, claim, ends_by });
    }
}
