//! All waiting jobs in the order in which a round considers them, for lists and for positions in
//! the queue. A round computes its own order step by step.

use crate::model::snapshot::Snapshot;
use crate::policy::queue_scan::{Next, QueueScan};
use common::id::JobKey;
use common::time::Time;
use std::collections::BTreeSet;

/// Every waiting job: first those that may start, in the order in which a round at `now` considers
/// them, then held jobs and jobs before their begin time, by key. The cost grows with the number of
/// waiting jobs, so call it on request, not in each round. An unsettled snapshot is copied and
/// settled.
#[must_use]
pub fn waiting_jobs_in_order(snapshot: &Snapshot, now: Time) -> Vec<JobKey> {
    if !snapshot.is_ready_for_round(now) {
        let mut settled = snapshot.clone();
        settled.prepare_for_round(now);
        return waiting_jobs_in_order(&settled, now);
    }
    let mut scan = QueueScan::new(snapshot, now);
    let mut keys = Vec::with_capacity(snapshot.waiting_count());
    while let Some(turn) = scan.next(|_, _| false) {
        keys.push(turn.job.key);
        scan.report_turn(&turn, Next::MayTry, false);
    }
    let seen: BTreeSet<JobKey> = keys.iter().copied().collect();
    keys.extend(snapshot.all_waiting().map(|job| job.key).filter(|key| !seen.contains(key)));
    keys
}
