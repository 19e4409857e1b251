//! What was promised, as far as it can be told: when a job starts, and how many come before. Never
//! promises anything; `desk` does.

use crate::desk::Desk;
use crate::snapshot::WaitingJob;
use common::id::JobKey;
use common::reason::WaitReason;
use common::time::Time;

/// The same of another job, to which nothing was promised.
pub(super) fn undated(mut reason: WaitReason) -> WaitReason {
    if let WaitReason::Resources { expected_at, .. } | WaitReason::Topology { expected_at, .. } =
        &mut reason
    {
        *expected_at = None;
    }
    reason
}

impl Desk<'_> {
    /// When a job starts, where that is known: not after its deadline would let it, and not by a
    /// shadow that does not know of another one.
    pub(super) fn told_promise(&self, job: &WaitingJob) -> Option<Time> {
        let promise = self.promises.get(&job.key)?;
        let ends = promise.at + job.time_limit.unwrap_or_default();
        let in_time = job.deadline.is_none_or(|deadline| ends <= deadline);
        let is_first = || self.shadows.first().is_none_or(|(_, shadow)| shadow.key == job.key);
        (in_time && (!promise.nodes.is_empty() || is_first())).then_some(promise.at)
    }

    /// How many jobs that something is kept for were considered before this one.
    pub(super) fn ahead_of(&self, key: JobKey) -> u32 {
        let others = self.promises.keys().filter(|other| **other != key);
        u32::try_from(others.count()).unwrap_or(u32::MAX).max(1)
    }
}
