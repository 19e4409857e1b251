//! What promised jobs will need of quotas and limits when they start. A job does not start if it
//! would still hold something then that a promised job needs to be admitted.
//!
//! Source: ours. Slurm's backfill considers nodes only, so small jobs of an account can keep using
//! up what a large job of the same account waits for.
//! Reads: quotas, limits, and when jobs end by their time limits.
//! Knobs: quotas and limits.
//!
//! Jobs wait with a promise only for quotas and for limits of a whole queue. Limits of users,
//! accounts and QoS bind only the jobs they apply to, and delay no others.
//!
//! Example. Nodes a and b have 8 GPUs each, and the queue may have 8. Job 1 runs with 4 for an hour
//! more. Job 2 asks for 8, and will have them in an hour. Job 3 asks for 2 for half an hour: it
//! starts. Job 4 asks for 2 for two hours: it waits, since job 2 would lack quota.

use super::RoundState;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::ShapeIndex;
use crate::model::usage_accounting::{Claim, Principal, UsageAccounting};
use common::id::JobKey;
use common::reason::{Bound, WaitReason};
use common::time::{Span, Time};
use std::borrow::Cow;
use std::iter::Peekable;

/// The most promised starts per round whose quota is computed. Later ones are not.
const FUTURE_CLAIMS_MAX: usize = 64;

/// The most ends of jobs that are examined for one of them.
const ENDS_MAX: usize = 2_048;

/// When a job ends, its claim, and its end by its time limit.
type End<'a> = (Time, Cow<'a, Claim>, Option<Time>);

/// What one promised job will need.
#[derive(Debug, Clone)]
pub(crate) struct FutureClaim {
    key: JobKey,
    at: Time,
    limit: Option<Span>,
    claim: Claim,
    /// The usage accounting at that time, without other future claims.
    accounting: UsageAccounting,
}

impl FutureClaim {
    fn holds_at(&self, time: Time) -> bool {
        self.at <= time && self.limit.is_none_or(|limit| time < self.at + limit)
    }

    fn ends_by(&self) -> Option<Time> {
        self.limit.map(|limit| self.at + limit)
    }

    /// Reverts [`RoundState::note_start`] for this claim.
    pub(super) fn revert_start(&mut self, claim: &Claim, ends_by: Option<Time>) {
        if ends_by.is_none_or(|ends| self.at < ends) {
            self.accounting.remove(claim, ends_by);
        }
    }
}

/// Whether a job waits for something that its queue or an ancestor lacks now but may have later.
pub(super) const fn is_queue_shortage(reason: &WaitReason) -> bool {
    matches!(
        reason,
        WaitReason::QuotaExceeded { .. } | WaitReason::LimitReached { bound: Bound::Queue(_), .. }
    )
}

impl<'a> RoundState<'a> {
    /// The first time, not before `from`, at which the job would be admitted, given the jobs that
    /// run then and those that are promised a start. `None`: none is known.
    pub(super) fn admitted_from(
        &mut self,
        job: &WaitingJob,
        shape: ShapeIndex,
        from: Time,
    ) -> Option<Time> {
        if !self.snapshot.has_bounds {
            return Some(from);
        }
        let claim = self.claim_of_job(job, shape);
        let mut ends = self.ends();
        let future_claims = self
            .future_claims
            .iter()
            .filter(|future_claim| self.is_still_promised(future_claim, job.key));
        let mut pledged: Vec<Time> = future_claims.filter_map(FutureClaim::ends_by).collect();
        pledged.sort_unstable();
        let mut accounting = self.accounting.for_principal(claim.who);
        let mut time = from;
        for _ in 0..ENDS_MAX {
            while let Some((_, claim, ends_by)) = ends.next_if(|(end, ..)| *end <= time) {
                accounting.remove(&claim, ends_by);
            }
            let ends_by = job.time_limit.map(|limit| time + limit);
            if self.is_admitted(&mut accounting, &claim, job.time_limit, time, [job.key; 2])
                && self.broken_future_claim(job.key, &claim, time, ends_by).is_none()
            {
                return Some(time);
            }
            let next = ends.peek().map(|(end, ..)| *end);
            let pledged = pledged.iter().copied().find(|end| *end > time);
            time = next.into_iter().chain(pledged).min()?;
        }
        None
    }

    /// The ends of running and starting jobs, soonest first, without jobs that have no end. A job
    /// that is ending or past its limit is gone soon, but not yet.
    fn ends(&self) -> Peekable<impl Iterator<Item = End<'a>> + use<'a>> {
        let (snapshot, soon) = (self.snapshot, self.now + Span(1));
        let leaving = self.on_the_way_out().filter_map(|key| {
            let (claim, job) = (snapshot.claim_of(key)?, snapshot.running_job(key)?);
            Some((soon, Cow::Borrowed(claim), job.ends_by))
        });
        let started = self.started.iter();
        let started =
            started.filter_map(|(claim, end)| Some(((*end)?, Cow::Owned(claim.clone()), *end)));
        let given_up = self.parts.iter().flat_map(|(key, part)| {
            let ends = snapshot.running_job(*key).and_then(|job| job.ends_by);
            let rest = ends.map(|end| (end.max(soon), Cow::Owned(part.rest.clone()), ends));
            [(soon, Cow::Owned(part.claim.clone()), ends)].into_iter().chain(rest)
        });
        let mut own: Vec<End<'a>> = leaving.chain(given_up).chain(started).collect();
        own.sort_by_key(|(end, ..)| *end);
        let mut own = own.into_iter().peekable();
        let (chosen, parts) = (self.asks.chosen.clone(), self.parts.clone());
        let is_other = move |key: &JobKey| !chosen.contains(key) && !parts.contains_key(key);
        let others = snapshot.ends.iter().filter(move |((_, key), _)| is_other(key));
        let mut others = others
            .map(move |((end, _), hold)| ((*end).max(soon), Cow::Borrowed(&hold.claim), Some(*end)))
            .peekable();
        std::iter::from_fn(move || {
            let is_own = match (own.peek(), others.peek()) {
                (Some((one, ..)), Some((other, ..))) => one <= other,
                (one, _) => one.is_some(),
            };
            if is_own { own.next() } else { others.next() }
        })
        .peekable()
    }

    /// The usage accounting of this principal at a time, without what is promised.
    fn accounting_at(&mut self, time: Time, who: Principal) -> UsageAccounting {
        let mut accounting = self.accounting.for_principal(who);
        if time > self.now {
            for (_, claim, ends_by) in self.ends().take_while(|(end, ..)| *end <= time) {
                accounting.remove(&claim, ends_by);
            }
        }
        accounting
    }

    /// The claim of a job, as far as it is known.
    pub(super) fn claim_of_job(&mut self, job: &WaitingJob, shape: ShapeIndex) -> Claim {
        if let Some(known) = self.priced.get(&job.key) {
            return known.clone();
        }
        let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
        let principal = self.accounting.principal(&job.queue, job.owner, account, qos);
        crate::model::claims::of_shape(self.shapes.get(shape), principal, &self.accounting)
    }

    /// Notes what a promised job will need.
    pub(super) fn add_future_claim(&mut self, job: &WaitingJob, shape: ShapeIndex, at: Time) {
        self.future_claims.retain(|future_claim| future_claim.key != job.key);
        if self.snapshot.has_bounds && self.future_claims.len() < FUTURE_CLAIMS_MAX {
            let claim = self.claim_of_job(job, shape);
            let accounting = self.accounting_at(at, claim.who);
            let (key, limit) = (job.key, job.time_limit);
            self.future_claims.push(FutureClaim { key, at, limit, claim, accounting });
        }
    }

    /// Notes that a job starts, for all promised starts before its end.
    pub(super) fn note_start(&mut self, claim: Claim, ends_by: Option<Time>) {
        let until =
            |future_claim: &&mut FutureClaim| ends_by.is_none_or(|ends| future_claim.at < ends);
        self.future_claims
            .iter_mut()
            .filter(until)
            .for_each(|future_claim| future_claim.accounting.add(&claim, ends_by));
        self.started.push((claim, ends_by));
    }

    fn is_still_promised(&self, future_claim: &FutureClaim, but: JobKey) -> bool {
        future_claim.key != but
            && self
                .planned_starts
                .get(&future_claim.key)
                .is_some_and(|planned_start| planned_start.at == future_claim.at)
    }

    /// Whether this job is admitted with this usage accounting and what is promised to others for
    /// that time. It is restored afterwards.
    fn is_admitted(
        &self,
        accounting: &mut UsageAccounting,
        claim: &Claim,
        limit: Option<Span>,
        at: Time,
        but: [JobKey; 2],
    ) -> bool {
        let is_other = |other: &&FutureClaim| {
            other.holds_at(at) && !but.contains(&other.key) && self.is_still_promised(other, but[0])
        };
        let others: Vec<&FutureClaim> = self.future_claims.iter().filter(is_other).collect();
        others.iter().for_each(|other| accounting.add(&other.claim, other.ends_by()));
        let may =
            accounting.check_limits(claim, limit, at).is_ok() && accounting.admit(claim).is_ok();
        others.iter().for_each(|other| accounting.remove(&other.claim, other.ends_by()));
        may
    }

    /// The promised job that would not be admitted at its time if this one, which is not in the
    /// books, ran during this span.
    pub(crate) fn broken_future_claim(
        &mut self,
        key: JobKey,
        claim: &Claim,
        from: Time,
        ends_by: Option<Time>,
    ) -> Option<JobKey> {
        (0..self.future_claims.len()).find_map(|which| {
            let future_claim = &self.future_claims[which];
            let overlaps =
                from <= future_claim.at && ends_by.is_none_or(|ends| future_claim.at < ends);
            if !overlaps || !self.is_still_promised(future_claim, key) {
                return None;
            }
            let FutureClaim { key: other, limit, at, .. } = *future_claim;
            let own = future_claim.claim.clone();
            // Take the accounting for a moment: copying it for each question takes most of a round.
            let mut accounting = std::mem::take(&mut self.future_claims[which].accounting);
            accounting.add(claim, ends_by);
            let fits = self.is_admitted(&mut accounting, &own, limit, at, [key, other]);
            accounting.remove(claim, ends_by);
            // A job that would not be admitted anyway is not harmed.
            let is_broken =
                !fits && self.is_admitted(&mut accounting, &own, limit, at, [key, other]);
            self.future_claims[which].accounting = accounting;
            is_broken.then_some(other)
        })
    }
}
