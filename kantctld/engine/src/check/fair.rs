//! Checks starts and preemptions under fair sharing, by the sums of [`super::dues`]. It does not
//! check whether fewer victims would have been enough, nor memory: where a quota on the path names
//! memory, the claim to it is taken as valid.

use super::Judge;
use super::dues::{Milli, Of, Sums, sum};
use crate::model::job::{RunningJob, WaitingJob};
use common::id::{JobKey, QueueName};
use common::job::PreemptReason;
use common::policy::queue::Queue;
use common::resource::{Allocation, Share};
use common::time::Span;
use std::collections::{BTreeMap, BTreeSet};

/// The sums of all queues, and the latest claim.
#[derive(Debug, Default)]
pub(super) struct Dues {
    sums: Vec<Sums>,
    claim: Option<Claim>,
    /// The GPUs held by jobs that are not preemptible.
    firm: Option<BTreeMap<QueueName, Milli>>,
}

/// A job that others were preempted for, and what was taken for it.
#[derive(Debug)]
struct Claim {
    key: JobKey,
    /// What the job asks for, for each of the sums.
    asks: Vec<Milli>,
    is_reclaim: bool,
    /// The queues that lost something, with their ancestors.
    losers: BTreeSet<QueueName>,
    /// What the victims held, for each of the sums.
    lost: Vec<Milli>,
}

impl<'a> Judge<'a> {
    /// A job that is not preemptible starts within the quotas that name GPUs. A job with reserved
    /// room was judged when its victims were chosen.
    pub(super) fn check_firm_quota(&mut self, job: &WaitingJob, allocation: &Allocation) {
        let is_fair = self.snapshot.policy().fair_sharing;
        let beside = self.jobs_requesting_together(job);
        if !is_fair || beside.is_empty() || self.has_room_kept(job.key) {
            return;
        }
        let Some(queue) = self.queues.get(&job.queue).copied() else { return };
        let yields = |one: &WaitingJob| {
            let policy = self.snapshot.policy();
            let qos = policy.qos.iter().find(|qos| Some(&qos.name) == one.qos.as_ref());
            let says = one.preemptible.or_else(|| qos.and_then(|qos| qos.preemptible));
            says.unwrap_or(queue.preemption.preemptible)
        };
        let all_yield = beside.into_iter().all(yields);
        // Which whole nodes it gets is not known in advance.
        let (asks, gets) =
            (self.requested_amount(Of::Gpus, job, true), Of::Gpus.held(allocation.shares()));
        let gpus = if job.request.exclusive { asks.min(gets) } else { gets };
        if all_yield || gpus == 0 {
            return;
        }
        let mut firm = self.dues_mut().firm.take().unwrap_or_else(|| self.non_preemptible_use());
        self.add(&mut firm, &job.queue, gpus);
        for queue in self.bounds.path(&job.queue) {
            if sum(&firm, queue) > self.bound_from_amounts(Of::Gpus, &queue.quota.amounts) {
                let name = &queue.name;
                self.fault(format!("is not preemptible, and takes queue {name} over its quota"));
            }
        }
        self.dues_mut().firm = Some(firm);
    }

    /// Whether room is reserved for the job, which victims leave or to which it was moved.
    pub(super) fn has_room_kept(&self, key: JobKey) -> bool {
        let planned_start = self.snapshot.planned_starts().get(&key);
        planned_start.is_some_and(|kept| kept.yielded) || self.snapshot.is_moving(key, self.now)
    }

    fn dues_mut(&mut self) -> &mut Dues {
        self.dues.get_or_insert_default()
    }

    fn non_preemptible_use(&self) -> BTreeMap<QueueName, Milli> {
        let mut firm = BTreeMap::new();
        for job in self.snapshot.all_running().filter(|job| !job.ending && !job.preemptible) {
            self.add(&mut firm, &job.queue, Of::Gpus.held(job.staying_shares()));
        }
        firm
    }

    /// Checks that a job may give up these shares, to a job of another queue or of higher priority.
    /// Shares beyond its minimum are never protected.
    pub(super) fn check_yield_fair(
        &mut self,
        victim: &RunningJob,
        gives: &[Share],
        by: &WaitingJob,
        why: PreemptReason,
    ) {
        self.require(victim.preemptible, "yields though it is not preemptible");
        if gives.len() == victim.allocation.shares().len() {
            let least = self.protection_time(victim, by, why);
            let has_run = self.now.since(victim.started_at);
            self.require(has_run >= least, "is made to yield before it has run for long enough");
        }
        let mut dues = self.dues.take().unwrap_or_default();
        if dues.sums.is_empty() {
            dues.sums = Of::BOTH.into_iter().map(|of| self.sums(of)).collect();
        }
        if dues.claim.as_ref().is_none_or(|claim| claim.key != by.key) {
            self.check_claim(&mut dues);
            let all = self.jobs_requesting_together(by);
            let of = |of: Of| all.iter().map(|one| self.requested_amount(of, one, true)).sum();
            let asks: Vec<Milli> = dues.sums.iter().map(|sums| of(sums.of)).collect();
            // A job that asks again has lost the room that was kept for it.
            for one in all.iter().filter(|one| self.has_room_kept(one.key)) {
                for sums in &mut dues.sums {
                    let kept = self.requested_amount(sums.of, one, true);
                    for queue in self.bounds.path(&one.queue) {
                        let sum = sums.held.entry(queue.name.clone()).or_default();
                        *sum = sum.saturating_sub(kept);
                    }
                }
            }
            let (losers, lost) = (BTreeSet::new(), vec![0; dues.sums.len()]);
            let is_reclaim = why == PreemptReason::Reclaim;
            dues.claim = Some(Claim { key: by.key, asks, is_reclaim, losers, lost });
        }
        if why == PreemptReason::Reclaim {
            self.check_fair_reclaim(&dues, victim, by);
        }
        let path = self.bounds.path(&victim.queue);
        for (at, sums) in dues.sums.iter_mut().enumerate() {
            let gone = sums.of.held(gives);
            for queue in &path {
                let sum = sums.held.entry(queue.name.clone()).or_default();
                *sum = sum.saturating_sub(gone);
            }
            if let Some(claim) = &mut dues.claim {
                claim.lost[at] += gone;
            }
        }
        if let Some(claim) = &mut dues.claim {
            claim.losers.extend(path.iter().map(|queue| queue.name.clone()));
        }
        self.dues = Some(dues);
    }

    /// Jobs that start after a preemption count from here on.
    pub(super) fn count_start_after_preemption(&mut self, key: JobKey) {
        let Some(mut dues) = self.dues.take() else { return };
        self.check_claim(&mut dues);
        if let Some(job) =
            self.snapshot.waiting_job(key).filter(|_| self.starts_behind.contains(&key))
        {
            for sums in &mut dues.sums {
                let asks = self.requested_amount(sums.of, job, true);
                self.add(&mut sums.held, &job.queue, asks);
            }
        }
        self.dues = Some(dues);
    }

    /// Checks the last claim, once all preemptions are known.
    pub(super) fn check_last_claim(&mut self) {
        if let Some(mut dues) = self.dues.take() {
            self.check_claim(&mut dues);
        }
    }

    /// After the claim, no side of the claimant is fuller than a sibling that lost.
    fn check_claim(&mut self, dues: &mut Dues) {
        let Some(claim) = dues.claim.take() else { return };
        let Some(by) = self.snapshot.waiting_job(claim.key) else { return };
        let path = self.bounds.path(&by.queue);
        for (at, sums) in dues.sums.iter_mut().enumerate() {
            let asks = claim.asks[at];
            self.add(&mut sums.held, &by.queue, asks);
            let is_judged = self.is_resource_shared(sums.of) && claim.is_reclaim;
            if !is_judged || asks == 0 && claim.lost[at] == 0 {
                continue;
            }
            for queue in &path {
                let (own, due) = (sum(&sums.held, queue), sum(&sums.due, queue));
                let above = |queue: &Queue| {
                    self.bounds.path(&queue.name).get(1).map(|above| above.name.clone())
                };
                let beside = self.snapshot.policy().queues.iter().filter(|other| {
                    let is_loser = claim.losers.contains(&other.name);
                    is_loser && other.name != queue.name && above(other) == above(queue)
                });
                let is_fuller = |other: &Queue| {
                    let (theirs, their_due) = (sum(&sums.held, other), sum(&sums.due, other));
                    own > due && their_due > 0 && own * their_due >= theirs * due
                };
                if beside.into_iter().any(is_fuller) {
                    self.key = claim.key;
                    self.fault(format!(
                        "takes queue {} further above its share than one that loses by it",
                        queue.name
                    ));
                }
            }
        }
    }

    /// CPUs are shared out only where a quota names them.
    fn is_resource_shared(&self, of: Of) -> bool {
        of == Of::Gpus || self.snapshot.policy().queues.iter().any(|queue| of.is_in_quota(queue))
    }

    fn check_fair_reclaim(&mut self, dues: &Dues, victim: &RunningJob, by: &WaitingJob) {
        let may = self.queues.get(&by.queue).is_some_and(|queue| queue.preemption.reclaim);
        self.require(may, "yields to a queue that takes nothing back");
        self.require(victim.queue != by.queue, "yields what is due to its own queue");
        let (own, other) = (self.bounds.path(&by.queue), self.bounds.path(&victim.queue));
        let both = own.iter().rev().zip(other.iter().rev());
        let both = both.take_while(|(a, b)| a.name == b.name).count();
        let side = |path: &[&'a Queue]| path.len().checked_sub(both + 1).map(|at| path[at]);
        let (Some(own_side), Some(other_side)) = (side(&own), side(&other)) else {
            return self.fault("yields to a queue above its own");
        };
        let Some(claim) = &dues.claim else { return };
        let (mut is_over, mut stays, mut is_owed) = (false, true, false);
        for (sums, asks) in dues.sums.iter().zip(&claim.asks) {
            let of = sums.of;
            if self.is_resource_shared(of) {
                let within = sum(&sums.held, own[0]) + asks <= sum(&sums.due, own[0]);
                self.require(within, "yields to a queue that has its fair share");
            }
            let theirs = sum(&sums.held, other_side);
            let allowance = sum(&sums.most, other_side)
                .min(of.owed(other_side).max(sum(&sums.due, other_side)));
            is_over |= *asks > 0 && theirs > allowance;
            stays &= (sum(&sums.held, own_side) + asks) <= of.owed(own_side);
            is_owed |= *asks > 0 && of.is_in_quota(own_side) && theirs > of.owed(other_side);
        }
        let names = |queue: &&Queue| {
            queue.quota.amounts.memory.is_some() || queue.quota.at_most.memory.is_some()
        };
        let is_believed = own.iter().chain(&other).any(names);
        let is_right = is_over || stays && is_owed || is_believed;
        self.require(is_right, "yields what is its queue's by right");
    }

    /// How long the victim is protected from that job.
    pub(super) fn protection_time(
        &self,
        victim: &RunningJob,
        by: &WaitingJob,
        why: PreemptReason,
    ) -> Span {
        let path = self.bounds.path(&victim.queue);
        let own = |queue: &&Queue| {
            Some(queue.preemption.runtime_min).filter(|least| *least > Span::default())
        };
        let always = path.iter().find_map(own).unwrap_or_default();
        if why != PreemptReason::Reclaim {
            return always;
        }
        let claimant = self.bounds.path(&by.queue);
        let both = path.iter().rev().zip(claimant.iter().rev());
        let both = both.take_while(|(a, b)| a.name == b.name).count();
        let from = path.len().saturating_sub(both + 1);
        let says = |queue: &&Queue| queue.reclaim_runtime_min;
        path[from..].iter().find_map(says).unwrap_or_default().max(always)
    }
}
