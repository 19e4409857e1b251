//! The replicated state for readers, with the events that the scheduler has not read yet.

use common::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use state::snapshot::SnapshotKeeper;
use state::{Event, State};
use std::sync::Arc;

/// The most events kept for the scheduler; after more, it rebuilds its view.
pub(crate) const PENDING_EVENTS_MAX: usize = 1 << 16;

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
    settings: SettingsVersion,
}

/// Counts how often the settings were changed, or may have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SettingsVersion(u64);

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
    /// are known. Also returns the version of the settings in that state. For the scheduler only: a
    /// second listener would miss events.
    pub fn take_events<T>(
        &self,
        listener: impl FnOnce(&State, Option<&[Event]>) -> T,
    ) -> (T, SettingsVersion) {
        let state = self.read();
        let (events, settings) = {
            let mut pending = self.pending();
            (pending.events.replace(Vec::new()), pending.settings)
        };
        (call_listener(state, events.as_deref(), listener), settings)
    }

    /// Whether all events since the last call of `take_events` are known.
    pub fn knows_all_events(&self) -> bool {
        self.pending().events.is_some()
    }

    /// The version of the settings in force.
    pub fn settings_version(&self) -> SettingsVersion {
        self.pending().settings
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
        let mut pending = self.pending();
        pending.events = None;
        pending.settings.0 += 1;
    }

    fn pending(&self) -> MutexGuard<'_, PendingEvents> {
        self.pending.lock()
    }
}

/// Calls the listener, with a copy of the state if it reads much.
fn call_listener<T>(
    state: RwLockReadGuard<'_, State>,
    events: Option<&[Event]>,
    listener: impl FnOnce(&State, Option<&[Event]>) -> T,
) -> T {
    // With unknown events it reads all of the state.
    if events
        .is_some_and(|events| SnapshotKeeper::estimate_reads(&state, events) <= READ_LOCKED_MAX)
    {
        return listener(&state, events);
    }
    let copy = state.clone();
    drop(state);
    listener(&copy, events)
}

impl PendingEvents {
    /// On a follower the events are not read, so their number is limited.
    fn add(&mut self, answers: &[Vec<Event>]) {
        let taken = answers.iter().flatten();
        let is_setting = |event: &Event| matches!(event, Event::Configured);
        self.settings.0 += u64::from(taken.clone().any(is_setting));
        let Some(events) = &mut self.events else { return };
        events.extend(taken.cloned());
        if events.len() > PENDING_EVENTS_MAX {
            self.events = None;
        }
    }
}
