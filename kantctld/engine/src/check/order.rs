//! Checks strict FIFO: in such a queue no job starts behind an earlier one that got no room. Only
//! orders that are certain are checked; factors are never weighed.

use super::Judge;
use crate::model::job::WaitingJob;
use crate::round::round_result::Round;
use common::id::JobKey;
use common::id::QueueName;
use common::policy::{Behind, Order};
use common::reason::WaitReason;
use common::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A job's position among those of FIFO queues.
type Place = (Reverse<i32>, Reverse<i32>, i32, Time, JobKey);

impl Judge<'_> {
    /// A job's position, if its queue is a FIFO.
    pub(super) fn fifo_position(&self, job: &WaitingJob) -> Option<Place> {
        let queue = self.queues.get(&job.queue)?;
        if queue.order != Order::Fifo {
            return None;
        }
        let qos = self.snapshot.policy().qos.iter().find(|qos| Some(&qos.name) == job.qos.as_ref());
        let qos = qos.map_or(0, |qos| qos.priority);
        let since = job.begin_at.map_or(job.submitted_at, |begin| begin.max(job.submitted_at));
        Some((Reverse(queue.priority), Reverse(qos), job.nice, since, job.key))
    }

    /// In a strict queue, a job may be passed only if it may not start now, or never can.
    pub(super) fn check_strict_order(&mut self, round: &Round) {
        if self.snapshot.policy().fair_sharing {
            // Under fair sharing turns follow from shares, which change with every start.
            return;
        }
        let mut last: BTreeMap<&QueueName, Place> = BTreeMap::new();
        for key in &self.started {
            let Some(job) = self.snapshot.waiting_job(*key) else { continue };
            let Some(queue) = self.queues.get(&job.queue) else { continue };
            // Others have been preempted for it already.
            if self
                .snapshot
                .planned_starts()
                .get(key)
                .is_some_and(|planned_start| planned_start.yielded)
            {
                continue;
            }
            if queue.behind == Behind::Wait
                && let Some(place) = self.fifo_position(job)
            {
                let last = last.entry(&job.queue).or_insert(place);
                *last = place.max(*last);
            }
        }
        if last.is_empty() {
            return;
        }
        let mut passed = Vec::new();
        for job in self.snapshot.all_waiting().filter(|job| !self.started.contains(&job.key)) {
            let behind = last.get(&job.queue);
            let is_before = self.fifo_position(job).is_some_and(|place| Some(&place) < behind);
            if is_before
                && round.waits.reason_of(self.snapshot, job.key).is_some_and(|r| waits_for_room(&r))
            {
                passed.extend(behind.map(|place| (place.4, job.key)));
            }
        }
        for (key, before) in passed {
            self.key = key;
            self.fault(format!("starts in a strict queue before job {before}, which has no room"));
        }
    }
}

/// Whether the job would start if there were room.
pub(super) const fn waits_for_room(reason: &WaitReason) -> bool {
    matches!(
        reason,
        WaitReason::Resources { .. }
            | WaitReason::Topology { .. }
            | WaitReason::GroupPerNode { .. }
            | WaitReason::NodesUnavailable { .. }
            | WaitReason::NodesReserved { .. }
            | WaitReason::Priority { .. }
            | WaitReason::Preempting { .. }
            | WaitReason::BehindHead { .. }
            | WaitReason::NotConsidered
    )
}
