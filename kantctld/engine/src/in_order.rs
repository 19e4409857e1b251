//! All waiting jobs in the order in which a round considers them: for lists and for "number 7 of
//! those that wait". Never decides anything; a round makes its own order as it goes.

use crate::queue_up::{Next, Queueing};
use crate::snapshot::Snapshot;
use common::id::JobKey;
use common::time::Time;
use std::collections::BTreeSet;

/// Every waiting job: first those that may start, in the order in which a round at `now` considers
/// them, then those that are held or whose time has not come, by key. Takes as long as there are
/// waiting jobs: ask when somebody looks, not in each round. Of a snapshot that is not settled, a
/// copy is.
#[must_use]
pub fn in_order(snapshot: &Snapshot, now: Time) -> Vec<JobKey> {
    if !snapshot.is_settled(now) {
        let mut settled = snapshot.clone();
        settled.settle(now);
        return in_order(&settled, now);
    }
    let mut queueing = Queueing::new(snapshot, now);
    let mut keys = Vec::with_capacity(snapshot.waiting_count());
    while let Some(turn) = queueing.next() {
        keys.push(turn.job.key);
        queueing.tell(&turn, Next::MayTry, false);
    }
    let seen: BTreeSet<JobKey> = keys.iter().copied().collect();
    keys.extend(snapshot.all_waiting().map(|job| job.key).filter(|key| !seen.contains(key)));
    keys
}
