//! First in, first out: higher queue priority first, then higher QoS, then lower nice, then the
//! longest wait.
//!
//! Source: Slurm, "Multifactor Priority Plugin": the factors Partition, QOS, Nice and Age, ranked
//! instead of weighed against each other; Kueue, "ClusterQueue", Queueing strategy: priority, then
//! creation time.
//! Reads: the priorities of queue and QoS; the job's nice and since when it waits. Not what the job
//! asks for, nor past use.
//! Knobs: `priority` of queues and QoS; `--nice`.
//!
//! Equal jobs are ordered by job id, the tasks of an array by index.
//!
//! Example, two idle nodes. Job 1 was submitted first, job 2 second with QoS `urgent` of priority
//! 5, job 3 last to a queue of priority 10. The order is 3, 2, 1.

use super::{Facts, Rank};
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use std::cmp::Reverse;

/// The priorities of queue and QoS, and nice: what comes before waits.
pub(crate) type Tier = (Reverse<i32>, Reverse<i32>, i32);

pub(crate) fn tier(queue: &Queue, qos: Option<&Qos>, nice: i32) -> Tier {
    (Reverse(queue.priority), Reverse(qos.map_or(0, |qos| qos.priority)), nice)
}

#[must_use]
pub fn rank(job: &Facts<'_>) -> Rank {
    let (queue, qos, nice) = tier(job.queue, job.qos, job.nice);
    Rank {
        queue,
        qos,
        nice,
        turn_ms: i128::from(job.since.0),
        points: Reverse(0),
        since: job.since,
        key: job.key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::order::multifactor::tests::{facts, policy};
    use common::time::Time;

    fn ordered(jobs: &[Facts<'_>]) -> Vec<String> {
        let mut ranks: Vec<Rank> = jobs.iter().map(rank).collect();
        ranks.sort_unstable();
        ranks.iter().map(|rank| rank.key.to_string()).collect()
    }

    #[test]
    fn the_example() {
        let policy = policy();
        let queue = &policy.queues[0];
        let high = Queue { priority: 10, ..queue.clone() };
        let urgent = Some(&policy.qos[0]);
        let jobs = [
            facts(1, queue),
            Facts { qos: urgent, ..facts(2, queue) },
            Facts { queue: &high, ..facts(3, queue) },
        ];
        assert_eq!(ordered(&jobs), ["3", "2", "1"]);
    }

    #[test]
    fn nice_goes_before_waiting_and_ties_end_by_number() {
        let policy = policy();
        let queue = &policy.queues[0];
        let at = |job, since| Facts { since: Time(since), ..facts(job, queue) };
        let task = Facts { key: "3_0".parse().unwrap(), ..at(3, 5) };
        let nicer = Facts { nice: -1, ..at(9, 9) };
        assert_eq!(ordered(&[at(4, 1), task, at(3, 5), nicer]), ["9", "4", "3", "3_0"]);
    }
}
