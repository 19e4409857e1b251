//! One scheduling round, in numbered steps. Read this file first.
//!
//! 1. Order     in which jobs are considered                    `policy::{order, queue_scan}`
//! 2. Admit     jobs that may start at all now                  `policy::admit`
//! 3. Fit       nodes that hold the whole job                   `place::fit`
//! 4. Score     the best of them, with their GPUs and CPUs      `place::{score, placing}`
//! 5. Backfill  later jobs past jobs that have no room          `place::backfill`
//! 6. Preempt   running jobs for jobs that may preempt them     `preempt`
//! 7. Grow      elastic jobs onto nodes that no job waits for   `planner::growing`
//! 8. Reasons   for which each other job waits                  `waits`
//!
//! `planner` has the state of a round and takes each job through steps 2 to 6; quotas and limits
//! (step 2) are counted in `model::usage_accounting`.
//!
//! With fair sharing (`fair_sharing`), `fair_share` decides the order of step 1 and replaces steps
//! 5 and 6, on the same state.
//!
//! A round's work is bounded. The bounds count trials, not seconds, so a saved snapshot gives the
//! same round on any machine.

pub(crate) mod planner;
pub(crate) mod preempt;
pub mod round_result;
pub mod waits;

pub mod fair_share;

use crate::model::snapshot::Snapshot;
use crate::policy::queue_scan::QueueScan;
use crate::round::planner::RoundState;
use crate::round::round_result::Round;
use common::time::Time;

/// Decides which waiting jobs start now, and where.
#[must_use]
pub fn schedule(snapshot: &Snapshot, now: Time) -> Round {
    if !snapshot.is_ready_for_round(now) {
        let mut settled = snapshot.clone();
        settled.prepare_for_round(now);
        return round(&settled, now);
    }
    round(snapshot, now)
}

fn round(snapshot: &Snapshot, now: Time) -> Round {
    if snapshot.policy.fair_sharing {
        return fair_share::round(snapshot, now);
    }
    let mut state = RoundState::new(snapshot, now);
    // 1. Order.
    let mut scan = QueueScan::new(snapshot, now);
    // 2 to 6, job by job: what one job takes is not free for the next.
    while let Some(considered) = scan.next(|kind, queue| state.is_kind_full(kind, queue)) {
        let verdict = state.consider(&considered);
        scan.report_turn(&considered, verdict, state.queue_is_done(&considered.job.queue));
    }
    // 7. Grow.
    state.grow();
    // 8. Reasons.
    state.finish()
}

#[cfg(test)]
mod tests;
