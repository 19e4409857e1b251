//! Deadlines: a job does not start if its time limit would end it after its deadline.
//!
//! Source: man sbatch, `--deadline`.
//! Reads: the job's deadline and time limit, and the time. A job without a time limit may start
//! before its deadline, which then ends it.
//! Knobs: `--deadline` of a job.
//!
//! Example, two idle nodes, at 12:00. Job 1 may run for an hour and has a deadline at 13:00: it
//! starts. Job 2 may run for two hours and has the same deadline: it waits, and will end as
//! DeadlineMissed. Job 3 has no deadline and starts.

use crate::model::job::WaitingJob;
use common::reason::WaitReason;
use common::time::{Span, Time};

pub(crate) fn check(job: &WaitingJob, now: Time) -> Result<(), WaitReason> {
    let ends = now + job.time_limit.unwrap_or(Span(0));
    match job.deadline {
        Some(deadline) if ends > deadline => Err(WaitReason::DeadlineTooNear { deadline }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{cpu_node, key, placed_at, request, snapshot, waiting};
    use common::reason::WaitReason;
    use common::time::{Span, Time};

    #[test]
    fn the_example() {
        let noon = Time(1_700_000_000_000);
        let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        let deadline = noon + Span::from_minutes(60);
        for (job, minutes) in [(1, 60), (2, 120), (3, 60)] {
            let mut one = waiting(job, request(1, 1), minutes);
            one.deadline = (job < 3).then_some(deadline);
            snapshot.set_waiting(one);
        }
        assert_eq!(placed_at(&snapshot, noon), ["1 a", "3 a"]);
        let round = crate::schedule(&snapshot, noon);
        let reason = WaitReason::DeadlineTooNear { deadline };
        assert_eq!(round.waits.reason_of(&snapshot, key(2)), Some(reason));
    }
}
