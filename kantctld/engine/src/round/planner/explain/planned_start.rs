//! Promises as far as they can be shown: when a job starts, and how many jobs come before it.

use crate::model::job::WaitingJob;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::reason::WaitReason;
use common::time::Time;

/// The same reason for another job, without a promise.
pub(super) fn without_expected_start(mut reason: WaitReason) -> WaitReason {
    if let Some(expected_at) = reason.expected_at_mut() {
        *expected_at = None;
    }
    reason
}

/// Beyond this many shadows, their nodes are not compared.
const SHADOWS_MAX: usize = 16;

impl RoundState<'_> {
    /// When a job starts, if that is known: only if it can end by its deadline, and not from a
    /// shadow that ignores another one.
    pub(super) fn reported_planned_start(&self, job: &WaitingJob) -> Option<Time> {
        let planned_start = self.planned_starts.get(&job.key)?;
        let ends = planned_start.at + job.time_limit.unwrap_or_default();
        let in_time = job.deadline.is_none_or(|deadline| ends <= deadline);
        (in_time && (!planned_start.nodes.is_empty() || self.no_earlier_shadow(job.key)))
            .then_some(planned_start.at)
    }

    /// Whether no earlier shadow counts on a node that this job may use.
    fn no_earlier_shadow(&self, key: JobKey) -> bool {
        let Some(own) = self.shadows.iter().position(|(_, shadow)| shadow.key == key) else {
            return self.shadows.is_empty();
        };
        if own > SHADOWS_MAX {
            return false;
        }
        let cluster = &self.snapshot.cluster;
        let mine = self.shapes.get(self.shadows[own].1.shape);
        self.shadows[..own].iter().all(|(_, earlier)| {
            let other = self.shapes.get(earlier.shape);
            !cluster.nodes().any(|(at, _)| mine.allows(at) && other.allows(at))
        })
    }

    /// How many jobs with promises were considered before this one.
    pub(super) fn ahead_of(&self, key: JobKey) -> u32 {
        let others = self.planned_starts.keys().filter(|other| **other != key);
        u32::try_from(others.count()).unwrap_or(u32::MAX).max(1)
    }
}
