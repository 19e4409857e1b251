//! The record that all work of an attempt so far is saved.

use crate::event::Event;
use crate::state::State;
use common::id::{JobKey, Uid};

/// Records the time from which work would be lost if the attempt were stopped.
pub(crate) fn checkpoint(state: &mut State, events: &mut Vec<Event>, key: JobKey, by: Uid) {
    let at = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    let Some(run) = element.run.as_mut() else { return };
    run.saved_at = Some(at);
    state.record_event(events, Event::JobSaved { id, by, at });
}
