//! What all parts of the controller share: the state to read, the log to write, the sessions to
//! reach nodes by, and what the last round said. Never decides anything.

use crate::clock::SteadyClock;
use crate::hub::Hub;
use crate::lookout::Lookout;
use crate::machine::{SharedState, StateMachine};
use crate::raft::{LogHandle, ProposeError};
use common::id::{LogIndex, Uid};
use common::reason::Refusal;
use common::time::Time;
use state::view::Waits;
use state::{Actor, Command, Event};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::{Notify, watch};

/// A command came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The log did not take it.
    #[error(transparent)]
    NotTaken(#[from] ProposeError),
    /// The state refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The controller's shared parts.
pub struct Core {
    /// The replicated state.
    pub state: SharedState,
    /// The log.
    pub log: LogHandle<StateMachine>,
    /// Sessions with nodes.
    pub hub: Hub,
    /// Wakes the scheduler.
    pub wake: Notify,
    /// The last applied index.
    pub applied: watch::Receiver<LogIndex>,
    /// Do we lead?
    pub leading: watch::Receiver<bool>,
    /// Who may do everything; a reload may change it.
    operators: RwLock<BTreeSet<Uid>>,
    /// The clock.
    pub clock: Arc<SteadyClock>,
    /// What the scheduler sees, and what the last round said.
    pub lookout: Lookout,
}

impl Core {
    /// Puts the parts together.
    pub fn new(
        state: SharedState,
        log: LogHandle<StateMachine>,
        applied: watch::Receiver<LogIndex>,
        leading: watch::Receiver<bool>,
        operators: BTreeSet<Uid>,
        clock: Arc<SteadyClock>,
    ) -> Arc<Self> {
        Arc::new(Self {
            state,
            log,
            hub: Hub::default(),
            wake: Notify::new(),
            applied,
            leading,
            operators: RwLock::new(operators),
            clock,
            lookout: Lookout::default(),
        })
    }

    /// Proposes a command and returns its events once they are durable and applied.
    ///
    /// # Errors
    /// [`CommandError`]; a refusal is an error here, not an event.
    pub async fn command(&self, command: Command) -> Result<Vec<Event>, CommandError> {
        let events = self.log.propose(command).await?;
        for event in &events {
            if let Event::CommandRefused(refusal) = event {
                return Err(CommandError::Refused(refusal.clone()));
            }
        }
        Ok(events)
    }

    /// Who asks, and what they may do.
    pub fn actor(&self, uid: Uid) -> Actor {
        let operators = self.operators.read().unwrap_or_else(PoisonError::into_inner);
        Actor { uid, operator: operators.contains(&uid) }
    }

    /// Says anew who may do everything.
    pub fn set_operators(&self, operators: BTreeSet<Uid>) {
        *self.operators.write().unwrap_or_else(PoisonError::into_inner) = operators;
    }

    /// The cluster's name; empty until the first settings are applied.
    pub fn cluster(&self) -> String {
        self.state.read().settings().map(|s| s.cluster.clone()).unwrap_or_default()
    }

    /// The time, never earlier than any stamp in the log.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// What the last round said of waiting jobs.
    pub fn last_waits(&self) -> Arc<Waits> {
        self.lookout.waits()
    }
}
