//! The replicated state for readers, with the events that the scheduler has not read yet.

use common::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use state::snapshot::Keeper;
use state::{Event, State};
use std::sync::Arc;

/// The most events kept for the scheduler; after more, it rebuilds its view.
const PENDING_EVENTS_MAX: usize = 1 << 16;

/// The most jobs and tasks read while the state is locked; for more, the state is copied.
const READ_LOCKED_MAX: usize = 1000;

/// The state and the pending events.
#[derive(Clone, Default)]
pub struct SharedState {
    state: Arc<RwLock<State>>,
    /// Written only while the state is locked for writing, so that a reader of both sees matching
    /// state and events.
    pending: Arc<Mutex<PendingEvents>>,
}

/// Events since the scheduler last read.
#[derive(Default)]
struct PendingEvents {
    /// `None` if some are unknown.
    events: Option<Vec<Event>>,
    configured: bool,
}

#[cfg(test)]
impl From<State> for SharedState {
    fn from(state: State) -> Self {
        Self { state: Arc::new(RwLock::new(state)), ..Self::default() }
    }
}

impl SharedState {
    /// Locks the state for reading. Never hold this across an await: applying waits for it.
    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        // A poisoned lock means that apply panicked, which ends the process.
        self.state.read()
    }

    /// Passes `listener` the state and the events since the last call; `None` if not all of them
    /// are known. For the scheduler only: a second listener would miss events.
    pub fn take_events<T>(&self, listener: impl FnOnce(&State, Option<&[Event]>) -> T) -> T {
        let state = self.read();
        let taken = std::mem::replace(&mut *self.pending(), PendingEvents::nothing());
        call_listener(state, taken, listener)
    }

    /// The same unless settings changed; `None` if they did, and then the events are kept.
    pub fn take_events_unless_configured<T>(
        &self,
        listener: impl FnOnce(&State, Option<&[Event]>) -> T,
    ) -> Option<T> {
        let state = self.read();
        let taken = {
            let mut pending = self.pending();
            if !pending.knows_settings() {
                return None;
            }
            std::mem::replace(&mut *pending, PendingEvents::nothing())
        };
        Some(call_listener(state, taken, listener))
    }

    /// Whether all events since the last call of `take_events` are known.
    pub fn knows_all_events(&self) -> bool {
        self.pending().events.is_some()
    }

    /// Whether the scheduler has the settings in force.
    pub fn knows_settings(&self) -> bool {
        self.pending().knows_settings()
    }

    /// Locks the state for writing: for the state machine only.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write()
    }

    /// Adds the events of an entry, while the state is still locked for writing.
    pub(crate) fn add_events(&self, answers: &[Vec<Event>]) {
        self.pending().add(answers);
    }

    /// Notes that events are unknown, while the state is still locked for writing.
    pub(crate) fn forget_events(&self) {
        self.pending().events = None;
    }

    fn pending(&self) -> MutexGuard<'_, PendingEvents> {
        self.pending.lock()
    }
}

/// Calls the listener, with a copy of the state if it reads much.
fn call_listener<T>(
    state: RwLockReadGuard<'_, State>,
    taken: PendingEvents,
    listener: impl FnOnce(&State, Option<&[Event]>) -> T,
) -> T {
    let events = taken.events.as_deref();
    if events.is_none_or(|events| Keeper::reads(&state, events) <= READ_LOCKED_MAX) {
        return listener(&state, events);
    }
    let copy = state.clone();
    drop(state);
    listener(&copy, events)
}

impl PendingEvents {
    const fn nothing() -> Self {
        Self { events: Some(Vec::new()), configured: false }
    }

    const fn knows_settings(&self) -> bool {
        self.events.is_some() && !self.configured
    }

    /// On a follower the events are not read, so their number is limited.
    fn add(&mut self, answers: &[Vec<Event>]) {
        let Some(events) = &mut self.events else { return };
        let taken = answers.iter().flatten();
        self.configured |= taken.clone().any(|event| matches!(event, Event::Configured));
        events.extend(taken.cloned());
        if events.len() > PENDING_EVENTS_MAX {
            self.events = None;
        }
    }
}
