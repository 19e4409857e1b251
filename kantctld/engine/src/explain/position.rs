//! The position of a waiting job in the queue, computed on request.
//! [`queue_order`](crate::explain::queue_order) lists all jobs.

use crate::model::job::WaitingJob;
use crate::model::rank::Rank;
use crate::model::snapshot::Snapshot;
use crate::policy::order::fair_share::FairShare;
use crate::policy::order::multifactor::Multifactor;
use crate::policy::order::ranker::facts;
use crate::policy::order::{Facts, rank_of};
use common::id::JobKey;
use common::policy::queue::Queue;
use common::time::Time;

/// A waiting job's position, from 1: jobs that may start in the order in which a round at `now`
/// considers them, then held jobs and jobs before their begin time, by key. `None`: it does not
/// wait. The cost grows with the number of jobs before it.
#[must_use]
pub fn position(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<u32> {
    if !snapshot.is_ready_for_round(now) {
        let mut settled = snapshot.clone();
        settled.prepare_for_round(now);
        return position(&settled, now, key);
    }
    let job = snapshot.waiting_job(key)?;
    let classes = snapshot.wait_queue.classes().map(|(_, class)| class);
    let before: usize = if snapshot.class_of(key).is_some() {
        let (accounts, half_life) =
            (&snapshot.policy.accounts, snapshot.policy.factors.half_life_hours);
        let fair = FairShare::new(&snapshot.usage, accounts, half_life, now);
        let multifactor = Multifactor::new(&snapshot.policy, &fair, &snapshot.capacity);
        let first = facts_of(snapshot, job);
        let own = rank_with_facts(&multifactor, first.as_ref(), job, now);
        let ahead = |class: &crate::model::wait_queue::Class| {
            let first = class.jobs().next().and_then(|job| facts_of(snapshot, job));
            let places =
                class.jobs().map(|job| rank_with_facts(&multifactor, first.as_ref(), job, now));
            places.take_while(|place| *place < own).count()
        };
        classes.map(ahead).sum()
    } else {
        let parked = snapshot.all_waiting().map(|job| job.key).take_while(|other| *other < key);
        let parked = parked.filter(|other| snapshot.class_of(*other).is_none());
        classes.map(crate::model::wait_queue::Class::len).sum::<usize>() + parked.count()
    };
    u32::try_from(before + 1).ok()
}

fn facts_of<'a>(snapshot: &'a Snapshot, job: &'a WaitingJob) -> Option<Facts<'a>> {
    let policy = &snapshot.policy;
    let queue: &Queue = policy.queues.iter().find(|queue| queue.name == job.queue)?;
    let qos = job.qos.as_ref().and_then(|name| policy.qos.iter().find(|qos| qos.name == *name));
    Some(facts(queue, job, qos))
}

/// The rank of a job with these facts, except for its number and since when it waits.
fn rank_with_facts(
    multifactor: &Multifactor<'_>,
    equivalent: Option<&Facts<'_>>,
    job: &WaitingJob,
    now: Time,
) -> Rank {
    let own = |facts: &Facts<'_>| {
        rank_of(multifactor, &Facts { key: job.key, since: job.since(), ..*facts }, now)
    };
    equivalent.map_or_else(|| Rank::last(job), own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{change_policy, cpu_node, key, request, snapshot, waiting};
    use common::policy::Order;

    const NOW: Time = Time(9_000_000);

    #[test]
    fn a_position_is_the_place_in_the_order_of_all() {
        for order in [Order::Fifo, Order::Multifactor] {
            let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
            change_policy(&mut snapshot, |policy| policy.queues[0].order = order);
            for job in 1..=30 {
                let mut one = waiting(job, request(1 + job % 3, 1), 10);
                one.nice = i32::try_from(job % 4).unwrap() * 50;
                one.held = job % 7 == 0;
                one.begin_at = (job % 11 == 0).then_some(NOW + common::time::Span(1));
                if job % 5 == 0 {
                    one.queue = common::id::QueueName::new("gone").unwrap();
                }
                snapshot.set_waiting(one);
            }
            for (place, key) in (1..).zip(crate::waiting_jobs_in_order(&snapshot, NOW)) {
                assert_eq!(position(&snapshot, NOW, key), Some(place), "{order:?}: job {key}");
            }
            assert_eq!(position(&snapshot, NOW, key(31)), None);
        }
    }
}
