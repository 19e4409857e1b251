//! A copy of a snapshot in which running jobs may be moved whatever the budget of moves says. Never
//! handed to a round.

use crate::snapshot::{Snapshot, WaitingJob};
use common::id::JobKey;
use common::policy::Moves;
use common::time::Time;
use std::sync::Arc;

/// The same cluster with no bound on moves: neither on how many there are in an hour, nor on what
/// a job loses. Who may not yield, is safe for a while, or has something to meet stays where it is.
/// `again`: how running jobs would wait if they were stopped; `key`: the job that room is looked
/// for, for which others move even if it yields to nobody itself.
#[must_use]
pub fn opened(
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
    copy.set_moves(Vec::new());
    for job in again {
        copy.set_movable(job.key, Some(job));
    }
    if let Some(job) = snapshot.waiting(key) {
        copy.set_waiting(WaitingJob { preemptible: Some(true), ..(**job).clone() });
    }
    copy.settle(now);
    copy
}
