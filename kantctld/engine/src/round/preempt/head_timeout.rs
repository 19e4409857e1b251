//! Preemption by head timeout: when the first job of a queue has waited too long, preemptible jobs
//! that passed it are stopped.
//!
//! Source: reference definition of Kant's backfill, ours where the paper (arXiv 2510.01256) gives
//! no rule: evict only preemptible jobs, fewest GPU-seconds lost first; they keep their place.
//! Reads: when jobs were submitted and started, priority of QoS and nice. Exempt are jobs that go
//! before the first one anyway, and those that ran when it was submitted.
//! Knobs: `backfill.head_timeout` of a queue.
//!
//! Example. Nodes a and b have 8 GPUs each, a is in use; the head timeout is 30 minutes. Job 1 asks
//! for both nodes at minute 0. Jobs 2 and 3, both preemptible, are submitted later and pass it on
//! b, with 4 GPUs each. At minute 20 a becomes free, and job 1 still waits. At minute 30 both are
//! stopped, job 3 first, which loses less.

use super::Asker;
use crate::model::job::RunningJob;
use crate::model::victim_index::PriorityKey;
use common::time::Time;

/// When the job's head timeout expires; `None`: never.
pub(super) fn expires_at(asker: &Asker<'_>) -> Option<Time> {
    let timeout = asker.queue.backfill.head_timeout.filter(|_| asker.is_head)?;
    Some(asker.job.since() + timeout)
}

/// Whether the job's head timeout has expired.
pub(super) fn has_expired(asker: &Asker<'_>, now: Time) -> bool {
    expires_at(asker).is_some_and(|strike| strike <= now)
}

/// Whether this job passed the waiting one and may be preempted for it.
pub(super) fn may_preempt(
    asker: &Asker<'_>,
    now: Time,
    job: &RunningJob,
    priority_key: PriorityKey,
) -> bool {
    let since = asker.job.since();
    has_expired(asker, now)
        && job.preemptible
        && job.queue == asker.job.queue
        && job.started_at > since
        && (priority_key, job.submitted_at, job.key) > (asker.priority_key, since, asker.job.key)
}

#[cfg(test)]
mod tests {
    use crate::model::job::WaitingJob;
    use crate::round::preempt::tests::{World, low, on_nodes, queue, with_request};
    use crate::testing::gpu_node;
    use common::policy::queue::Queue;
    use common::time::Span;

    fn patient() -> Queue {
        let mut queue = queue("q");
        queue.preemption.by_priority = false;
        queue.backfill.head_timeout = Some(Span::from_minutes(30));
        queue
    }

    fn short(job: u32, gpus: u32) -> WaitingJob {
        WaitingJob { time_limit: Some(Span::from_minutes(45)), ..low(job, gpus) }
    }

    /// Job 9 holds a for an hour, jobs 2 and 3 have passed job 1 on b.
    fn world() -> World {
        let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], vec![patient()]);
        let hour = Some(Span::from_minutes(60));
        world.submit(WaitingJob { time_limit: hour, ..low(9, 8) });
        assert_eq!(world.round(), ["9 on a"]);
        world.submit(with_request(low(1, 8), on_nodes(2, 8)));
        assert_eq!(world.round(), [""; 0]);
        for (minute, job) in [(5, 2), (10, 3)] {
            world.at(minute).submit(short(job, 4));
            assert_eq!(world.round(), [format!("{job} on b")]);
        }
        world
    }

    #[test]
    fn the_example() {
        let mut world = world();
        world.at(20).over(9);
        assert_eq!(world.round(), [""; 0]);
        assert_eq!(world.round.next_look, Some(world.minute(30)));
        world.at(30);
        assert_eq!(world.round(), ["3 for 1", "2 for 1"]);
        world.at(31).gone(2).gone(3);
        assert_eq!(world.round(), ["1 on a b"]);
    }

    #[test]
    fn a_job_whose_preemption_would_not_help_runs_on() {
        let mut world = world();
        world.at(40);
        assert_eq!(world.round(), [""; 0], "job 9 was there before, and is not preemptible");
    }

    #[test]
    fn who_goes_before_the_first_or_was_there_is_left_alone() {
        let mut world = World::new(vec![gpu_node("a", 8)], vec![patient()]);
        world.submit(low(1, 8));
        world.round();
        world.at(5).submit(low(2, 8));
        assert_eq!(world.at(90).round(), [""; 0], "job 1 ran when it came");
        world.submit(super::super::tests::high(3, 4)).over(1);
        assert_eq!(world.round(), ["3 on a"]);
        assert_eq!(world.at(95).round(), [""; 0], "job 3 goes before it");
    }
}
