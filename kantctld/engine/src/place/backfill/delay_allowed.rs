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
//! start. So as long as the planned job stays the first of its queue, with a planned start in each
//! round of one leader, all such jobs together delay it by no more than that. Otherwise the bound
//! begins again. A planned job that would miss its deadline, or meet a reservation or a planned
//! start on certain nodes, is not delayed into that.
//!
//! Example. Job 1, with a time limit of an hour, is planned to start at 12:00. At 11:00, job 2 is
//! expected to run for 30 minutes and has a limit of 3 hours. It may start: it ends by 14:00, which
//! is when job 1 starts at the latest. Job 3, with a limit of 4 hours, may not.

use crate::model::job::WaitingJob;
use common::policy::queue::Queue;
use common::time::{Span, Time};

/// A planned start may be delayed by this number of time limits of its job.
const LIMITS_MAX: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DelayAllowed {
    /// The first planned start.
    pub first: Time,
    /// The latest time to which jobs may delay it.
    latest: Time,
    /// When the delayed job ends by its time limit, if it starts then.
    over_by: Time,
}

impl DelayAllowed {
    /// The delay that the start of a job may have which was first planned for that time.
    pub fn of(queue: &Queue, job: &WaitingJob, first: Time) -> Self {
        let by_limits = !queue.backfill.uses_expected_times();
        let limit = job.time_limit.filter(|_| !by_limits).unwrap_or_default();
        let latest = first + Span(limit.0.saturating_mul(LIMITS_MAX));
        let in_time =
            job.deadline.map_or(latest, |deadline| Time(deadline.0.saturating_sub(limit.0)));
        let latest = latest.min(in_time).max(first);
        Self { first, latest, over_by: latest + limit }
    }

    /// The latest time to which jobs may delay the planned start.
    pub const fn latest(&self) -> Time {
        self.latest
    }

    /// When the delayed job ends at the latest. Nothing may be kept for others on its nodes before.
    pub const fn latest_end(&self) -> Time {
        self.over_by
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
    use common::policy::RunTimes;

    #[test]
    fn a_delay_is_at_most_twice_the_time_limit_of_the_delayed_job_and_leaves_it_its_deadline() {
        let mut queue = Queue::with_defaults(QueueName::new("main").unwrap());
        let minutes = |minutes| Time(0) + Span::from_minutes(minutes);
        let job = waiting(1, request(1, 1), 60);
        let by_limits = DelayAllowed::of(&queue, &job, minutes(720));
        assert_eq!(by_limits.latest(), minutes(720));
        queue.backfill.run_times = RunTimes::Expected;
        let delay = DelayAllowed::of(&queue, &job, minutes(720));
        assert!(delay.allows(minutes(690), minutes(840)));
        assert!(!delay.allows(minutes(690), minutes(841)), "its limit is too long");
        assert!(!delay.allows(minutes(721), minutes(800)), "it is expected to delay the start");
        let in_time = WaitingJob { deadline: Some(minutes(795)), ..job.clone() };
        assert_eq!(DelayAllowed::of(&queue, &in_time, minutes(720)).latest(), minutes(735));
        let too_late = WaitingJob { deadline: Some(minutes(760)), ..job.clone() };
        assert_eq!(DelayAllowed::of(&queue, &too_late, minutes(720)).latest(), minutes(720));
        let unlimited = WaitingJob { time_limit: None, ..job };
        assert_eq!(DelayAllowed::of(&queue, &unlimited, minutes(720)).latest(), minutes(720));
    }
}
