//! Steps 2 to 6 for one job: its turn. The result states what follows for the other jobs of its
//! class or kind.

use super::full::KnownRoom;
use super::future_claim::is_queue_shortage;
use super::{NoRoom, RoundState, start};
use crate::model::job::{UNLIMITED, WaitingJob};
use crate::model::resume_cursor::Step;
use crate::model::shape_cache::ShapeIndex;
use crate::policy::admit::{Refused, refused_alone};

use crate::policy::queue_scan::{Considered, Next};
use common::id::JobKey;
use common::policy::queue::Queue;
use common::policy::{Behind, Order};
use common::reason::WaitReason;
use common::time::{Span, Time};
use std::sync::Arc;

impl<'a> RoundState<'a> {
    pub fn consider(&mut self, considered: &Considered<'a>) -> Next {
        let Some(awaiting) = self.remove_own_claim(considered.job.key) else {
            return self.consider_job(considered);
        };
        let next = self.consider_job(considered);
        self.restore_own_claim(considered.job.key, awaiting);
        next
    }

    fn consider_job(&mut self, considered: &Considered<'a>) -> Next {
        let job = considered.job;
        if self.waits.is_decided(job.key) {
            return Next::MayTry;
        }
        let Some(queue) = self.queues.get(&job.queue) else {
            return self
                .class_waits(considered, WaitReason::QueueGone { queue: job.queue.clone() });
        };
        if queue.behind == Behind::Wait
            && let Some((head, _)) = self.heads.get(&queue.name)
            && *head != job.key
        {
            let head = *head;
            return self.class_waits(considered, WaitReason::BehindHead { head });
        }
        // 2. Admit.
        let snapshot = self.snapshot;
        let (kind, own) = (considered.kind, (queue, &**job));
        let shape = self.shapes.of_kind(kind, &snapshot.cluster, &snapshot.policy, own);
        let quota_status = match self.admit(job, shape) {
            Ok(quota_status) => quota_status,
            Err(Refused::Job(reason)) if !is_queue_shortage(&reason) => {
                self.waits.set_reason(job.key, reason);
                return Next::MayTry;
            }
            Err(refused) => return self.handle_refused(considered, queue, shape, refused),
        };
        self.drop_later_promises(job.key);
        let kept = self
            .planned_starts
            .get(&job.key)
            .filter(|planned_start| !planned_start.nodes.is_empty());
        let planned_start = kept.map(|planned_start| planned_start.at);
        if self.stays_as_planned(job, shape) {
            return self.handle_no_room(
                considered,
                queue,
                NoRoom { job, shape, quota_status },
                None,
            );
        }
        let no = NoRoom { job, shape, quota_status };
        let is_due = planned_start.is_some_and(|at| at <= self.now) || self.was_blocking(job.key);
        let step = self.next_step(job.key, is_due);
        if let (Some(first), Step::Search | Step::Repeat(_)) = (job.together, &step) {
            return self.start_together(first, matches!(step, Step::Repeat(_)), false);
        }
        match step {
            Step::Search => self.look_for_room(considered, queue, no, planned_start),
            Step::Repeat(known) => self.repeat(considered, queue, no, known),
            Step::Later => self.class_waits(considered, WaitReason::NotConsidered),
        }
    }

    /// 3. Fit and 4. score, in what earlier jobs' promises leave; 5. backfill.
    fn look_for_room(
        &mut self,
        considered: &Considered<'a>,
        queue: &'a Queue,
        no: NoRoom<'a>,
        planned_start: Option<Time>,
    ) -> Next {
        let NoRoom { job, shape, .. } = no;
        let has_planned_start = planned_start.is_some();
        let is_due = planned_start.is_some_and(|at| at <= self.now);
        let ends = self.planned_end(job);
        // Others of its shape did not fit because of what is kept for this job, but the job itself
        // may.
        if !has_planned_start && self.shapes.cannot_fit(shape, ends) {
            return self.handle_no_room(considered, queue, no, None);
        }
        if !is_due && !self.was_blocking(job.key) {
            self.searches.count();
        }
        let found = match self.known_room(considered.kind, job, shape) {
            KnownRoom::Unknown => self.try_start(considered.kind, job, shape),
            KnownRoom::Among(nodes) => self.try_start_among(nodes, job, shape),
            KnownRoom::None => Err(start::Obstacle::NoRoom),
            KnownRoom::Kept(delayed) => Err(start::Obstacle::Kept(delayed)),
        };
        match found {
            Ok(()) => Next::MayTry,
            Err(start::Obstacle::Refused(reason, _)) => {
                let reason = *reason;
                // Keep nothing for a job that is refused there.
                self.unbook(job.key);
                self.planned_starts.remove(&job.key);
                self.eases_with_time(&reason);
                self.searches.without_success(job.key, None, false);
                if is_queue_shortage(&reason) {
                    return self.handle_refused(considered, queue, shape, Refused::Job(reason));
                }
                self.waits.set_reason(job.key, reason);
                Next::MayTry
            }
            Err(start::Obstacle::Claimed(other)) => {
                // Other jobs of its shape may be of another user, or shorter.
                self.searches.without_success(job.key, None, true);
                self.handle_no_room(considered, queue, no, Some(other))
            }
            Err(start::Obstacle::NoRoom) => {
                // There would be no room even if nothing were kept. A shorter job does not fit
                // either, unless others might be preempted for it.
                let by_limit = self.ends_by(job.time_limit);
                let from = if self.may_preempt_others(queue) { by_limit } else { self.now };
                self.note_no_room_from(no, from);
                self.handle_no_room(considered, queue, no, None)
            }
            Err(start::Obstacle::Kept(other)) => {
                // What is kept matters for an end only if it begins before that end. A shorter job
                // of its kind may pass if it ends before the last of those.
                let since = self.last_kept_before(ends).map_or(self.now, |at| at + Span(1));
                self.note_no_room_from(no, since);
                self.handle_no_room(considered, queue, no, other)
            }
        }
    }

    /// Notes that no job of its shape that ends then or later fits.
    fn note_no_room_from(&mut self, no: NoRoom<'a>, from: Time) {
        self.shapes.note_no_fit(no.shape, from);
        let no_fit_from = self.shapes.no_fit_from(no.shape);
        self.searches.without_success(no.job.key, no_fit_from, true);
    }

    /// The last time before `ends` at which what is kept changes.
    fn last_kept_before(&self, ends: Time) -> Option<Time> {
        let shadows = self.shadows.iter().map(|(_, shadow)| shadow.at).filter(|at| *at < ends);
        shadows.chain(self.bookings.last_before(ends)).max()
    }

    fn class_waits(&mut self, considered: &Considered<'a>, reason: WaitReason) -> Next {
        self.waits.set_class_reason(considered.class, reason);
        Next::ClassIsDone
    }

    /// Handles a job that a limit or a quota refuses: other jobs may be preempted for it. As the
    /// first of its queue, it gets a promise for what its queue or an ancestor lacks, as for room.
    fn handle_refused(
        &mut self,
        considered: &Considered<'a>,
        queue: &'a Queue,
        shape: ShapeIndex,
        refused: Refused,
    ) -> Next {
        let job = considered.job;
        let (Refused::Job(reason) | Refused::Class(reason)) = &refused;
        let is_first = self.blocks_queue_for_quota(queue, job, shape, reason);
        if is_first {
            self.searches.note_blocking_job(job.key);
            self.heads.entry(&queue.name).or_insert((job.key, 0));
        }
        if let WaitReason::QuotaExceeded { queue: refused_by, .. } = reason {
            let claim = self.claim_of_job(job, shape);
            let quota_status = self.accounting.quota_status_below(refused_by, &claim);
            if self.try_preempt(queue, NoRoom { job, shape, quota_status }, true) {
                if !self.yielders.contains_key(&job.key) {
                    // Its victims are gone, and it waits for other jobs to end.
                    self.waits.set_reason(job.key, reason.clone());
                }
                return Next::MayTry;
            }
        }
        let mut is_kept = is_first && queue.behind == Behind::Wait;
        if is_first && queue.behind == Behind::Backfill && job.together.is_none() {
            self.unmet.remove(&job.key);
            if self.reserve(queue, job, shape) {
                self.heads.entry(&queue.name).or_insert((job.key, 0)).1 += 1;
                is_kept = true;
            }
        }
        match refused {
            Refused::Class(reason) if !is_kept => self.class_waits(considered, reason),
            Refused::Job(reason) | Refused::Class(reason) => {
                self.waits.set_reason(job.key, reason);
                Next::MayTry
            }
        }
    }

    /// Whether a job keeps others of its queue waiting for what the queue lacks. A job does not if
    /// the quota or limit refuses it even when nothing else runs.
    pub(super) fn blocks_queue_for_quota(
        &mut self,
        queue: &'a Queue,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        reason: &WaitReason,
    ) -> bool {
        if !is_queue_shortage(reason)
            || queue.behind == Behind::Pass
            || self.queue_is_done(&queue.name)
            || self.never_fits_reason(shape).is_some()
        {
            return false;
        }
        let snapshot = self.snapshot;
        let components: Vec<&'a Arc<WaitingJob>> = match job.together {
            Some(first) => snapshot.wait_queue.components_with(first).collect(),
            None => vec![job],
        };
        let mut shapes = Vec::new();
        for one in &components {
            let Some(own) = self.queues.get(&one.queue) else { return false };
            shapes.push(self.shape_of(own, one));
        }
        let empty = self.empty.get_or_insert_with(|| snapshot.empty_usage_accounting()).clone();
        let parts = components
            .iter()
            .zip(&shapes)
            .map(|(one, shape)| (&***one, self.shapes.get(*shape), self.priced.get(&one.key)));
        refused_alone(empty, parts).is_none()
    }

    /// Notes a job without room, and makes a promise if its queue does.
    pub(super) fn handle_no_room(
        &mut self,
        considered: &Considered<'a>,
        queue: &'a Queue,
        job: NoRoom<'a>,
        kept_for: Option<JobKey>,
    ) -> Next {
        let is_possible = self.snapshot.full.fits_idle_cluster(considered.kind);
        if let Some(reason) = (!is_possible).then(|| self.never_fits_reason(job.shape)).flatten() {
            // It keeps no other job waiting (man squeue, BadConstraints).
            self.waits.set_kind_reason(considered.kind, reason);
            return Next::KindIsDone;
        }
        if !is_possible {
            self.found_full.possible.insert(considered.kind);
        }
        let head = self.heads.entry(&queue.name).or_insert((job.job.key, 0));
        if head.0 == job.job.key {
            // The reason of its kind does not apply to the first job, for which the others wait.
            self.waits.note_no_room(job.job.key, job.shape, kept_for);
        }
        // 6. Preempt; otherwise 5. backfill.
        let reserved = self.try_preempt(queue, job, false)
            || (queue.behind == Behind::Backfill
                && !self.queue_is_done(&queue.name)
                && self.reserve(queue, job.job, job.shape));
        if reserved {
            if let Some((_, made)) = self.heads.get_mut(&queue.name) {
                *made += 1;
            }
        } else {
            let kind = self.snapshot.wait_queue.kind_of(considered.kind);
            let shortest = kind.map_or(UNLIMITED, crate::model::wait_queue::Kind::limit_min);
            let ends = self.ends_by(Some(shortest).filter(|limit| *limit < UNLIMITED));
            let all_done = queue.behind != Behind::Backfill || self.queue_is_done(&queue.name);
            if all_done && self.shapes.cannot_fit(job.shape, ends) {
                self.waits.note_kind_no_room(considered.kind, job.shape, kept_for);
                // Age may come before priority there, so jobs behind this one may still preempt
                // others.
                let may_ask = queue.preemption.by_priority && queue.order == Order::Multifactor;
                return if may_ask { Next::ClassIsDone } else { Next::KindIsDone };
            }
            if all_done && let Some(limit) = self.shapes.fits_below(job.shape, self.now) {
                self.waits.note_kind_no_room(considered.kind, job.shape, kept_for);
                return Next::Shorter(limit);
            }
        }
        self.waits.note_no_room(job.job.key, job.shape, kept_for);
        Next::MayTry
    }
}
