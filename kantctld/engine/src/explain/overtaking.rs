//! The jobs behind another in its queue that a round tries before it, computed on request.

use crate::model::job::WaitingJob;
use crate::model::queues::Queues;
use crate::model::snapshot::Snapshot;
use crate::policy::order::backfill_rank::BackfillRank;
use crate::policy::order::ranker::Ranker;
use common::id::JobKey;
use common::policy::{Behind, Candidates, Order};
use common::time::Time;

/// Jobs that are tried for backfill before an earlier job of their queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overtaking {
    pub jobs: u32,
    /// The order in which the queue tries them.
    pub candidates: Candidates,
}

/// The jobs behind a waiting job in its queue that are tried before it for backfill. `None`: there
/// are none, as for the first job of a queue, whose start is planned. The cost grows with the
/// number of waiting jobs.
#[must_use]
pub fn overtaking(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<Overtaking> {
    let policy = &snapshot.policy;
    let job = snapshot.waiting_job(key).filter(|_| snapshot.class_of(key).is_some())?;
    let queues = Queues::new(policy, &snapshot.places);
    let queue = queues.get(&job.queue)?;
    let candidates = queue.backfill.candidates;
    let has_own_order = queue.behind == Behind::Backfill && queue.order == Order::Fifo;
    if policy.fair_sharing || !has_own_order || candidates == Candidates::InOrder {
        return None;
    }
    let ranker = Ranker::new((policy, queues), &snapshot.usage, &snapshot.capacity, now);
    let places =
        |job: &WaitingJob| (ranker.rank(job), BackfillRank::new(&ranker, job, candidates, now));
    let (own, own_behind) = places(job);
    let (mut is_first, mut jobs) = (true, 0);
    for other in snapshot.all_waiting().filter(|other| other.queue == job.queue) {
        if snapshot.class_of(other.key).is_none() {
            continue;
        }
        let (rank, behind) = places(other);
        is_first &= rank >= own;
        jobs += u32::from(rank > own && behind < own_behind);
    }
    (!is_first && jobs > 0).then_some(Overtaking { jobs, candidates })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{change_policy, cpu_node, key, request, snapshot, waiting};
    use common::time::Span;

    const NOW: Time = Time(90_000_000);

    #[test]
    fn shorter_jobs_that_have_waited_for_long_enough_are_counted_but_for_the_first_job() {
        let mut snapshot = snapshot(vec![cpu_node("a", 4)]);
        // The time limit and the wait, in minutes.
        let jobs = [(600, 120), (640, 100), (20, 26), (20, 24), (700, 26)];
        for (number, (limit, waited)) in (1..).zip(jobs) {
            let mut job = waiting(number, request(8, 1), limit);
            job.submitted_at = NOW - Span::from_minutes(waited);
            snapshot.set_waiting(job);
        }
        for (candidates, counts) in [
            (Candidates::RelativeWait, [0, 1, 0, 1]),
            (Candidates::ShortestFirst, [0, 2, 0, 1]),
            (Candidates::InOrder, [0; 4]),
        ] {
            change_policy(&mut snapshot, |policy| {
                policy.queues[0].backfill.candidates = candidates;
            });
            snapshot.prepare_for_round(NOW);
            let jobs = [1, 2, 3, 5].map(|job| overtaking(&snapshot, NOW, key(job)));
            let found = jobs.map(|found| found.map_or(0, |found| found.jobs));
            assert_eq!(found, counts, "{candidates:?}");
        }
    }
}
