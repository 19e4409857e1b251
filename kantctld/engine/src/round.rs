//! One scheduling round, in numbered steps. Read this file first.
//!
//! 1. Order     in which jobs are considered                    `order`, `queue_scan`
//! 2. Admit     jobs that may start at all now                  `admit`, `usage_accounting`
//! 3. Fit       nodes that hold the whole job                   `fit`
//! 4. Score     the best of them, with their GPUs and CPUs      `score`, `place`
//! 5. Backfill  later jobs past jobs that have no room          `backfill`, `planner::reserve`
//! 6. Preempt   running jobs for jobs that may preempt them     `preempt`
//! 7. Grow      elastic jobs onto nodes that no job waits for   `planner::growing`
//! 8. Reasons   for which each other job waits                  `waits`
//!
//! With fair sharing (`fair_sharing`), `fair::round` replaces steps 1, 5 and 6.
//!
//! A round's work is bounded. The bounds count trials, not seconds, so a saved snapshot gives the
//! same round on any machine.

use crate::decision::Decision;
use crate::planner::RoundState;
use crate::queue_scan::QueueScan;
use crate::resume_cursor::ResumeCursor;
use crate::snapshot::{Full, PlannedStart, Snapshot};
use crate::waits::Waits;
use common::id::JobKey;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most searches for a place in one round, unless the snapshot sets another bound. The
/// remaining jobs are considered in the next round. A job of a shape that is already known not to
/// fit costs no search.
pub(crate) const TRIALS_MAX: u32 = 20_000;

/// The result of a round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Round {
    /// What to do, in this order. All decisions fit together: the judge (`check`) accepts them.
    pub decisions: Vec<Decision>,
    /// Promises to jobs that still wait. The caller passes them to the next round.
    pub planned_starts: BTreeMap<JobKey, PlannedStart>,
    /// Where this round stopped if it ran out of searches. The caller passes it to the next round.
    #[serde(default, skip_serializing_if = "ResumeCursor::is_empty")]
    pub resume_cursor: ResumeCursor,
    /// Which kinds of jobs found no room. The caller passes it to the next round.
    #[serde(skip)]
    pub full: Full,
    /// How many searches for nodes this round made.
    #[serde(skip)]
    pub searches: Cost,
    /// Why the other jobs wait.
    pub waits: Waits,
    /// If nothing changes, no round before this time decides anything else. `None`: no later round
    /// does.
    pub next_look: Option<Time>,
}

/// The cost of a round. All costs compare as equal, so that rounds with equal results are equal.
#[derive(Debug, Clone, Copy, Eq, Default)]
pub struct Cost(pub u64);

impl PartialEq for Cost {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Decides which waiting jobs start now, and where.
#[must_use]
pub fn schedule(snapshot: &Snapshot, now: Time) -> Round {
    if !snapshot.is_settled(now) {
        let mut settled = snapshot.clone();
        settled.settle(now);
        return round(&settled, now);
    }
    round(snapshot, now)
}

fn round(snapshot: &Snapshot, now: Time) -> Round {
    if snapshot.policy.fair_sharing {
        return crate::fair::round(snapshot, now);
    }
    let mut state = RoundState::new(snapshot, now);
    // 1. Order.
    let mut scan = QueueScan::new(snapshot, now);
    // 2 to 6, job by job: what one job takes is not free for the next.
    while let Some(considered) = scan.next() {
        let verdict = state.consider(&considered);
        scan.tell(&considered, verdict, state.queue_is_done(&considered.job.queue));
    }
    // 7. Grow.
    state.grow();
    // 8. Reasons.
    state.finish()
}

#[cfg(test)]
mod tests;
