//! An attempt is made to yield: its end is decided, its nodes stop it as they would for a cancel
//! (SIGTERM, grace, SIGKILL), and once they have let go it waits again or is over.
//! Never chooses a victim, nor what becomes of it; a round does (`engine::preempt`).

use super::{Ending, ended};
use crate::command::RoundPreempt;
use crate::event::Event;
use crate::ledger::StartRefusal;
use crate::remembered::State;
use common::job::{Moving, Outcome, Phase, PreemptReason};
use common::policy::{MOVE_KEPT, MOVES_COUNTED, VictimMode};

/// Makes an attempt yield. One that is being stopped already is left alone: its room comes free
/// anyway.
///
/// # Errors
/// It is another attempt by now, or holds nothing; or nobody waits for its room any more.
pub(crate) fn preempt(
    state: &mut State,
    events: &mut Vec<Event>,
    entry: &RoundPreempt,
) -> Result<(), StartRefusal> {
    let RoundPreempt { id, preempted, mode, .. } = *entry;
    let by = state.element(preempted.by).map(|(_, element)| element);
    if !by.is_some_and(|by| by.phase == Phase::Pending && !by.held) {
        return Err(StartRefusal::NobodyWaits(preempted.by));
    }
    let (record, element) = state.element(id.key).ok_or(StartRefusal::UnknownJob)?;
    if element.attempt != id.attempt || !element.phase.holds_resources() {
        return Err(StartRefusal::NothingToYield);
    }
    if element.phase == Phase::Completing {
        return Ok(());
    }
    let requeue = mode == VictimMode::Requeue && record.spec.ask.requeue;
    // The components of a set start together or not at all: no place is kept for one of them.
    let goes_there = preempted.why == PreemptReason::Move && requeue && record.set.is_none();
    let yields = Ending { requeue, preempted: Some(preempted), ..Ending::new(Outcome::Preempted) };
    ended(state, events, id.key, yields);
    if goes_there {
        moving(state, entry);
    }
    let (key, why) = (preempted.by, preempted.why);
    state.tell(events, Event::JobPreempts { key, victim: id, why });
    Ok(())
}

/// Notes where it goes, and that somebody moved.
fn moving(state: &mut State, entry: &RoundPreempt) {
    let now = state.now;
    let grace = state.settings().map(|settings| settings.kill_grace).unwrap_or_default();
    if let Some(element) = state.element_mut(entry.id.key) {
        let moving = Moving { to: entry.to.clone(), until: now + grace + MOVE_KEPT };
        element.moving = Some(Box::new(moving));
    }
    state.moves.retain(|at| *at + MOVES_COUNTED > now);
    state.moves.push(now);
}
