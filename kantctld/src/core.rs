//! The parts of the controller that all modules share: state, log, sessions with nodes, and the
//! outcome of the last round.

mod command_error;
mod parts;
mod users;

use crate::access::Access;
use crate::admission_limits::AdmissionLimits;
use crate::audit::Audit;
use crate::clock::SteadyClock;
use crate::cluster_keys::KeyStore;
use crate::event_feed::EventFeed;
use crate::history::History;
use crate::mail::MailQueue;
use crate::peers::Peers;
use crate::raft::{LogHandle, ProposeError, Status};
use crate::round_stats::RoundStats;
use crate::scheduler_cache::SchedulerCache;
use crate::session_registry::SessionRegistry;
use crate::shared_state::SharedState;
use crate::state_machine::StateMachine;
use crate::token_uses::TokenUses;
pub use command_error::CommandError;
use common::id::{IdError, JobKey, LogIndex, Uid};
use common::sync::{Mutex, RwLock};
use common::time::Time;
use common::wire::node::RouteOrder;
use lead::Parts;
use lead::idle_gpus::IdleGpuReports;
use lead::services::{Autoscaler, Readiness};
use net::Revocations;
pub use parts::{LeaderHint, Recorders, Trust};
use query::view::Waits;
use state::{Command, Event, Target};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, watch};

/// The shared parts.
pub struct Core {
    pub state: SharedState,
    pub log: LogHandle<StateMachine>,
    pub peers: Arc<Peers<StateMachine>>,
    pub sessions: SessionRegistry,
    pub wake: Notify,
    /// Held by a round until its decisions are enacted, and by changes to what a round reads that
    /// must not run concurrently with one.
    pub between_rounds: tokio::sync::Mutex<()>,
    /// Held while one part of a command on a large array is in the log. One part at a time, so
    /// that other commands wait behind at most one.
    one_part: tokio::sync::Mutex<()>,
    /// The last applied index.
    pub applied: watch::Receiver<LogIndex>,
    pub leading: watch::Receiver<bool>,
    /// This controller's raft status.
    pub standing: watch::Receiver<Status>,
    /// Leading, with settings in force.
    serving: watch::Sender<bool>,
    /// A reload may replace it.
    access: Arc<RwLock<Arc<Access>>>,
    pub clock: Arc<SteadyClock>,
    /// The snapshot that the scheduler works on, and the wait reasons of the last round.
    pub scheduler_cache: SchedulerCache,
    /// Limits on concurrent expensive requests.
    pub admission: AdmissionLimits,
    /// Jobs with a lease that were renewed since the timers last ran.
    pub renewed_leases: Mutex<BTreeSet<JobKey>>,
    /// Accounting of finished jobs.
    pub history: History,
    pub mail: MailQueue,
    /// The cluster keys, and this controller's certificate.
    pub keys: Arc<KeyStore>,
    /// Ends connections of nodes whose certificates are revoked.
    pub revocations: Revocations,
    /// The audit log.
    pub audit: Audit,
    /// When this controller last saw each token.
    pub token_uses: TokenUses,
    /// Counters of the rounds of this controller.
    pub round_stats: RoundStats,
    /// The time of the state in the newest backup that this controller has made; zero if there is
    /// none. `None`: it makes no backups by itself.
    pub newest_backup: Mutex<Option<Time>>,
    /// Events for `watch` requests.
    pub event_feed: EventFeed,
    /// What nodes report of the replicas of services.
    pub readiness: RwLock<Readiness>,
    /// The autoscaler, with what routers report.
    pub autoscaler: RwLock<Autoscaler>,
    /// The GPUs that jobs hold and do not use, as nodes report them.
    pub idle_gpus: RwLock<IdleGpuReports>,
    /// The services for routers; `None` until they are known in this term.
    pub routes: watch::Sender<Option<Vec<RouteOrder>>>,
    /// Notified when a replica, or what is wanted of a service, may have changed.
    pub services_changed: Notify,
    /// When the last confirmation of the leader began. Held while one is under way.
    led_since: tokio::sync::Mutex<Option<Instant>>,
}

impl Core {
    /// Parses a job or task id: `42`, `42_7`, the plain number of an array task, or a component of
    /// a heterogeneous job, `42+1`.
    ///
    /// # Errors
    /// [`IdError`] if the text is no id. Whether the job exists is not checked.
    pub fn parse_job_key(&self, text: &str) -> Result<JobKey, IdError> {
        Ok(self.state.read().resolve_key(text.parse()?))
    }

    /// The same for a command, which distinguishes a heterogeneous job (`42`) from its first
    /// component (`42+0`).
    ///
    /// # Errors
    /// As for [`Core::parse_job_key`].
    pub fn parse_target(&self, text: &str) -> Result<Target, IdError> {
        let named: JobKey = text.parse()?;
        let key = if named.component_offset().is_some() {
            named
        } else {
            self.state.read().resolve_key(named)
        };
        Ok(Target { key })
    }

    pub fn new(
        state: SharedState,
        peers: Arc<Peers<StateMachine>>,
        applied: watch::Receiver<LogIndex>,
        leading: watch::Receiver<bool>,
        trust: Trust,
        clock: Arc<SteadyClock>,
        recorders: Recorders,
    ) -> Arc<Self> {
        let Recorders { history, mail, audit } = recorders;
        let Trust { access, keys } = trust;
        let access = Arc::new(RwLock::new(Arc::new(access)));
        let trusted = access.clone();
        let is_trusted = Arc::new(move |uid| trusted.read().was_operator(Uid(uid)));
        Arc::new(Self {
            state,
            standing: peers.log.status(),
            log: peers.log.clone(),
            peers,
            sessions: SessionRegistry::default(),
            wake: Notify::new(),
            between_rounds: tokio::sync::Mutex::new(()),
            one_part: tokio::sync::Mutex::new(()),
            applied,
            leading,
            serving: watch::channel(false).0,
            access,
            clock,
            scheduler_cache: SchedulerCache::default(),
            admission: AdmissionLimits::new(is_trusted),
            renewed_leases: Mutex::default(),
            history,
            mail,
            keys,
            revocations: Revocations::default(),
            audit,
            token_uses: TokenUses::default(),
            round_stats: RoundStats::default(),
            newest_backup: Mutex::default(),
            event_feed: EventFeed::default(),
            readiness: RwLock::default(),
            autoscaler: RwLock::default(),
            idle_gpus: RwLock::default(),
            routes: watch::channel(None).0,
            services_changed: Notify::new(),
            led_since: tokio::sync::Mutex::default(),
        })
    }

    /// Proposes a command and returns its events once they are durable and applied.
    ///
    /// # Errors
    /// [`CommandError`]; a refusal is an error here, not an event.
    pub async fn propose_command(&self, command: Command) -> Result<Vec<Event>, CommandError> {
        let events = self.log.propose(command).await?;
        for event in &events {
            if let Event::CommandRefused(refusal) = event {
                return Err(CommandError::Refused(refusal.clone()));
            }
        }
        Ok(events)
    }

    /// Proposes a command on a job, in parts for a large array, and returns the jobs it changed
    /// once all parts are durable and applied. Runs to its end even if the client disconnects.
    ///
    /// # Errors
    /// [`CommandError`]; also if a later part fails, and then the command is to be repeated.
    pub async fn change_jobs(
        self: &Arc<Self>,
        command: Command,
    ) -> Result<Vec<JobKey>, CommandError> {
        let parts = Parts::new(&self.state.read(), command, lead::bulk_action::TASKS_MAX);
        let core = self.clone();
        let changed = tokio::spawn(async move { core.carry_out(parts).await });
        // The task does not panic; the runtime ends with the process.
        changed.await.unwrap_or(Err(CommandError::NotTaken(ProposeError::Stopped)))
    }

    async fn carry_out(&self, mut parts: Parts) -> Result<Vec<JobKey>, CommandError> {
        while let Some(part) = parts.next_part() {
            let _turn = match parts.is_whole() {
                true => None,
                false => Some(self.one_part.lock().await),
            };
            let outcome = match self.propose_command(part).await {
                Ok(events) => state::event::changed_jobs(&events),
                Err(CommandError::Refused(refusal)) => Err(refusal),
                Err(error) => return Err(error),
            };
            parts.note(outcome);
        }
        Ok(parts.outcome()?)
    }

    /// Waits until a read of the state reflects everything acknowledged before, by any controller.
    ///
    /// # Errors
    /// [`CommandError::NotTaken`] if this controller no longer leads.
    pub async fn wait_for_current_state(&self) -> Result<(), CommandError> {
        // With a single controller there is no other that could have acknowledged anything.
        if self.is_only_controller() { Ok(()) } else { Ok(self.log.wait_for_read().await?) }
    }

    /// Waits until a majority has confirmed, after this call, that this controller leads. Thousands
    /// of nodes ask together, and one confirmation answers all that waited for the last.
    ///
    /// # Errors
    /// [`CommandError::NotTaken`] if this controller no longer leads.
    pub async fn confirm_leader(&self) -> Result<(), CommandError> {
        let asked = Instant::now();
        let mut led_since = self.led_since.lock().await;
        if led_since.is_none_or(|since| since < asked) {
            let begun = Instant::now();
            self.wait_for_current_state().await?;
            *led_since = Some(begun);
        }
        Ok(())
    }

    /// Whether this controller leads, with settings in force.
    pub fn is_serving(&self) -> bool {
        *self.leading.borrow() && *self.serving.borrow()
    }

    /// Returns once this controller serves, or has served.
    pub async fn wait_to_serve(&self) {
        // The sender lives in `self`, so there is no error.
        let _ = self.serving.subscribe().wait_for(|serves| *serves).await;
    }

    /// Notes that a term of leadership starts or stops serving.
    pub fn note_serving(&self, serves: bool) {
        self.serving.send_replace(serves);
    }

    /// Whether this controller is the only one, so that its configuration file is the cluster's.
    pub fn is_only_controller(&self) -> bool {
        let standing = self.standing.borrow();
        standing.members.voters == [standing.id.0] && !standing.members.is_joint()
    }

    /// The leader, if it is another controller and known.
    pub fn leader(&self) -> Option<LeaderHint> {
        let standing = self.standing.borrow();
        let id = standing.leader.filter(|leader| *leader != standing.id)?;
        let address = standing.members.known.get(&id)?.address.clone();
        // A single controller has no address.
        (!address.is_empty()).then_some(LeaderHint { id, address })
    }

    /// The cluster's name; empty until the first settings are applied.
    pub fn cluster_name(&self) -> String {
        self.state.read().settings().map(|s| s.cluster.clone()).unwrap_or_default()
    }

    /// The time, never earlier than any stamp in the log.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The wait reasons found by the last round.
    pub fn last_waits(&self) -> Arc<Waits> {
        self.scheduler_cache.waits()
    }
}
