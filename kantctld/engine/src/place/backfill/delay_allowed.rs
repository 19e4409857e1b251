//! How much a planned start may be delayed by jobs that run longer than expected.
//!
//! Source: D. Tsafrir et al., "Backfilling Using System-Generated Predictions", IEEE TPDS 18(6),
//! 2007: backfilling by the mean of a user's last two run times. The bound on delays is ours: in
//! that paper, planned starts too are computed from predictions, and large jobs wait longer.
//! Reads: expected run times and time limits of waiting jobs, and the first planned start of the
//! job that may be delayed.
//! Knobs: `backfill_run_times` of a queue.
//!
//! Planned starts are computed from the time limits of running jobs. A job may start ahead of one
//! if it is expected to end before it, both as it is planned now and as it was first planned, and
//! if its time limit ends at most twice the time limit of the planned job after the first planned
//! start. So the sum of all delays has the same bound. A planned start that was delayed is delayed
//! no further by jobs that are expected to end after the first planned start.
//!
//! Example. Job 1, with a time limit of an hour, is planned to start at 12:00. At 11:00, job 2 is
//! expected to run for 30 minutes and has a limit of 3 hours. It may start: it ends by 14:00, which
//! is when job 1 starts at the latest. Job 3, with a limit of 4 hours, may not.

use crate::model::job::WaitingJob;
use common::policy::RunTimes;
use common::policy::queue::Queue;
use common::time::{Span, Time};

/// The part of the delayed job's time limit by which its planned start may be delayed.
const LIMITS_MAX: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DelayAllowed {
    /// The first planned start.
    pub first: Time,
    /// The latest time to which jobs may delay it.
    latest: Time,
}

impl DelayAllowed {
    /// The delay that the start of a job may have which was first planned for that time.
    pub fn of(queue: &Queue, job: &WaitingJob, first: Time) -> Self {
        let by_limits = queue.backfill.run_times == RunTimes::Limit;
        let limit = job.time_limit.filter(|_| !by_limits).unwrap_or_default();
        Self { first, latest: first + Span(limit.0.saturating_mul(LIMITS_MAX)) }
    }

    /// The latest time to which jobs may delay the planned start.
    pub const fn latest(&self) -> Time {
        self.latest
    }

    /// Whether a job may start that is expected to end at one time, and must end by another.
    pub fn allows(&self, expected: Time, by_limit: Time) -> bool {
        expected <= self.first && by_limit <= self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{request, waiting};
    use common::id::QueueName;

    #[test]
    fn the_sum_of_delays_is_at_most_twice_the_time_limit_of_the_delayed_job() {
        let mut queue = Queue::plain(QueueName::new("main").unwrap());
        let minutes = |minutes| Time(0) + Span::from_minutes(minutes);
        let job = waiting(1, request(1, 1), 60);
        let by_limits = DelayAllowed::of(&queue, &job, minutes(720));
        assert_eq!(by_limits.latest(), minutes(720));
        queue.backfill.run_times = RunTimes::Expected;
        let delay = DelayAllowed::of(&queue, &job, minutes(720));
        assert!(delay.allows(minutes(690), minutes(840)));
        assert!(!delay.allows(minutes(690), minutes(841)), "its limit is too long");
        assert!(!delay.allows(minutes(721), minutes(800)), "it is expected to delay the start");
        let unlimited = WaitingJob { time_limit: None, ..job };
        assert_eq!(DelayAllowed::of(&queue, &unlimited, minutes(720)).latest(), minutes(720));
    }
}
