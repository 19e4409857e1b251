//! The factors of waiting jobs' priorities, for `kantctl priority`. A round computes the same for
//! itself.

use crate::model::snapshot::Snapshot;
use crate::policy::order::fair_share::FairShare;
use crate::policy::order::multifactor::{Multifactor, PriorityBreakdown};
use crate::policy::order::ranker::facts;
use common::id::JobKey;
use common::time::Time;

/// The factors of each of these jobs that waits in a configured queue, as a round at `now` weighs
/// them. Jobs in FIFO queues get the factors they would have. An unsettled snapshot is copied and
/// settled.
#[must_use]
pub fn priority_breakdowns(
    snapshot: &Snapshot,
    now: Time,
    keys: &[JobKey],
) -> Vec<(JobKey, PriorityBreakdown)> {
    if !snapshot.is_ready_for_round(now) {
        let mut settled = snapshot.clone();
        settled.prepare_for_round(now);
        return priority_breakdowns(&settled, now, keys);
    }
    let policy = snapshot.policy();
    let half_life_hours = policy.factors.half_life_hours;
    let fair = FairShare::new(&snapshot.usage, &policy.accounts, half_life_hours, now);
    let multifactor = Multifactor::new(policy, &fair, &snapshot.capacity);
    let breakdown = |key: &JobKey| {
        let job = snapshot.waiting_job(*key)?;
        let queue = policy.queues.iter().find(|queue| queue.name == job.queue)?;
        let qos = job.qos.as_ref();
        let qos = qos.and_then(|name| policy.qos.iter().find(|qos| qos.name == *name));
        Some((*key, multifactor.breakdown(&facts(queue, job, qos), now)))
    };
    keys.iter().filter_map(breakdown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{change_policy, gpu_node, gpu_request, key, snapshot, waiting};
    use common::policy::Factors;

    #[test]
    fn a_sheet_shows_what_each_factor_adds() {
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
        change_policy(&mut snapshot, |policy| {
            policy.factors = Factors {
                age: 1000,
                age_max_seconds: 1000,
                size: 100,
                queue: 0,
                qos: 0,
                fair_share: 0,
                ..Factors::default()
            };
        });
        let mut job = waiting(3, gpu_request(8), 30);
        job.nice = 20;
        snapshot.set_waiting(job);
        let priority_breakdowns = priority_breakdowns(&snapshot, Time(503_000), &[key(3), key(4)]);
        let [(found, breakdown)] = priority_breakdowns.as_slice() else {
            panic!("{priority_breakdowns:?}")
        };
        assert_eq!(*found, key(3));
        assert_eq!((breakdown.age.points, breakdown.size.points, breakdown.nice), (500, 50, 20));
        assert_eq!(breakdown.points, 500 + 50 - 20);
    }
}
