//! Takes a place for one job: on trial, checked against promises, quotas and limits, and then for
//! good or not at all. `start` finds the place.

use super::RoundState;
use super::start::Obstacle;
use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::usage_accounting::Claim;
use crate::place::backfill::shadow::Shadow;
use crate::place::node_search::NodeSearch;
use crate::place::placing::Placed;
use common::policy::Placement;
use common::reason::WaitReason;
use common::resource::Allocation;
use common::time::Time;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

impl<'a> RoundState<'a> {
    /// The nodes that these shadows count on, by position. Cached until another job starts.
    pub(super) fn counted_on(&mut self, shadows: &[usize]) -> Rc<Vec<bool>> {
        let version = (self.decisions.len(), self.shadows.len());
        if let Some((known, at, avoid)) = &self.avoid
            && known == shadows
            && *at == version
        {
            return avoid.clone();
        }
        let mut avoid = vec![false; self.trial.cluster.len()];
        for which in shadows {
            self.shadows[*which].1.mark(&mut avoid);
        }
        let avoid = Rc::new(avoid);
        self.avoid = Some((shadows.to_vec(), version, avoid.clone()));
        avoid
    }

    /// Takes the shares if `for_real`. `Some`: it would hurt these shadows, and nothing was taken.
    pub(super) fn check_and_commit(
        &mut self,
        job: &'a Arc<WaitingJob>,
        placed: Placed,
        for_real: bool,
    ) -> Result<Option<Vec<usize>>, Obstacle> {
        let ends = self.planned_end(job);
        let checkpoint = self.trial.checkpoint();
        self.trial.reserve(placed.nodes.len());
        for (at, holder) in placed.holders(job, self.ends_by(job.time_limit)) {
            self.trial.take(at, holder);
        }
        let nodes = &placed.nodes;
        let hurt = self.harmed_shadows(nodes, ends);
        let weighed =
            if hurt.is_empty() { self.check_admission(job, &placed).map(Some) } else { Ok(None) };
        if let (Ok(Some(_)), true) = (&weighed, for_real) {
            self.trial.commit(checkpoint);
        } else {
            self.trial.roll_back(checkpoint);
            self.update_shadows(nodes, ends);
        }
        match weighed? {
            None => Ok(Some(hurt)),
            Some((claim, allocation)) => {
                if for_real {
                    self.record_start(job, claim, allocation);
                }
                Ok(None)
            }
        }
    }

    /// Whether the job is admitted with what it would get. Whole cores and whole nodes may be more
    /// than it asked for.
    fn check_admission(
        &mut self,
        job: &WaitingJob,
        placed: &Placed,
    ) -> Result<(Claim, Allocation), Obstacle> {
        let shares = placed.shares_on();
        let claim =
            crate::model::claims::of_start(job, shares, self.trial.cluster, &mut self.accounting);
        let limits = self.accounting.check_limits(&claim, job.time_limit, self.now);
        if let Err(reason) = limits.and_then(|()| self.admit_beside(&claim)) {
            self.priced.entry(job.key).or_insert(claim);
            return Err(Obstacle::Refused(Box::new(reason), placed.nodes.clone()));
        }
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        if let Some(other) = self.broken_future_claim(job.key, &claim, self.now, ends_by) {
            return Err(Obstacle::Claimed(other));
        }
        let refused = |_| Obstacle::Refused(Box::new(WaitReason::NotConsidered), Vec::new());
        Ok((claim, placed.allocation().map_err(refused)?))
    }

    /// Whether the claim is within quotas, both with and without what is reserved for preemptors
    /// that wait for their victims. What is kept for a preemptor's isolated queue is kept until it
    /// starts.
    pub(super) fn admit_beside(&mut self, claim: &Claim) -> Result<(), WaitReason> {
        self.accounting.admit(claim)?;
        if self.awaiting.is_empty() {
            return Ok(());
        }
        for awaiting in self.awaiting.values() {
            self.accounting.remove(&awaiting.claim, awaiting.ends_by);
        }
        let without = self.accounting.admit(claim);
        for awaiting in self.awaiting.values() {
            self.accounting.add(&awaiting.claim, awaiting.ends_by);
        }
        without.map(|_| ())
    }

    /// Starts the job; its shares are taken already.
    fn record_start(&mut self, job: &WaitingJob, claim: Claim, allocation: Allocation) {
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        self.accounting.add(&claim, ends_by);
        self.note_start(claim, ends_by);
        self.arrays.count_start(job);
        self.planned_starts.remove(&job.key);
        self.waits.note_start(job.key);
        self.decisions.push(Decision::Start {
            key: job.key,
            attempt: job.attempt,
            allocation,
            group: job.together,
        });
    }

    /// The shadows that no longer stand with a job on these nodes until that end.
    pub fn harmed_shadows(&mut self, nodes: &[NodeIndex], ends: Time) -> Vec<usize> {
        self.update_shadows(nodes, ends);
        let stands = |(which, (_, shadow)): (usize, &(_, Shadow))| {
            (ends > shadow.at && !shadow.still_has_room()).then_some(which)
        };
        self.shadows.iter().enumerate().filter_map(stands).collect()
    }

    /// Updates shadows later than that time on these nodes.
    pub fn update_shadows(&mut self, nodes: &[NodeIndex], ends: Time) {
        for which in 0..self.shadows.len() {
            let shadow = &self.shadows[which].1;
            let Some(job) = self.snapshot.waiting_job(shadow.key).filter(|_| ends > shadow.at)
            else {
                continue;
            };
            let shape = self.shapes.get(shadow.shape).with_fewest_tasks();
            let search = NodeSearch {
                trial: &self.trial,
                shape: &shape,
                bookings: &self.bookings,
                reservation: job.reservation.as_ref(),
                now: self.now,
                ends: self.now,
                side: shadow.side,
                placement: Placement::First,
                avoid: &[],
            };
            let shadow = &mut self.shadows[which].1;
            nodes.iter().for_each(|at| shadow.recheck_node(&search, *at));
        }
    }

    /// The nodes that each shadow counts on, for comparison.
    pub(crate) fn counted_on_by_each(&self) -> Vec<BTreeSet<NodeIndex>> {
        self.shadows.iter().map(|(_, shadow)| shadow.nodes().collect()).collect()
    }

    /// Whether every change in what shadows count on is correct. A trial must leave no trace. For
    /// debug builds only: it examines every node.
    pub(crate) fn are_shadow_changes_correct(&mut self, before: &[BTreeSet<NodeIndex>]) -> bool {
        let after = self.counted_on_by_each();
        if after == before {
            return true;
        }
        let kept = self.shadows.clone();
        let all: Vec<NodeIndex> = self.trial.cluster.nodes().map(|(at, _)| at).collect();
        self.update_shadows(&all, NEVER);
        let truth = self.counted_on_by_each();
        self.shadows = kept;
        let mut changed = before.iter().zip(&after).zip(&truth);
        changed.all(|((before, after), truth)| {
            before.symmetric_difference(after).all(|at| after.contains(at) == truth.contains(at))
        })
    }
}
