//! The replicated state machine: stamps commands with the leader's time, applies entries, and
//! passes events on. `state::apply` makes every change, so that replicas do not differ.

use crate::clock::SteadyClock;
use crate::history::{Feed, HistoryRecords};
use crate::mail::MailQueue;
use crate::raft::Machine;
use crate::shared_state::SharedState;
use common::causes::with_causes;
use common::id::LogIndex;
use common::rules_level::{TooEarly, UnknownLevel};
use common::time::Time;
use common::wire::api::EventSequence;
use lead::Notifier;
use state::job::Record;
use state::{Command, Event, LEVELS, Stamped, State, entry};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// The most elements that are dropped on the log's thread.
const DROP_INLINE_MAX: usize = 100;

/// What happened to the state.
#[derive(Debug, Clone, PartialEq)]
pub enum StateNews {
    /// A command was applied.
    Applied(AppliedEvents),
    /// The state was read from a snapshot of this controller or of another one, which ends at this
    /// index and time.
    Restored(LogIndex, Time),
}

/// The events of a command, with their place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedEvents {
    pub entry: LogIndex,
    /// The place in the entry of the first of these events, from 1.
    pub first: u32,
    /// The command's stamp.
    pub at: Time,
    pub events: Vec<Event>,
}

impl AppliedEvents {
    /// The sequence of each event.
    pub fn sequences(&self) -> impl Iterator<Item = EventSequence> {
        let entry = self.entry;
        (self.first..).take(self.events.len()).map(move |place| EventSequence { entry, place })
    }

    /// The sequence of the last event, if there is any.
    pub fn last_sequence(&self) -> Option<EventSequence> {
        let others = u32::try_from(self.events.len().checked_sub(1)?).ok()?;
        Some(EventSequence { entry: self.entry, place: self.first + others })
    }
}

/// The channels from the log's thread to the rest of the controller.
pub struct Outlets {
    /// In order.
    pub news: mpsc::UnboundedSender<StateNews>,
    /// The last applied index.
    pub applied: watch::Sender<LogIndex>,
    /// Whether this controller leads and knows all earlier decisions.
    pub leading: watch::Sender<bool>,
    /// Finished jobs, for accounting.
    pub history: Feed,
    /// E-mail to users, sent by the leader.
    pub mail: MailQueue,
}

/// [`Machine`] over [`State`].
pub struct StateMachine {
    state: SharedState,
    clock: Arc<SteadyClock>,
    outlets: Outlets,
    notifier: Notifier,
}

impl StateMachine {
    pub fn new(clock: Arc<SteadyClock>, outlets: Outlets) -> (Self, SharedState) {
        let state = SharedState::default();
        let notifier = Notifier::default();
        (Self { state: state.clone(), clock, outlets, notifier }, state)
    }

    pub const fn clock(&self) -> &Arc<SteadyClock> {
        &self.clock
    }
}

impl Machine for StateMachine {
    type Command = Command;
    type Answer = Vec<Event>;
    type Frozen = State;

    fn command_bytes(command: &Command) -> usize {
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
                // One in an entry: it takes about as long to apply as an entry may.
                Command::ActOnTasks { .. } | Command::EndHopeless => SMALL << 13,
                _ => 0,
            }
    }

    fn check_command(&self, command: &Command) -> Result<(), TooEarly> {
        entry::check_level(&self.state.read(), command)
    }

    fn check_entry_level(&self, entry: &[u8]) -> Result<(), UnknownLevel> {
        LEVELS.check(entry::level_of(entry))
    }

    fn check_snapshot_level(&self, bytes: &[u8]) -> Result<(), UnknownLevel> {
        // What is no state is refused when it is decoded.
        state::persist::level_of(bytes).map_or(Ok(()), |level| LEVELS.check(level))
    }

    fn pack(&mut self, commands: Vec<Command>) -> Vec<u8> {
        let state = self.state.read();
        self.clock.advance_to_at_least(state.now());
        let at = self.clock.stamp();
        let batch: Vec<_> = commands.into_iter().map(|command| Stamped { at, command }).collect();
        entry::pack(&state, &batch)
            .expect("commands are plain data, and writing to memory does not fail")
    }

    fn apply(&mut self, index: LogIndex, entry: &[u8]) -> Result<Vec<Vec<Event>>, String> {
        let batch = entry::unpack(entry, LEVELS).map_err(|error| with_causes(&error))?;
        let (mut history, mut notifications) = (HistoryRecords::default(), Vec::new());
        // Entries of other leaders and entries replayed at startup send no mail.
        let sends_mail = self.outlets.mail.is_open() && *self.outlets.leading.borrow();
        let mut forgotten = Vec::new();
        let answers: Vec<Vec<Event>> = {
            let mut state = self.state.write();
            if let Some(forget) = batch.iter().find(|one| one.command == Command::ForgetDone) {
                forgotten = state.jobs_to_forget(forget.at).0;
            }
            let answers = batch.iter().map(|stamped| {
                let events = state::apply(&mut state, stamped);
                history.add(&state, &events);
                if sends_mail {
                    notifications.extend(self.notifier.messages_for_events(&state, &events));
                }
                events
            });
            let answers: Vec<Vec<Event>> = answers.collect();
            self.state.add_events(&answers);
            answers
        };
        drop_forgotten(forgotten);
        let mut first = 1;
        for (stamped, events) in batch.iter().zip(&answers) {
            let applied =
                AppliedEvents { entry: index, first, at: stamped.at, events: events.clone() };
            first += u32::try_from(events.len()).unwrap_or(u32::MAX);
            // The receiver is gone while the controller stops.
            let _ = self.outlets.news.send(StateNews::Applied(applied));
        }
        self.outlets.mail.enqueue(notifications);
        self.outlets.history.send_applied(index, history);
        self.outlets.applied.send_replace(index);
        Ok(answers)
    }

    fn freeze(&self) -> State {
        // A cheap copy: records are shared.
        self.state.read().clone()
    }

    fn encode_snapshot(frozen: &State) -> Result<Vec<u8>, String> {
        state::persist::to_bytes(frozen).map_err(|error| with_causes(&error))
    }

    fn checksum(frozen: &State) -> Result<u32, String> {
        state::persist::checksum(frozen).map_err(|error| with_causes(&error))
    }

    fn restore(&mut self, index: LogIndex, bytes: &[u8]) -> Result<(), String> {
        let restored = state::persist::from_bytes(bytes).map_err(|error| with_causes(&error))?;
        let mut state = self.state.write();
        *state = restored;
        self.state.forget_events();
        let at = state.now();
        drop(state);
        let _ = self.outlets.news.send(StateNews::Restored(index, at));
        self.outlets.history.note_restored(index);
        self.outlets.applied.send_replace(index);
        Ok(())
    }

    fn set_leading(&mut self, leading: bool) {
        self.outlets.leading.send_replace(leading);
    }
}

/// Drops forgotten jobs; large arrays on a thread of their own, because dropping them takes long.
fn drop_forgotten(forgotten: Vec<Arc<Record>>) {
    let elements: usize = forgotten.iter().map(|record| record.elements.len()).sum();
    if elements > DROP_INLINE_MAX {
        // If the thread cannot be started, the closure is dropped here.
        let _ =
            std::thread::Builder::new().name("forget".to_owned()).spawn(move || drop(forgotten));
    }
}
