//! The order in which jobs behind a reservation are tried: among jobs of equal priority, the
//! longest wait in relation to the time limit first, or the shortest time limit first.
//!
//! Source: D. Tsafrir et al., "Backfilling Using System-Generated Predictions", IEEE TPDS 18(6),
//! 2007: shortest job backfilled first (SJBF). W. Tang et al., "Fault-aware, utility-based job
//! scheduling on Blue Gene/P systems", CLUSTER 2009: powers of wait by requested time. The
//! exponents are ours, chosen on replayed traces (docs/quality.md): with the wait and the limit to
//! the same power, long jobs wait too long on some of them.
//! Reads: priority of queue and QoS, nice, waiting times, and time limits, or how long jobs are
//! expected to run, if their queue plans by that. Not how much they ask for.
//! Knobs: `backfill_candidates` of a queue.
//!
//! By relative wait, jobs are ordered by wait^5 / limit^2, with limits rounded up to three binary
//! digits: a job with 32 times the limit goes first when it has waited 4 times as long. A short job
//! passes a long one soon. But a job that is submitted later passes it only after it has waited for
//! a certain part of the long job's wait, so that the long one does not fall back further and
//! further.
//!
//! Example, two nodes, one kept for a job in 60 minutes. Job 1 may run for 50 minutes, job 2 for
//! 20, job 3 for 10 with `--nice=5`. The shortest first, the order is 2, 1, 3. If job 1 has waited
//! for 100 minutes and job 2 for 60, the order by relative wait is 1, 2, 3.

use crate::model::job::WaitingJob;
use crate::policy::order::fifo::Tier;
use crate::policy::order::ranker::Ranker;
use common::id::JobKey;
use common::policy::Candidates;
use common::time::{Span, Time};
use std::cmp::Reverse;

/// A job's place behind a reservation; smaller goes first. The priorities of queue and QoS, and
/// nice, come before waits and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BackfillRank {
    tier: Tier,
    relative_wait: Reverse<u128>,
    limit: Span,
    since: Time,
    key: JobKey,
}

impl BackfillRank {
    pub fn new(ranker: &Ranker<'_>, job: &WaitingJob, candidates: Candidates, now: Time) -> Self {
        let tier = ranker.tier(job);
        let (wait, limit) = match candidates {
            Candidates::RelativeWait => (relative_wait(job, now), job.rounded_length()),
            Candidates::InOrder | Candidates::ShortestFirst => (0, job.expected_length()),
        };
        Self { tier, relative_wait: Reverse(wait), limit, since: job.since(), key: job.key }
    }
}

/// A job's wait to the fifth power by its rounded time limit squared, in tenths of a second. Waits
/// of more than 59 days are equal, as are those of jobs that were just submitted: of equal jobs,
/// the one with the shorter limit goes first.
fn relative_wait(job: &WaitingJob, now: Time) -> u128 {
    let tenths = |span: Span| u128::from(span.0 / 100);
    let limit = tenths(job.rounded_length()).max(1);
    tenths(now.since(job.since())).checked_pow(5).map_or(u128::MAX, |wait| wait / limit.pow(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::past_usage::Usage;
    use crate::model::queues::Queues;
    use crate::testing::{cpu_node, request, snapshot, waiting};

    const NOW: Time = Time(9_000_000);

    /// Jobs, numbered from 1, by the minutes that they may run and have waited, in order.
    fn ordered(candidates: Candidates, jobs: &[(u64, u64)], nice_of_last: i32) -> Vec<u32> {
        let snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        let usage = Usage::default();
        let queues = Queues::new(snapshot.policy(), &snapshot.places);
        let policy = (&**snapshot.policy(), queues);
        let ranker = Ranker::new(policy, &usage, &snapshot.capacity, NOW);
        let job = |(number, (limit, waited)): (u32, &(u64, u64))| {
            let mut job = waiting(number, request(1, 1), *limit);
            job.submitted_at = NOW - Span::from_minutes(*waited);
            job
        };
        let mut jobs: Vec<WaitingJob> = (1..).zip(jobs).map(job).collect();
        jobs.last_mut().unwrap().nice = nice_of_last;
        jobs.sort_by_key(|job| BackfillRank::new(&ranker, job, candidates, NOW));
        jobs.iter().map(|job| job.key.job.0).collect()
    }

    #[test]
    fn the_example() {
        let jobs = [(50, 100), (20, 60), (10, 60)];
        assert_eq!(ordered(Candidates::ShortestFirst, &jobs, 5), [2, 1, 3]);
        assert_eq!(ordered(Candidates::RelativeWait, &jobs, 5), [1, 2, 3]);
    }

    #[test]
    fn a_job_of_32_times_the_limit_goes_first_after_4_times_the_wait() {
        let order = |waited| ordered(Candidates::RelativeWait, &[(640, waited), (20, 10)], 0);
        assert_eq!(order(39), [2, 1]);
        assert_eq!(order(41), [1, 2]);
    }

    #[test]
    fn limits_are_rounded_up_to_three_binary_digits() {
        let rounded = |limit: u64| {
            let mut job = waiting(1, request(1, 1), 1);
            job.time_limit = Some(Span(limit));
            job.rounded_length().0
        };
        let limits = [0, 1, 7, 8, 9, 15, 16, 17, 1000, u64::MAX - 1];
        assert_eq!(limits.map(rounded), [0, 1, 7, 8, 10, 16, 16, 20, 1024, u64::MAX - 1]);
    }

    #[test]
    fn an_unlimited_job_and_one_that_has_waited_for_years_have_a_rank() {
        let mut job = waiting(1, request(1, 1), 1);
        let year = Span::from_minutes(365 * 24 * 60);
        assert_eq!(relative_wait(&job, job.since()), 0);
        assert_eq!(relative_wait(&job, job.since() + year), u128::MAX);
        job.time_limit = None;
        assert_eq!(relative_wait(&job, job.since() + Span::from_minutes(60)), 0);
        job.time_limit = Some(Span(0));
        assert_eq!(relative_wait(&job, job.since() + Span::from_seconds(1)), 100_000);
    }
}
