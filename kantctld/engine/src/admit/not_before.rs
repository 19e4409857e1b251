//! A job waits for its begin time, and after a failed launch for the end of its back-off.
//!
//! Source: man sbatch, `--begin`; the back-off keeps a broken node or prolog from being asked again
//! in every round.
//! Reads: the job's begin time and back-off, and the time. Never: other jobs.
//! Knobs: `--begin` of a job.
//!
//! Example, two nodes that nobody uses, at 12:00. Job 1 begins at 13:00 and waits. Job 2 began at
//! 11:00 and starts. Job 3 failed to launch at 11:59 and waits a minute more.

use crate::snapshot::WaitingJob;
use common::reason::WaitReason;
use common::time::Time;

pub(crate) fn check(job: &WaitingJob, now: Time) -> Result<(), WaitReason> {
    match (job.begin_at, job.not_before) {
        (Some(at), _) if at > now => Err(WaitReason::BeginTime { at }),
        (_, Some(until)) if until > now => Err(WaitReason::BackOff { until }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, key, request, snapshot, waiting};
    use common::time::Span;

    #[test]
    fn the_example() {
        let noon = Time(1_700_000_000_000);
        let hour = Span::from_minutes(60);
        let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        snapshot.waiting = (1..=3).map(|job| waiting(job, request(1, 1), 10)).collect();
        snapshot.waiting[0].begin_at = Some(noon + hour);
        snapshot.waiting[1].begin_at = Some(noon - hour);
        snapshot.waiting[2].not_before = Some(noon + Span::from_minutes(1));
        let round = crate::schedule(&snapshot, noon);
        assert_eq!(round.decisions.len(), 1);
        let begin = WaitReason::BeginTime { at: noon + hour };
        let back_off = WaitReason::BackOff { until: noon + Span::from_minutes(1) };
        // Job 3 has waited since its submission, job 1 will since its begin time.
        assert_eq!(round.reasons, [(key(3), back_off), (key(1), begin)]);
        assert_eq!(crate::schedule(&snapshot, noon + hour).decisions.len(), 3);
    }
}
