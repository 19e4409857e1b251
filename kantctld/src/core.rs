//! What all parts of the controller share: the state to read, the log to write, the sessions to
//! reach nodes by, and what the last round said. Never decides anything.

use crate::access::Access;
use crate::api::Watched;
use crate::audit::Audit;
use crate::clock::SteadyClock;
use crate::history::History;
use crate::hub::Hub;
use crate::lookout::Lookout;
use crate::machine::{SharedState, StateMachine};
use crate::mail::Postbox;
use crate::places::Places;
use crate::raft::{LogHandle, ProposeError, Status};
use common::id::{ControllerId, IdError, JobKey, LogIndex, Uid};
use common::reason::Refusal;
use common::time::Time;
use lead::Parts;
use state::view::Waits;
use state::{Actor, Command, Event, Target};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
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

/// The controller that leads, as far as this one knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderHint {
    pub id: ControllerId,
    /// Where it is reached, `host:port`.
    pub address: String,
}

/// The controller's shared parts.
pub struct Core {
    pub state: SharedState,
    pub log: LogHandle<StateMachine>,
    pub hub: Hub,
    pub wake: Notify,
    /// Held by a round until what it decided is carried out, and by whoever changes what a round
    /// decides on and must not be overtaken by one.
    pub between_rounds: tokio::sync::Mutex<()>,
    /// Held while a part of what is asked of a large array is on its way: one at a time, so that
    /// no other command waits behind more than one.
    one_part: tokio::sync::Mutex<()>,
    /// The last applied index.
    pub applied: watch::Receiver<LogIndex>,
    pub leading: watch::Receiver<bool>,
    /// How this controller stands among the others.
    pub standing: watch::Receiver<Status>,
    /// Leading, and with settings in force.
    serving: watch::Sender<bool>,
    /// Who operates the cluster, and more of that kind; a reload may change it.
    access: RwLock<Arc<Access>>,
    pub clock: Arc<SteadyClock>,
    /// What the scheduler sees, and what the last round said.
    pub lookout: Lookout,
    /// How many look at once.
    pub places: Places,
    /// Jobs on a lease that were spoken for since the timers last looked.
    pub spoken_for: Mutex<BTreeSet<JobKey>>,
    /// What is over, for good.
    pub history: History,
    pub mail: Postbox,
    /// Who changed what, in a file.
    pub audit: Audit,
    /// What happens, for those who watch.
    pub watched: Watched,
}

impl Core {
    /// The job or task that a text names: `42`, `42_7`, the plain number of an array's task, or a
    /// component of a set, `42+1`.
    ///
    /// # Errors
    /// [`IdError`] of a text that names none; whether there is such a job is not asked.
    pub fn key(&self, text: &str) -> Result<JobKey, IdError> {
        Ok(self.state.read().meant(text.parse()?))
    }

    /// The same for a command, which tells a set (`42`) from its first component (`42+0`).
    ///
    /// # Errors
    /// As of [`Core::key`].
    pub fn target(&self, text: &str) -> Result<Target, IdError> {
        let named: JobKey = text.parse()?;
        let key = if named.offset().is_some() { named } else { self.state.read().meant(named) };
        Ok(Target { key })
    }

    /// Puts the parts together.
    pub fn new(
        state: SharedState,
        log: LogHandle<StateMachine>,
        applied: watch::Receiver<LogIndex>,
        leading: watch::Receiver<bool>,
        access: Access,
        clock: Arc<SteadyClock>,
        (history, mail, audit): (History, Postbox, Audit),
    ) -> Arc<Self> {
        Arc::new(Self {
            state,
            standing: log.status(),
            log,
            hub: Hub::default(),
            wake: Notify::new(),
            between_rounds: tokio::sync::Mutex::new(()),
            one_part: tokio::sync::Mutex::new(()),
            applied,
            leading,
            serving: watch::channel(false).0,
            access: RwLock::new(Arc::new(access)),
            clock,
            lookout: Lookout::default(),
            places: Places::default(),
            spoken_for: Mutex::default(),
            history,
            mail,
            audit,
            watched: Watched::default(),
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

    /// Proposes what is asked of a job, of a large array in parts, and returns what it changed once
    /// all of that is durable and applied. Goes on to its end, also where the client leaves.
    ///
    /// # Errors
    /// [`CommandError`]; of one that came to nothing halfway too: then it is to be asked again.
    pub async fn steer(self: &Arc<Self>, command: Command) -> Result<Vec<JobKey>, CommandError> {
        let parts = Parts::new(&self.state.read(), command, lead::steering::TASKS_MAX);
        let core = self.clone();
        let steered = tokio::spawn(async move { core.carry_out(parts).await });
        // It does not panic; the runtime ends with the process.
        steered.await.unwrap_or(Err(CommandError::NotTaken(ProposeError::Stopped)))
    }

    async fn carry_out(&self, mut parts: Parts) -> Result<Vec<JobKey>, CommandError> {
        while let Some(part) = parts.next_part() {
            let _turn = match parts.is_whole() {
                true => None,
                false => Some(self.one_part.lock().await),
            };
            let outcome = match self.command(part).await {
                Ok(events) => state::event::changed(&events),
                Err(CommandError::Refused(refusal)) => Err(refusal),
                Err(error) => return Err(error),
            };
            parts.note(outcome);
        }
        Ok(parts.outcome()?)
    }

    /// Waits until a look at the state shows all that was acknowledged before, by any controller.
    ///
    /// # Errors
    /// [`CommandError::NotTaken`] where this controller leads no more.
    pub async fn refresh(&self) -> Result<(), CommandError> {
        // Alone, nobody else can have acknowledged anything.
        if self.is_lone() { Ok(()) } else { Ok(self.log.read().await?) }
    }

    /// Does this controller serve: does it lead, with settings in force?
    pub fn serves(&self) -> bool {
        *self.leading.borrow() && *self.serving.borrow()
    }

    /// Returns once this controller serves; also when it has done so and does no more.
    pub async fn wait_to_serve(&self) {
        // The sender is here, so there is no error.
        let _ = self.serving.subscribe().wait_for(|serves| *serves).await;
    }

    /// A term of leading begins to serve, or is over.
    pub fn note_serving(&self, serves: bool) {
        self.serving.send_replace(serves);
    }

    /// Is this controller alone, so that what its file says is the cluster's?
    pub fn is_lone(&self) -> bool {
        let standing = self.standing.borrow();
        standing.members.voters == [standing.id.0] && !standing.members.is_joint()
    }

    /// Another controller that leads, if one is known to.
    pub fn leader(&self) -> Option<LeaderHint> {
        let standing = self.standing.borrow();
        let id = standing.leader.filter(|leader| *leader != standing.id)?;
        let address = standing.members.known.get(&id)?.address.clone();
        // A lone controller was founded without one; there is nobody to tell it to.
        (!address.is_empty()).then_some(LeaderHint { id, address })
    }

    /// Who asks, and what they may do.
    pub fn actor(&self, uid: Uid) -> Actor {
        Actor { uid, operator: self.access().is_operator(uid) }
    }

    /// Who operates the cluster, and whose jobs are taken.
    pub fn access(&self) -> Arc<Access> {
        self.access.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on as this says.
    pub fn set_access(&self, access: Access) {
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(access);
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
