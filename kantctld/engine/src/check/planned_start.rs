//! Checks that promises are kept. Breaches by events that the round could not foresee pass: jobs
//! that were submitted since or became eligible and go first, lost nodes, jobs that run beyond
//! their limits, bookings.

use super::Judge;
use super::order::waits_for_room;
use crate::model::job::WaitingJob;
use crate::model::snapshot::PlannedStart;
use crate::place::backfill::delay_allowed::DelayAllowed;
use crate::round::round_result::Round;
use common::id::{JobKey, NodeName};
use common::policy::queue::Queue;
use common::policy::{Behind, Order};
use common::time::Time;

impl Judge<'_> {
    /// A job that was promised a start starts, or is promised none that is later.
    pub(super) fn check_planned_starts(&mut self, round: &Round) {
        let snapshot = self.snapshot;
        if snapshot.planned_starts().is_empty() || !self.nothing_disturbs_plans() {
            return;
        }
        for (key, planned_start) in snapshot.planned_starts() {
            let Some(job) = snapshot.waiting_job(*key) else { continue };
            if self.started.contains(key) || planned_start.at <= self.now {
                continue;
            }
            let latest = self.latest(job, planned_start);
            let kept = round.planned_starts.get(key).is_some_and(|new| new.at <= latest);
            if let Some(new) = round.planned_starts.get(key)
                && planned_start.nodes.is_empty()
                && new.nodes.is_empty()
                && new.earliest_planned() > planned_start.earliest_planned()
            {
                self.key = *key;
                self.fault("the first of its planned starts was forgotten".to_owned());
            }
            let waits_for_room =
                round.waits.reason_of(snapshot, *key).is_some_and(|reason| waits_for_room(&reason));
            if kept
                || !waits_for_room
                || !self.binds(job, planned_start)
                || self.another_may_go_before(job)
            {
                continue;
            }
            self.key = *key;
            match round.planned_starts.get(key) {
                Some(new) => self.fault(format!(
                    "was promised a start by {}, and now by {}",
                    planned_start.at, new.at
                )),
                // What is reserved for one queue may be given up for another that is entitled to
                // it.
                None if snapshot.policy().fair_sharing => {}
                None => self
                    .fault(format!("was promised a start by {}, and now none", planned_start.at)),
            }
        }
    }

    /// The latest start to which jobs that run longer than expected may delay the planned start.
    fn latest(&self, job: &WaitingJob, planned_start: &PlannedStart) -> Time {
        let delay = self.queues.get(&job.queue).filter(|_| planned_start.nodes.is_empty());
        let delay =
            delay.map(|queue| DelayAllowed::of(queue, job, planned_start.earliest_planned()));
        delay.map_or(planned_start.at, |delay| delay.latest().max(planned_start.at))
    }

    /// Whether all jobs keep to their times, and there are no bookings and no nodes out of use.
    fn nothing_disturbs_plans(&self) -> bool {
        self.snapshot.reservations().next().is_none()
            && self
                .snapshot
                .planned_starts()
                .values()
                .all(|planned_start| planned_start.at >= self.now)
            && self.snapshot.nodes().iter().all(|node| node.unusable.is_none())
            && self
                .snapshot
                .all_running()
                .all(|job| job.may_be_preempted() && job.ends_by.is_none_or(|ends| ends > self.now))
    }

    /// Whether the job's queue still makes promises, on these nodes.
    fn binds(&self, job: &WaitingJob, planned_start: &PlannedStart) -> bool {
        let Some(queue) = self.queues.get(&job.queue) else { return false };
        let known: Vec<NodeName> =
            self.snapshot.nodes().into_iter().map(|node| node.name).collect();
        // A reservation for one component of several promises no start.
        job.together.is_none()
            && self.is_within_backfill_depth(queue, job)
            && queue.behind == Behind::Backfill
            && queue.order == Order::Fifo
            && planned_start.nodes.iter().all(|node| known.contains(node))
            && (queue.nodes.is_empty()
                || planned_start.nodes.iter().all(|node| queue.nodes.contains(node)))
    }

    /// Whether the job is among the first of its queue that hold promises, as many as the queue
    /// makes now. A new policy may make fewer; later promises then no longer bind.
    fn is_within_backfill_depth(&self, queue: &Queue, job: &WaitingJob) -> bool {
        let own = self.fifo_position(job);
        let is_ahead = |key: &JobKey| {
            self.snapshot
                .waiting_job(*key)
                .is_some_and(|other| other.queue == queue.name && self.fifo_position(other) < own)
        };
        let ahead = self.snapshot.planned_starts().keys().filter(|key| is_ahead(key)).count();
        queue.backfill.depth == 0 || ahead < queue.backfill.depth as usize
    }

    /// Whether any job without reserved nodes could come before this one.
    fn another_may_go_before(&self, job: &WaitingJob) -> bool {
        let Some(own) = self.fifo_position(job) else { return true };
        self.snapshot.all_waiting().any(|other| {
            other.key != job.key
                && self.snapshot.planned_starts().get(&other.key).is_none_or(|p| p.nodes.is_empty())
                && self.fifo_position(other).is_none_or(|place| place < own)
        })
    }
}
