//! A copy of a snapshot in which running jobs may be moved regardless of the budget of moves. It is
//! for questions only, not for a round.

use crate::model::job::WaitingJob;
use crate::model::snapshot::Snapshot;
use common::id::JobKey;
use common::policy::Moves;
use common::time::Time;
use std::sync::Arc;

/// The same cluster without bounds on moves: neither on their number per hour, nor on what a job
/// loses. A job that is not preemptible, is protected, or has a deadline or a reservation stays
/// where it is. `again`: the running jobs as they would wait if they were stopped; `key`: the job
/// that room is searched for, for which others move even if it is not preemptible itself.
#[must_use]
pub fn without_move_limits(
    snapshot: &Snapshot,
    now: Time,
    again: impl IntoIterator<Item = Arc<WaitingJob>>,
    key: JobKey,
) -> Snapshot {
    let mut copy = snapshot.clone();
    let mut policy = (**snapshot.policy()).clone();
    policy.fair_sharing = true;
    policy.moves = Moves { per_hour: u32::MAX, lost_gpu_minutes_max: u64::MAX };
    copy.set_policy(Arc::new(policy));
    copy.set_move_times(Vec::new());
    for job in again {
        copy.set_movable(job.key, Some(job));
    }
    if let Some(job) = snapshot.waiting_job(key) {
        copy.set_waiting(WaitingJob { preemptible: Some(true), ..(**job).clone() });
    }
    copy.prepare_for_round(now);
    copy
}
