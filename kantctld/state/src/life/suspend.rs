//! A running attempt stands still, and goes on. What it holds stays its own, and what it is charged
//! goes on: nobody else can use it. Never decides its end.

use crate::event::Event;
use crate::remembered::State;
use common::id::{JobKey, Uid};
use common::job::state::Change;

/// Its nodes are to let it stand still.
pub(crate) fn suspend(state: &mut State, events: &mut Vec<Event>, key: JobKey, by: Uid) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    if element.run.is_none() || !element.follow(Change::Suspend) {
        return;
    }
    let Some(run) = element.run.as_mut() else { return };
    run.suspended_at = Some(now);
    let nodes = run.holding();
    state.tell(events, Event::JobSuspended { id, by, nodes });
}

/// Its nodes are to let it go on.
pub(crate) fn resume(state: &mut State, events: &mut Vec<Event>, key: JobKey, by: Uid) {
    let now = state.now;
    let Some(element) = state.element_mut(key) else { return };
    let id = element.attempt_id(key);
    if element.run.is_none() || !element.follow(Change::Resume) {
        return;
    }
    let Some(run) = element.run.as_mut() else { return };
    run.wake(now);
    let nodes = run.holding();
    state.tell(events, Event::JobResumed { id, by, nodes });
}
