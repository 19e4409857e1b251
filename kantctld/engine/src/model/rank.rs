//! A job's rank, and how queues of different orders compare with each other.
//!
//! Source: ours. Slurm ranks partitions by PriorityTier before any weights (man slurm.conf). It has
//! only one order, so it does not define how ranked and weighted jobs of equal tiers mix.
//! Reads: the facts of the job. Not the queue's name, so that equal jobs of different queues stay
//! equal.
//! Knobs: `priority` and `order` of a queue.
//!
//! The priority of the queue comes first, whatever its order. Among queues of equal priority, jobs
//! of FIFO queues are ordered by QoS priority, then nice, then the time since which they wait. A
//! job of a multifactor queue ranks there as a job with QoS priority 0 and nice 0 that has waited
//! as long as age alone would take to earn all its points, without the points for the queue, which
//! all its neighbours have. If age has no weight, a point counts as a second. So multifactor jobs
//! are ordered by points among themselves, and none starves behind the jobs of another queue.
//!
//! Example, two nodes, two queues of priority 0, at hour 200. Job 1 waits in the FIFO queue since
//! hour 190. Job 2 waits in the multifactor queue since hour 199; a point of age is worth an hour,
//! and its QoS adds 20 points: it ranks as a job that waits since hour 179, before job 1. Job 3
//! waits there since hour 195 and has only age: 5 points, so it ranks after job 1.

use crate::model::job::WaitingJob;
use common::id::JobKey;
use common::time::Time;
use std::cmp::Reverse;

/// A job's rank; smaller goes first. Of jobs that differ only in `since` and key, the one that has
/// waited longer never ranks behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    pub queue: Reverse<i32>,
    /// The QoS's priority; 0 in a multifactor queue.
    pub qos: Reverse<i32>,
    /// The job's nice; 0 in a multifactor queue.
    pub nice: i32,
    /// Since when it waits, or would have to wait for its points: milliseconds since 1970, may be
    /// negative.
    pub turn_ms: i128,
    /// Its points; 0 in a FIFO queue.
    pub points: Reverse<i64>,
    /// Since when it waits.
    pub since: Time,
    pub key: JobKey,
}

impl Rank {
    /// The rank of a job whose queue is no longer configured: behind all others.
    pub(crate) fn last(job: &WaitingJob) -> Self {
        Self {
            queue: Reverse(i32::MIN),
            qos: Reverse(0),
            nice: 0,
            turn_ms: 0,
            points: Reverse(0),
            since: job.since(),
            key: job.key,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::order::multifactor::{Multifactor, tests as example};
    use crate::policy::order::{Facts, fair_share::FairShare, rank_of};
    use common::policy::queue::Queue;
    use common::policy::{Amounts, Factors, Order};
    use common::time::Time;

    fn ordered(multifactor: &Multifactor<'_>, jobs: &[Facts<'_>], now: Time) -> Vec<u32> {
        let mut ranks: Vec<_> = jobs.iter().map(|job| rank_of(multifactor, job, now)).collect();
        ranks.sort_unstable();
        ranks.iter().map(|rank| rank.key.job.0).collect()
    }

    #[test]
    fn the_example() {
        let hour = |hours: u64| Time(hours * 3_600_000);
        let fair = FairShare::default();
        let mut policy = example::policy();
        policy.factors = Factors {
            age: 100,
            age_max_seconds: 100 * 3600,
            qos: 20,
            queue: 0,
            fair_share: 0,
            ..Factors::default()
        };
        let multifactor = Multifactor::new(&policy, &fair, &Amounts::default());
        let weighed = &policy.queues[0];
        let ranked = Queue { order: Order::Fifo, ..weighed.clone() };
        let facts = |job, since| Facts { since: hour(since), ..example::facts(job, weighed) };
        let jobs = [
            Facts { queue: &ranked, ..facts(1, 190) },
            Facts { qos: Some(&policy.qos[0]), ..facts(2, 199) },
            facts(3, 195),
        ];
        assert_eq!(ordered(&multifactor, &jobs, hour(200)), [2, 1, 3]);
        let high = Queue { priority: 1, ..weighed.clone() };
        let jobs = [jobs[0], jobs[1], Facts { queue: &high, ..jobs[2] }];
        assert_eq!(ordered(&multifactor, &jobs, hour(200)), [3, 2, 1], "queues go first");
    }

    #[test]
    fn who_has_waited_longer_is_never_behind_a_job_that_differs_in_nothing_else() {
        let fair = FairShare::default();
        for age in [0, 1, 1_000, u32::MAX] {
            for age_max_seconds in [0, 1, 86_400, u64::MAX] {
                let mut policy = example::policy();
                policy.factors = Factors { age, age_max_seconds, ..policy.factors };
                let multifactor = Multifactor::new(&policy, &fair, &Amounts::default());
                let job =
                    |since| Facts { since: Time(since), ..example::facts(1, &policy.queues[0]) };
                let now = Time(200_000_000);
                let ranks = [0, 1, 999, 1_000, 86_399_000, 199_999_999, 300_000_000]
                    .map(|since| rank_of(&multifactor, &job(since), now));
                assert!(ranks.is_sorted(), "{age} {age_max_seconds}");
            }
        }
    }
}
