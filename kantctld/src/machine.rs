//! The replicated state under the log: packs commands with the leader's time, applies entries,
//! passes events on. Never decides; `state::apply` does, the same on every replica.

use crate::clock::SteadyClock;
use crate::history::{Feed, News};
use crate::mail::Postbox;
use crate::raft::Machine;
use common::id::LogIndex;
use lead::Letters;
use state::job::Record;
use state::snapshot::Keeper;
use state::{Command, Event, Stamped, State};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::{mpsc, watch};

/// The format of an entry's bytes; the first byte of each. Readers refuse one they do not know.
pub const ENTRY_FORMAT: u8 = 1;

/// So many events are kept for the scheduler; after more it looks at everything again.
const UNTOLD_MAX: usize = 1 << 16;

/// The most elements that are dropped on the thread of the log.
const CLEARED_AT_ONCE: usize = 100;

/// So many jobs and tasks are read while nobody can write; for more the state is copied.
const READ_AT_ONCE: usize = 1000;

/// The state, for readers; and what the scheduler was not told yet.
#[derive(Clone, Default)]
pub struct SharedState {
    state: Arc<RwLock<State>>,
    /// Written only while the state is, so that a reader of both finds all events of what it sees.
    untold: Arc<Mutex<Untold>>,
}

/// What happened since the scheduler was last told.
#[derive(Default)]
struct Untold {
    /// `None`: not all of it is known.
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
    /// Looks at the state. Never hold this across an await: applying waits for it.
    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        // A poisoned lock means that apply panicked, and the log's thread ended the process.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the scheduler everything since it was last told: the state and the events that led to
    /// it; `None` if not all of them are known. There is one listener: a second one would miss what
    /// the first was told.
    pub fn tell<T>(&self, listener: impl FnOnce(&State, Option<&[Event]>) -> T) -> T {
        let state = self.read();
        let told = std::mem::replace(&mut *self.untold(), Untold::nothing());
        listen(state, told, listener)
    }

    /// The same where settings did not change; `None` where they did, and then nothing is told.
    pub fn tell_but_settings<T>(
        &self,
        listener: impl FnOnce(&State, Option<&[Event]>) -> T,
    ) -> Option<T> {
        let state = self.read();
        let told = {
            let mut untold = self.untold();
            if !untold.knows_settings() {
                return None;
            }
            std::mem::replace(&mut *untold, Untold::nothing())
        };
        Some(listen(state, told, listener))
    }

    /// Can the scheduler be told all that happened since it was last told?
    pub fn knows_all(&self) -> bool {
        self.untold().events.is_some()
    }

    /// Does the scheduler know the settings in force?
    pub fn knows_settings(&self) -> bool {
        self.untold().knows_settings()
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn untold(&self) -> MutexGuard<'_, Untold> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the listener look at the state; at a copy, where it looks for long.
fn listen<T>(
    state: RwLockReadGuard<'_, State>,
    told: Untold,
    listener: impl FnOnce(&State, Option<&[Event]>) -> T,
) -> T {
    let events = told.events.as_deref();
    if events.is_none_or(|events| Keeper::reads(&state, events) <= READ_AT_ONCE) {
        return listener(&state, events);
    }
    let copy = state.clone();
    drop(state);
    listener(&copy, events)
}

impl Untold {
    const fn nothing() -> Self {
        Self { events: Some(Vec::new()), configured: false }
    }

    /// Are the settings in force those that were told?
    const fn knows_settings(&self) -> bool {
        self.events.is_some() && !self.configured
    }

    /// Nobody listens to a follower: what it does not tell must not fill its memory.
    fn add(&mut self, answers: &[Vec<Event>]) {
        let Some(events) = &mut self.events else { return };
        let told = answers.iter().flatten();
        self.configured |= told.clone().any(|event| matches!(event, Event::Configured));
        events.extend(told.cloned());
        if events.len() > UNTOLD_MAX {
            self.events = None;
        }
    }
}

/// What the log's thread tells the rest of the controller.
pub struct Outlets {
    /// Events of every applied entry, in order.
    pub events: mpsc::UnboundedSender<Vec<Event>>,
    /// The last applied index.
    pub applied: watch::Sender<LogIndex>,
    /// Do we lead, and know everything decided before?
    pub leading: watch::Sender<bool>,
    /// What is over, for accounting.
    pub history: Feed,
    /// Letters to users, while we lead.
    pub mail: Postbox,
}

/// [`Machine`] over [`State`].
pub struct StateMachine {
    state: SharedState,
    clock: Arc<SteadyClock>,
    outlets: Outlets,
    letters: Letters,
}

impl StateMachine {
    /// A machine with an empty state.
    pub fn new(clock: Arc<SteadyClock>, outlets: Outlets) -> (Self, SharedState) {
        let state = SharedState::default();
        let letters = Letters::default();
        (Self { state: state.clone(), clock, outlets, letters }, state)
    }

    /// The clock that commands are stamped with.
    pub const fn clock(&self) -> &Arc<SteadyClock> {
        &self.clock
    }
}

impl Machine for StateMachine {
    type Command = Command;
    type Answer = Vec<Event>;
    type Frozen = State;

    fn weigh(command: &Command) -> usize {
        const SMALL: usize = 1 << 10;
        SMALL
            + match command {
                Command::SubmitJob { script, environment, .. } => script.len() + environment.len(),
                Command::SubmitSet { asks, script, environment, .. } => {
                    SMALL * asks.len() + script.len() + environment.len()
                }
                Command::SubmitJobs(many) => {
                    let texts = many.scripts.iter().chain(&many.environments);
                    SMALL * many.jobs.len() + texts.map(String::len).sum::<usize>()
                }
                Command::RegisterNode { steps, .. } => (SMALL << 6) + SMALL * steps.len(),
                Command::ReportSteps { steps, .. } => SMALL * steps.len(),
                Command::EnactRound { preempts, shrinks, starts, grows } => {
                    SMALL * (preempts.len() + shrinks.len() + starts.len() + grows.len())
                }
                // One to an entry: it takes about as long as an entry may.
                Command::SteerTasks { .. } | Command::EndHopeless => SMALL << 13,
                _ => 0,
            }
    }

    fn pack(&mut self, commands: Vec<Command>) -> Vec<u8> {
        self.clock.not_before(self.state.read().now());
        let at = self.clock.now();
        let batch: Vec<_> = commands.into_iter().map(|command| Stamped { at, command }).collect();
        let mut bytes = vec![ENTRY_FORMAT];
        rmp_serde::encode::write_named(&mut bytes, &batch)
            .expect("commands are plain data, and writing to memory does not fail");
        bytes
    }

    fn apply(&mut self, index: LogIndex, entry: &[u8]) -> Result<Vec<Vec<Event>>, String> {
        let batch = unpack(entry)?;
        let (mut news, mut letters) = (News::default(), Vec::new());
        // Entries of other leaders, and those read again at the start, are old news.
        let writes = self.outlets.mail.is_open() && *self.outlets.leading.borrow();
        let mut forgotten = Vec::new();
        let answers: Vec<Vec<Event>> = {
            let mut state = self.state.write();
            if let Some(forget) = batch.iter().find(|one| one.command == Command::ForgetDone) {
                forgotten = state.old(forget.at).0;
            }
            let answers = batch.iter().map(|stamped| {
                let events = state::apply(&mut state, stamped);
                news.add(&state, &events);
                if writes {
                    letters.extend(self.letters.after(&state, &events));
                }
                events
            });
            let answers: Vec<Vec<Event>> = answers.collect();
            self.state.untold().add(&answers);
            answers
        };
        clear_away(forgotten);
        for events in &answers {
            // Nobody listens while the controller stops.
            let _ = self.outlets.events.send(events.clone());
        }
        self.outlets.mail.put(letters);
        self.outlets.history.applied(index, news);
        self.outlets.applied.send_replace(index);
        Ok(answers)
    }

    fn freeze(&self) -> State {
        // Records are shared, not copied.
        self.state.read().clone()
    }

    fn write_down(frozen: &State) -> Result<Vec<u8>, String> {
        state::persist::to_bytes(frozen).map_err(|error| error.to_string())
    }

    fn restore(&mut self, index: LogIndex, bytes: &[u8]) -> Result<(), String> {
        let restored = state::persist::from_bytes(bytes).map_err(|error| error.to_string())?;
        let mut state = self.state.write();
        *state = restored;
        self.state.untold().events = None;
        drop(state);
        self.outlets.history.restored(index);
        self.outlets.applied.send_replace(index);
        Ok(())
    }

    fn lead(&mut self, leading: bool) {
        self.outlets.leading.send_replace(leading);
    }
}

/// Drops what was forgotten: of a large array that takes longer than others should wait.
fn clear_away(forgotten: Vec<Arc<Record>>) {
    let elements: usize = forgotten.iter().map(|record| record.elements.len()).sum();
    if elements > CLEARED_AT_ONCE {
        // Where there is no thread it is dropped here and now.
        let _ =
            std::thread::Builder::new().name("forget".to_owned()).spawn(move || drop(forgotten));
    }
}

/// The commands in an entry.
///
/// # Errors
/// A sentence, for bytes of another format.
pub fn unpack(entry: &[u8]) -> Result<Vec<Stamped<Command>>, String> {
    match entry.split_first() {
        Some((&ENTRY_FORMAT, body)) => rmp_serde::from_slice(body).map_err(|e| e.to_string()),
        Some((format, _)) => Err(format!(
            "it has format {format}, and this release reads {ENTRY_FORMAT}: \
             start the release that wrote it, or a newer one"
        )),
        None => Err("it is empty".to_owned()),
    }
}
