//! Suspending and resuming of a running attempt. A suspended attempt keeps its resources and is
//! still charged for them, since no other job can use them.

use crate::event::Event;
use crate::state::State;
use common::id::{JobKey, Uid};
use common::job::state::Change;

/// Suspends an attempt on its nodes.
pub(crate) fn suspend(state: &mut State, events: &mut Vec<Event>, key: JobKey, by: Uid) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    if element.run.is_none() || !element.transition(Change::Suspend) {
        return;
    }
    let Some(run) = element.run.as_mut() else { return };
    run.suspended_at = Some(now);
    let nodes = run.holding_nodes();
    state.record_event(events, Event::JobSuspended { id, by, nodes });
}

/// Resumes an attempt on its nodes.
pub(crate) fn resume(state: &mut State, events: &mut Vec<Event>, key: JobKey, by: Uid) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    if element.run.is_none() || !element.transition(Change::Resume) {
        return;
    }
    let Some(run) = element.run.as_mut() else { return };
    run.end_suspension(now);
    let nodes = run.holding_nodes();
    state.record_event(events, Event::JobResumed { id, by, nodes });
}
