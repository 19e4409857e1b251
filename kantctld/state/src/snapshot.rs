//! The conversion of the state to the engine's snapshot, and of the engine's decisions to a
//! command. This is the only place where the two crates meet.

mod jobs;
mod keeper;
mod never;

pub use keeper::{SnapshotChanges, SnapshotKeeper};
pub use never::{never_fit_together, never_fits};

use crate::charging::{queue_usage, running_usage};
use crate::command::{Command, RoundGrow, RoundPreempt, RoundShrink, RoundStart};
use crate::state::State;
use crate::usage::{Charged, Hour, Used};
use common::id::{AttemptId, JobKey, QueueName};
use common::job::{Phase, Preempted};
use common::time::Time;
use engine::QueueUse;
use engine::order::fair_share::{Bucket, Usage, UsedBy};
use engine::{Decision, Snapshot, WaitingJob};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A snapshot built from scratch, for tests and single uses. Repeated uses keep a
/// [`SnapshotKeeper`].
#[must_use]
pub fn snapshot(state: &State) -> Snapshot {
    SnapshotKeeper::new(state).into_snapshot()
}

/// One waiting job as the engine sees it, without a snapshot; `None` if it does not wait.
#[must_use]
pub fn waiting(state: &State, key: JobKey) -> Option<WaitingJob> {
    let (record, element) = state.element(key).filter(|(_, e)| e.phase == Phase::Pending)?;
    let request = Arc::new(record.spec.ask.request.clone());
    let verdict = crate::dependency::verdict(state, record, key.index);
    jobs::waiting(state, key, record, element, request, verdict)
}

/// The preemptible running jobs as they would wait if they were stopped, even if the policy allows
/// no moves.
pub fn as_waiting_again(state: &State, snapshot: &Snapshot) -> Vec<Arc<WaitingJob>> {
    let may_yield = snapshot.all_running().filter(|job| job.preemptible && !job.ending);
    let again = may_yield.filter_map(|job| {
        let (record, element) = state.element(job.key)?;
        let is_free = element.phase == Phase::Running && record.spec.ask.requeue;
        let request = Arc::new(record.spec.ask.request.clone());
        let verdict = crate::dependency::Verdict::Free(None);
        jobs::waiting(state, job.key, record, element, request, verdict).filter(|_| is_free)
    });
    again.map(Arc::new).collect()
}

/// The past use of users and queues, as rounds see it.
#[derive(Debug)]
pub struct UsedSoFar {
    usage: Usage,
    of_queues: Vec<QueueUse>,
}

impl UsedSoFar {
    #[must_use]
    pub fn by(state: &State, now: Time) -> Self {
        Self { usage: usage(state, now), of_queues: queue_use(state, now) }
    }
}

/// The command that carries out a round; `None` if there is nothing to do. Decisions of unknown
/// kinds are skipped, and the next round decides again.
#[must_use]
pub fn enact_command(decisions: &[Decision]) -> Option<Command> {
    let (mut preempts, mut shrinks) = (Vec::new(), Vec::new());
    let (mut starts, mut grows) = (Vec::new(), Vec::new());
    for decision in decisions {
        match decision {
            Decision::Start { key, attempt, allocation, group } => starts.push(RoundStart {
                id: AttemptId { key: *key, attempt: *attempt },
                allocation: allocation.clone(),
                group: *group,
            }),
            Decision::Preempt { key, attempt, by, reason, mode, to } => {
                preempts.push(RoundPreempt {
                    id: AttemptId { key: *key, attempt: *attempt },
                    preempted: Preempted { by: *by, why: *reason },
                    mode: *mode,
                    to: to.clone(),
                })
            }
            Decision::Shrink { key, attempt, keeps, by, reason } => shrinks.push(RoundShrink {
                id: AttemptId { key: *key, attempt: *attempt },
                preempted: Preempted { by: *by, why: *reason },
                keeps: *keeps,
            }),
            Decision::Grow { key, attempt, shares } => grows.push(RoundGrow {
                id: AttemptId { key: *key, attempt: *attempt },
                shares: shares.clone(),
            }),
            _ => {}
        }
    }
    let gives = !starts.is_empty() || !grows.is_empty();
    let is_empty = preempts.is_empty() && shrinks.is_empty() && !gives;
    (!is_empty).then_some(Command::EnactRound { preempts, shrinks, starts, grows })
}

/// The use of each queue for fair shares, both charged and still running; empty if past use does
/// not count.
#[must_use]
pub fn queue_use(state: &State, now: Time) -> Vec<QueueUse> {
    let all = queue_usage(state, now);
    let bucket =
        |(hour, used): (&Hour, &Used)| Bucket { hour: hour.0, gpu_ms: used.gpu_milliseconds };
    let used = |(queue, hours): (&QueueName, &BTreeMap<Hour, Used>)| QueueUse {
        queue: queue.clone(),
        hours: hours.iter().map(bucket).collect(),
    };
    all.iter().map(used).collect()
}

/// The use of each account and user for fair-share priority, both charged and still running.
#[must_use]
pub fn usage(state: &State, now: Time) -> Usage {
    let mut all: BTreeMap<Charged, BTreeMap<u64, u64>> = BTreeMap::new();
    let running = running_usage(state, now);
    for (payer, hours) in state.usage().iter().chain(running.iter()) {
        let sums = all.entry(payer.clone()).or_default();
        for (hour, used) in hours {
            *sums.entry(hour.0).or_default() += used.gpu_milliseconds;
        }
    }
    let used_by = |(payer, hours): (Charged, BTreeMap<u64, u64>)| UsedBy {
        account: payer.account,
        user: payer.user,
        hours: hours.into_iter().map(|(hour, gpu_ms)| Bucket { hour, gpu_ms }).collect(),
    };
    Usage { entries: all.into_iter().map(used_by).collect() }
}
