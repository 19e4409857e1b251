//! All work of an attempt so far is saved. Never decides what becomes of it.

use crate::event::Event;
use crate::remembered::State;
use common::id::{JobKey, Uid};

/// What it does from now on is all that it would lose.
pub(crate) fn checkpoint(state: &mut State, events: &mut Vec<Event>, key: JobKey, by: Uid) {
    let at = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    let Some(run) = element.run.as_mut() else { return };
    run.saved_at = Some(at);
    state.tell(events, Event::JobSaved { id, by, at });
}
