//! The order in which jobs behind a reservation are tried: among jobs of equal priority, the
//! shortest first.
//!
//! Source: D. Tsafrir et al., "Backfilling Using System-Generated Predictions", IEEE TPDS 18(6),
//! 2007: shortest job backfilled first (SJBF).
//! Reads: priority of queue and QoS, nice, time limits. Not how long jobs really run.
//! Knobs: `backfill_candidates` of a queue.
//!
//! Example, two nodes, one kept for a job in 60 minutes. Job 1 may run for 50 minutes, job 2 for
//! 20, job 3 for 10 with `--nice=5`. The order is 2, 1, 3.

use crate::model::job::{UNLIMITED, WaitingJob};
use crate::policy::order::ranker::Ranker;
use common::id::JobKey;
use common::time::{Span, Time};
use std::cmp::Reverse;

/// A job's place where the shortest go first. The priorities of queue and QoS, and nice, come
/// before the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Length {
    tier: (Reverse<i32>, Reverse<i32>, i32),
    limit: Span,
    since: Time,
    key: JobKey,
}

impl Length {
    pub fn of(ranker: &Ranker<'_>, job: &WaitingJob) -> Self {
        let rank = ranker.rank(job);
        let tier = (rank.queue, rank.qos, rank.nice);
        Self { tier, limit: length(job), since: job.since(), key: job.key }
    }
}

/// A job's time limit; the maximum if it has none.
pub(crate) fn length(job: &WaitingJob) -> Span {
    job.time_limit.unwrap_or(UNLIMITED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::past_usage::Usage;
    use crate::model::queues::Queues;
    use crate::testing::{cpu_node, request, snapshot, waiting};

    #[test]
    fn the_example() {
        let snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        let usage = Usage::default();
        let queues = Queues::new(snapshot.policy(), &snapshot.places);
        let policy = (&**snapshot.policy(), queues);
        let ranker = Ranker::new(policy, &usage, &snapshot.capacity, Time(9_000_000));
        let mut jobs: Vec<WaitingJob> = [(1, 50), (2, 20), (3, 10)]
            .map(|(job, minutes)| waiting(job, request(1, 1), minutes))
            .into();
        jobs[2].nice = 5;
        jobs.sort_by_key(|job| Length::of(&ranker, job));
        assert_eq!(jobs.iter().map(|job| job.key.job.0).collect::<Vec<_>>(), [2, 1, 3]);
    }
}
