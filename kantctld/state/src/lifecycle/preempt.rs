//! Preemption of an attempt: its end is decided, its nodes stop it as for a cancel (SIGTERM, grace
//! period, SIGKILL), and once they have released it, it waits again or has ended. The victim and
//! its fate are chosen by a round (`engine::preempt`).

use super::{Ending, end_attempt};
use crate::command::RoundPreempt;
use crate::event::Event;
use crate::ledger::StartRefusal;
use crate::state::State;
use common::job::{Moving, Outcome, Phase, PreemptReason};
use common::policy::{MOVE_KEPT, MOVES_COUNTED, VictimMode};

/// Preempts an attempt. One that is already being stopped is left alone, since its resources become
/// free anyway.
///
/// # Errors
/// The attempt is no longer current or holds nothing, or the preemptor no longer waits.
pub(crate) fn preempt(
    state: &mut State,
    events: &mut Vec<Event>,
    entry: &RoundPreempt,
) -> Result<(), StartRefusal> {
    let RoundPreempt { id, preempted, mode, .. } = *entry;
    let by = state.element(preempted.by).map(|(_, element)| element);
    if !by.is_some_and(|by| by.phase == Phase::Pending && !by.held) {
        return Err(StartRefusal::NoJobWaits(preempted.by));
    }
    let (record, element) = state.element(id.key).ok_or(StartRefusal::UnknownJob)?;
    if element.attempt != id.attempt || !element.phase.holds_resources() {
        return Err(StartRefusal::NothingToYield);
    }
    if element.phase == Phase::Completing {
        return Ok(());
    }
    let requeue = mode == VictimMode::Requeue && record.spec.ask.requeue;
    // The components of a set start together or not at all, so no place is kept for one of them.
    let goes_there = preempted.why == PreemptReason::Move && requeue && record.set.is_none();
    let yields = Ending { requeue, preempted: Some(preempted), ..Ending::new(Outcome::Preempted) };
    end_attempt(state, events, id.key, yields);
    if goes_there {
        record_move(state, entry);
    }
    let (key, why) = (preempted.by, preempted.why);
    state.record_event(events, Event::JobPreempts { key, victim: id, why });
    Ok(())
}

/// Records the move and the place that is kept for the job.
fn record_move(state: &mut State, entry: &RoundPreempt) {
    let now = state.now;
    let grace = state.settings().map(|settings| settings.kill_grace).unwrap_or_default();
    if let Some(element) = state.element_mut(entry.id.key) {
        let moving = Moving { to: entry.to.clone(), until: now + grace + MOVE_KEPT };
        element.moving = Some(Box::new(moving));
    }
    state.moves.retain(|at| *at + MOVES_COUNTED > now);
    state.moves.push(now);
}
