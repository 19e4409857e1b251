//! When a waiting job would start, as it is or with a changed request: a round is run on a copy,
//! then [`crate::forecast`]. The answer is no promise: new jobs of higher priority change it, and
//! jobs that end early.
//!
//! Source: ours; Slurm's `sbatch --test-only` answers the same question for a new job.
//! Reads: everything a round reads.
//! Knobs: none.
//!
//! Example. Nodes a and b have 8 GPUs each. Job 1 holds all of a until 60 minutes from now, job 2
//! holds 4 GPUs of b without an end. Job 3 asks for 8 GPUs: it starts in 60 minutes, on a. If it
//! asked for 4, it would start now, on b.

use crate::explain::forecast::{after_round, simulated_start_nodes, starts_on};
use crate::model::job::WaitingJob;
use crate::model::snapshot::Snapshot;
use crate::round::schedule;
use common::id::{JobKey, NodeName};
use common::reason::WaitReason;
use common::time::Time;

/// When a job would start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outlook {
    /// It starts now, on these nodes.
    pub starts_on: Option<Vec<NodeName>>,
    /// When it starts if every job keeps its time limit. `None`: now, or unknown.
    pub expected_at: Option<Time>,
    /// The nodes then, if nothing intervenes. Empty: unknown.
    pub expected_on: Vec<NodeName>,
    /// The forecast was cut off: only a lower bound, `expected_at`, is known.
    pub bounded: bool,
    pub reason: Option<WaitReason>,
}

/// When a waiting job starts, as it is. `None`: no such job waits.
#[must_use]
pub fn outlook(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<Outlook> {
    snapshot.waiting_job(key)?;
    Some(outlook_in_snapshot(snapshot.clone(), now, key))
}

/// When a job would start with this request. The job's own promise does not hold for another
/// request; promises to other jobs do.
#[must_use]
pub fn what_if(snapshot: &Snapshot, now: Time, changed: WaitingJob) -> Outlook {
    let (mut copy, key) = (snapshot.clone(), changed.key);
    copy.remove_job(key);
    copy.set_waiting(changed);
    outlook_in_snapshot(copy, now, key)
}

fn outlook_in_snapshot(mut snapshot: Snapshot, now: Time, key: JobKey) -> Outlook {
    snapshot.prepare_for_round(now);
    let round = schedule(&snapshot, now);
    if let Some(nodes) = starts_on(&round.decisions, key) {
        return Outlook { starts_on: Some(nodes), ..Outlook::default() };
    }
    let reason = round.waits.reason_of(&snapshot, key).or(Some(WaitReason::NotConsidered));
    if matches!(reason, Some(WaitReason::NeverFits { .. } | WaitReason::NeverNear { .. })) {
        return Outlook { reason, ..Outlook::default() };
    }
    let mut forecast = after_round(snapshot.clone(), now, key, round.clone());
    if let Some(then) = forecast.expected_at.filter(|_| forecast.nodes.is_empty())
        && !forecast.bounded
    {
        forecast.nodes = simulated_start_nodes(snapshot, now, key, round, then);
    }
    Outlook {
        starts_on: None,
        expected_at: forecast.expected_at,
        expected_on: forecast.nodes,
        bounded: forecast.bounded,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        gpu_node, gpu_request, key, name, run, share, snapshot, use_gpus, waiting,
    };
    use common::id::GpuIndex;
    use common::resource::Share;
    use common::time::Span;
    use std::sync::Arc;

    const NOW: Time = Time(3_600_000);

    fn in_minutes(minutes: u64) -> Option<Time> {
        Some(NOW + Span::from_minutes(minutes))
    }

    /// The example's nodes and running jobs.
    fn cluster() -> Snapshot {
        let mut snapshot = snapshot(vec![gpu_node("a", 8), gpu_node("b", 8)]);
        let all = Share { gpus: (0..8).map(GpuIndex).collect(), ..share("a", "0-7") };
        run(&mut snapshot, 1, all, in_minutes(60));
        use_gpus(&mut snapshot, "b", 4);
        snapshot
    }

    #[test]
    fn the_example() {
        let mut snapshot = cluster();
        let job = waiting(3, gpu_request(8), 30);
        snapshot.set_waiting(job.clone());
        let as_it_is = outlook(&snapshot, NOW, key(3)).unwrap();
        assert_eq!((as_it_is.starts_on, as_it_is.expected_at), (None, in_minutes(60)));
        assert_eq!(as_it_is.expected_on, [name("a")]);
        assert!(matches!(as_it_is.reason, Some(WaitReason::Resources { .. })));

        let changed = WaitingJob { request: Arc::new(gpu_request(4)), ..job };
        let changed = what_if(&snapshot, NOW, changed);
        let now = Outlook { starts_on: Some(vec![name("b")]), ..Outlook::default() };
        assert_eq!(changed, now);
        assert_eq!(outlook(&snapshot, NOW, key(4)), None, "no such job");
    }

    #[test]
    fn who_waits_behind_others_is_looked_for_beyond_their_ends() {
        let mut snapshot = cluster();
        for (job, minutes) in [(3, 30), (4, 20), (5, 10)] {
            snapshot.set_waiting(waiting(job, gpu_request(8), minutes));
        }
        let last = outlook(&snapshot, NOW, key(5)).unwrap();
        assert_eq!(last.expected_at, in_minutes(60 + 30 + 20));
        assert_eq!(last.expected_on, [name("a")]);
        // A shorter limit does not help; a smaller request does.
        let short = what_if(&snapshot, NOW, waiting(5, gpu_request(8), 1));
        assert_eq!(short.expected_at, in_minutes(60 + 30 + 20));
        let small = what_if(&snapshot, NOW, waiting(5, gpu_request(4), 10));
        assert_eq!(small.starts_on, Some(vec![name("b")]));
    }

    #[test]
    fn what_never_ends_has_no_outlook() {
        let mut snapshot = snapshot(vec![gpu_node("a", 8)]);
        use_gpus(&mut snapshot, "a", 8);
        snapshot.set_waiting(waiting(3, gpu_request(1), 30));
        let never = outlook(&snapshot, NOW, key(3)).unwrap();
        assert_eq!((never.starts_on, never.expected_at), (None, None));
        assert_eq!(never.expected_on, []);
        assert!(never.reason.is_some());
    }
}
