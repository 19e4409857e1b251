//! Higher queues first, then lower nice, then who has waited longest.
//!
//! Source: Slurm, "Multifactor Priority Plugin": the factors Partition, Nice and Age, ranked
//! instead of weighed against each other; Kueue, "ClusterQueue", Queueing strategy: priority, then
//! creation time.
//! Reads: the queue's priority; the job's nice, submission and begin time. Never: what it asks for.
//! Knobs: `priority` of a queue; `--nice` of a job.
//!
//! A job waits since it was submitted or, if that is later, since its begin time. Equals go by job
//! id, the tasks of an array by index.
//!
//! Example, two nodes that nobody uses. Job 1 was submitted first, job 2 second with `--nice=-10`,
//! job 3 last to a queue of priority 10. The order is 3, 2, 1; whoever of them fits beside those
//! before it starts.

use crate::snapshot::{Snapshot, WaitingJob};
use common::id::{JobKey, QueueName};
use common::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The waiting jobs in the order in which to consider them.
pub(crate) fn order(snapshot: &Snapshot) -> Vec<&WaitingJob> {
    let queues: BTreeMap<&QueueName, i32> =
        snapshot.queues.iter().map(|queue| (&queue.name, queue.priority)).collect();
    let rank = |job: &WaitingJob| -> (Reverse<i32>, i32, Time, JobKey) {
        let queue = queues.get(&job.queue).copied().unwrap_or(i32::MIN);
        let since = job.begin_at.map_or(job.submitted_at, |begin| begin.max(job.submitted_at));
        (Reverse(queue), job.nice, since, job.key)
    };
    let mut jobs: Vec<_> = snapshot.waiting.iter().map(|job| (rank(job), job)).collect();
    jobs.sort_by_key(|(rank, _)| *rank);
    jobs.into_iter().map(|(_, job)| job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, queue, request, snapshot, waiting};

    fn ordered(snapshot: &Snapshot) -> Vec<String> {
        order(snapshot).into_iter().map(|job| job.key.to_string()).collect()
    }

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        let mut high = queue("high");
        high.priority = 10;
        snapshot.queues.push(high.clone());
        snapshot.waiting = (1..=3).map(|job| waiting(job, request(1, 1), 10)).collect();
        snapshot.waiting[1].nice = -10;
        snapshot.waiting[2].queue = high.name;
        assert_eq!(ordered(&snapshot), ["3", "2", "1"]);
        let round = crate::schedule(&snapshot, Time(9_000));
        assert_eq!(round.decisions.len(), 3);
    }

    #[test]
    fn waiting_begins_at_the_begin_time_and_ends_ties_by_number() {
        let mut snapshot = snapshot(vec![]);
        snapshot.waiting = (1..=4).map(|job| waiting(job, request(1, 1), 10)).collect();
        snapshot.waiting[0].begin_at = Some(Time(3_500));
        snapshot.waiting[1].begin_at = Some(Time(1));
        snapshot.waiting[3].key = "3_0".parse().unwrap();
        snapshot.waiting[3].submitted_at = Time(3_000);
        assert_eq!(ordered(&snapshot), ["2", "3", "3_0", "1"]);
        snapshot.waiting.reverse();
        assert_eq!(ordered(&snapshot), ["2", "3", "3_0", "1"], "whatever the snapshot's order");
    }
}
