//! The times of an attempt as its nodes measured them. A report may arrive long after the end that
//! it is about, because no controller led or the network was cut. That time is not the job's: a
//! share ends as long after its allocation as it was on its node, and no later than its report is
//! applied. Nodes measure spans and no times of day, so a wrong clock of a node changes nothing.

use super::run_mut;
use crate::charging;
use crate::job::Run;
use crate::run_times::Traits;
use crate::state::State;
use common::id::JobKey;
use common::job::{EndCause, ExitStatus, Outcome, Phase, Spec, StepEnd, Usage};
use common::time::{Span, Time};

/// Records the end of a share that has not ended yet, and charges it until then.
///
/// If nothing else of the attempt goes on, this also corrects when the attempt began: that report
/// may have been as late as the one of the end. While it goes on, its limits count from the report.
pub(super) fn record_share_end(state: &mut State, key: JobKey, rank: usize, end: &StepEnd) {
    let now = state.now;
    let ends = state.element(key).is_some_and(|(_, element)| element.phase == Phase::Completing);
    let Some(run) = run_mut(state, key) else { return };
    let until = over_at(run, rank, end, now);
    run.over_at = run.over_at.max(Some(until));
    let first = run.allocated_at;
    // The node's clock may differ from the leader's: clamp its time.
    let began = end.ran.map(|ran| until - ran).or(end.started_at);
    let began = began.map(|began| began.max(first).min(until));
    // Nodes report mostly in their order, so the last one is looked at first.
    let mut others = run.shares.iter().enumerate().rev().filter(|(other, _)| *other != rank);
    let ends = ends || others.all(|(_, share)| share.is_over());
    run.running_at = match (run.running_at, began) {
        // The share began and ended between two reports.
        (None, began) => began,
        (Some(at), Some(began)) if ends && end.ran.is_some() => Some(at.min(began)),
        (at, _) => at,
    };
    charging::charge_share(state, key, rank, until);
}

/// Corrects the times of an attempt on one node that was given up, and that had ended before.
pub(super) fn correct_times(run: &mut Run, end: &StepEnd, now: Time) {
    if run.allocation.shares().len() > 1 || end.held.is_none() {
        return;
    }
    let (until, first) = (over_at(run, 0, end, now), run.allocated_at);
    run.over_at = Some(until);
    if let Some(ran) = end.ran {
        run.running_at = Some((until - ran).max(first));
    }
}

/// When the share of this rank ended.
fn over_at(run: &Run, rank: usize, end: &StepEnd, now: Time) -> Time {
    end.held.map_or(now, |held| run.since(rank) + held).min(now)
}

/// Clamps the times of an attempt that is over to its end: the report that it runs may have come
/// later than that, and a suspension may have had no effect on a node that was cut off.
pub(super) fn clamp_to_end(run: &mut Run) {
    if let (Some(began), Some(over)) = (&mut run.running_at, run.over_at) {
        *began = over.min(*began);
        run.suspended = run.suspended.min(over.since(*began));
    }
}

/// Notes how long a job ran that ended by itself or by its time limit.
pub(super) fn note_run_time(state: &mut State, key: JobKey, outcome: Outcome) {
    if !matches!(outcome, Outcome::Completed | Outcome::Failed | Outcome::TimedOut) {
        return;
    }
    let now = state.now;
    let Some(record) = state.jobs.get(&key.job).cloned() else { return };
    let run = record.elements.get(&key.index).and_then(|element| element.run.as_deref());
    let Some((run, began)) = run.and_then(|run| Some((run, run.running_at?))) else { return };
    let over = run.over_at.unwrap_or(now);
    let ran = Span(over.since(began).0.saturating_sub(run.suspended.0));
    let Spec { owner, ask, .. } = &record.spec;
    state.run_times.note(owner.uid, Traits::of(ask), ran, now);
}

/// The end of a share that its node did not report, because the node is lost or came back without
/// it.
pub(crate) fn unreported_end(cause: EndCause, now: Time, message: Option<String>) -> StepEnd {
    let (exit, usage) = (ExitStatus::default(), Usage::default());
    StepEnd {
        cause,
        exit,
        started_at: None,
        ended_at: now,
        held: None,
        ran: None,
        usage,
        message,
        steps: Vec::new(),
    }
}
