//! The cluster: state, engine and machines, and the order of events between them. At each instant
//! the machines act first, by name; then their reports are applied; then services start and stop
//! replicas; then, if anything changed, a round runs. Messages take no time. The judges check every
//! instant.

mod happening;
mod nodes;
mod services;
mod time;

pub use happening::Happening;

use crate::behaviour::Behaviour;
use crate::machine::Machine;
use common::id::{JobId, NodeName};
use common::time::{Span, Time};
use query::view::Waits;
use services::Services;
use state::invariant::Judge;
use state::snapshot::{SnapshotKeeper, UsedSoFar, enact_command};
use state::{Command, Event, Settings, Stamped, State, effect};
use std::collections::BTreeMap;

/// A round runs at least this often while jobs wait.
pub const ROUND_PERIOD: Span = Span::from_seconds(10);

/// Steps without progress of time after which a history counts as hanging.
const INSTANT_STEPS_MAX: u32 = 10_000;

/// A history that must not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A judge found a fault.
    #[error("at {at}: {wrong}", wrong = .wrong.join("; "))]
    Judged {
        at: Time,
        /// All faults that were found.
        wrong: Vec<String>,
    },
    /// Time does not advance.
    #[error("at {0}: the cluster goes round and round without time passing")]
    Hangs(Time),
}

/// A cluster in virtual time.
#[derive(Debug)]
pub struct Cluster {
    state: State,
    keeper: SnapshotKeeper,
    now: Time,
    judge: Judge,
    machines: BTreeMap<NodeName, Machine>,
    behaviours: BTreeMap<JobId, Behaviour>,
    waits: Waits,
    /// What each machine last reported of each step; only changes are reported.
    reported: BTreeMap<NodeName, Vec<common::wire::node::StepStatus>>,
    node_lost_after: Span,
    round_due: bool,
    /// Whether, since the last round, a job began to run or got another time limit while it runs,
    /// and so ends later than promises expected.
    ends_moved: bool,
    last_round: Time,
    services: Services,
    happenings: Vec<(Time, Happening)>,
}

impl Cluster {
    /// A cluster without nodes, at time zero.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn new(settings: Settings, node_lost_after: Span) -> Result<Self, SimError> {
        let state = State::default();
        let mut cluster = Self {
            judge: Judge::new(&state),
            state,
            keeper: SnapshotKeeper::default(),
            now: Time(0),
            machines: BTreeMap::new(),
            behaviours: BTreeMap::new(),
            waits: Waits::new(),
            reported: BTreeMap::new(),
            node_lost_after,
            round_due: false,
            ends_moved: false,
            last_round: Time(0),
            services: Services::default(),
            happenings: Vec::new(),
        };
        cluster.apply(Command::Configure(settings))?;
        Ok(cluster)
    }

    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The controller's state.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The engine's snapshot.
    #[must_use]
    pub const fn snapshot(&self) -> &engine::Snapshot {
        self.keeper.snapshot()
    }

    /// The reasons of waiting jobs, from the last round.
    #[must_use]
    pub const fn waits(&self) -> &Waits {
        &self.waits
    }

    /// What has happened since the last call.
    pub fn take_happenings(&mut self) -> Vec<(Time, Happening)> {
        std::mem::take(&mut self.happenings)
    }

    /// Sets how the processes of a job will behave. It must be set before the job starts.
    pub fn set_behaviour(&mut self, job: JobId, behaviour: Behaviour) {
        self.behaviours.insert(job, behaviour);
    }

    /// Applies a command now, and everything that follows from it at once.
    ///
    /// # Errors
    /// A judge found a fault.
    pub fn command(&mut self, command: Command) -> Result<Vec<Event>, SimError> {
        let events = self.apply(command)?;
        self.react()?;
        Ok(events)
    }

    /// Applies reports and runs rounds until nothing more happens at this instant.
    fn react(&mut self) -> Result<(), SimError> {
        for _ in 0..INSTANT_STEPS_MAX {
            if self.apply_reports()? || self.converge()? {
                continue;
            }
            if !std::mem::take(&mut self.round_due) {
                return self.check_machines();
            }
            self.round()?;
        }
        Err(SimError::Hangs(self.now))
    }

    fn round(&mut self) -> Result<(), SimError> {
        self.last_round = self.now;
        self.keeper.set_usage(UsedSoFar::by(&self.state, self.now));
        self.keeper.snapshot_mut().prepare_for_round(self.now);
        let seen = self.keeper.snapshot();
        let round = engine::schedule(seen, self.now);
        let mut judged = seen.clone();
        if std::mem::take(&mut self.ends_moved) {
            // What is kept for jobs that others were stopped for does not depend on ends.
            let mut kept = judged.planned_starts().clone();
            kept.retain(|_, planned_start| planned_start.yielded);
            judged.set_planned_starts(kept);
        }
        let wrong = engine::check::check(&judged, self.now, &round);
        self.waits = query::view::waits(seen, &round, self.now);
        self.check_judge(wrong.iter().map(ToString::to_string).collect())?;
        self.keeper.snapshot_mut().set_planned_starts(round.planned_starts);
        self.keeper.snapshot_mut().set_resume_cursor(round.resume_cursor);
        let Some(command) = enact_command(&round.decisions) else { return Ok(()) };
        let events = self.apply(command)?;
        let refused = |event: &&Event| matches!(event, Event::RoundEntryRefused { .. });
        // Nothing can come between a round and its decisions here, so no decision may be refused.
        self.check_judge(events.iter().filter(refused).map(query::event::line).collect())
    }

    fn apply(&mut self, command: Command) -> Result<Vec<Event>, SimError> {
        let events = state::apply(&mut self.state, &Stamped { at: self.now, command });
        let wrong = self.judge.check_step(&self.state, &events);
        self.check_judge(wrong)?;
        self.keeper.update(&self.state, &events);
        self.keeper.snapshot_mut().prepare_for_round(self.now);
        self.round_due |= effect::wakes_scheduler(&events);
        self.ends_moved |= events.iter().any(|event| match event {
            Event::JobUpdated { nodes, .. } => !nodes.is_empty(),
            other => matches!(other, Event::JobRunning { .. }),
        });
        self.note(&events);
        if self.state.has_hopeless() {
            self.apply(Command::EndHopeless)?;
        }
        Ok(events)
    }

    fn check_judge(&self, wrong: Vec<String>) -> Result<(), SimError> {
        if wrong.is_empty() { Ok(()) } else { Err(SimError::Judged { at: self.now, wrong }) }
    }
}
