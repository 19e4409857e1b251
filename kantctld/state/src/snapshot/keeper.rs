//! Keeps the engine's snapshot in step with the state: after each batch of events only what they
//! name is looked at again, so that a change costs the same in a large cluster as in a small one.
//! Never holds what the state does not; a keeper can be made anew at any moment.

use super::{jobs, queue_use, usage};
use crate::dependency::{Judge, Verdict};
use crate::event::{Event, ShareNews};
use crate::job::{Record, may_grow};
use crate::remembered::State;
use common::id::{JobId, JobKey, NodeName};
use common::job::{Phase, PreemptReason};
use common::resource::Request;
use common::time::Time;
use engine::{Growing, RunningJob, Snapshot, WaitingJob};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A snapshot that follows a state.
#[derive(Debug, Clone, Default)]
pub struct Keeper {
    snapshot: Snapshot,
    /// The tasks of an array share one request; of arrays that live.
    requests: BTreeMap<JobId, Arc<Request>>,
}

/// What a batch of events is about.
#[derive(Debug, Default)]
struct Touched {
    policy: bool,
    reservations: bool,
    moves: bool,
    nodes: BTreeSet<NodeName>,
    jobs: BTreeSet<JobKey>,
    /// These ask for something else than before.
    asking: BTreeSet<JobId>,
}

impl Keeper {
    /// Everything a state holds.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let mut keeper = Self::default();
        keeper.take_up(state, Touched { jobs: state.live().collect(), ..Touched::outline(state) });
        keeper
    }

    /// What there is without jobs, which are the most of it: for whoever asks what could ever be.
    #[must_use]
    pub fn outline(state: &State) -> Self {
        let mut keeper = Self::default();
        keeper.take_up(state, Touched::outline(state));
        keeper
    }

    /// Takes up what events tell. The state must be the one they came out of, with no event between
    /// left out: what one job gave up, another may hold by now.
    pub fn update<'a>(&mut self, state: &State, events: impl IntoIterator<Item = &'a Event>) {
        let mut touched = Touched::default();
        events.into_iter().for_each(|event| touched.add(state, event));
        self.take_up(state, touched);
    }

    /// Says anew what everybody used. It fades by hours: now and then is enough.
    pub fn set_usage(&mut self, state: &State, now: Time) {
        self.snapshot.set_usage(usage(state, now));
        self.snapshot.set_queue_use(queue_use(state, now));
    }

    /// What a round should see.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The same, for keeps.
    #[must_use]
    pub fn into_snapshot(self) -> Snapshot {
        self.snapshot
    }

    /// For what the shell hands from round to round: promises, and the time.
    pub const fn snapshot_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }

    fn take_up(&mut self, state: &State, mut touched: Touched) {
        if touched.policy {
            let policy = state.settings().map(|settings| settings.policy()).unwrap_or_default();
            self.snapshot.set_policy(Arc::new(policy));
            // Who may be made to yield is the queue's and the QoS's to say.
            touched.jobs.extend(self.snapshot.all_running().map(|job| job.key));
        }
        for name in &touched.nodes {
            match state.node(name) {
                Some(node) => self.snapshot.set_node(&jobs::node(name, node)),
                None => self.snapshot.remove_node(name),
            }
        }
        // What was kept for a job as it was is not kept for what it asks now.
        for job in &touched.asking {
            self.requests.remove(job);
            let keys = touched.jobs.iter().filter(|key| key.job == *job);
            let waiting = keys.filter(|key| self.snapshot.waiting(**key).is_some());
            let waiting: Vec<JobKey> = waiting.copied().collect();
            waiting.into_iter().for_each(|key| self.snapshot.remove_job(key));
        }
        self.take_up_jobs(state, &touched.jobs);
        if touched.moves {
            self.snapshot.set_moves(state.moves().to_vec());
        }
        if touched.reservations {
            self.snapshot.set_reservations(state.reservations().cloned());
        }
    }

    /// First all that gives something up, then all that holds something: one may hold what another
    /// gave up, whichever key comes first.
    fn take_up_jobs(&mut self, state: &State, keys: &BTreeSet<JobKey>) {
        let mut holding: Vec<RunningJob> = Vec::new();
        // Keys of one job follow each other.
        let mut judge: Option<(JobId, Judge<'_>)> = None;
        for key in keys {
            let found = state.element(*key);
            let running = found.and_then(|(record, element)| {
                jobs::running(state, *key, record, element).filter(|_| is_live(element.phase))
            });
            if let Some(job) = running {
                if self.snapshot.running(*key).is_none_or(|known| **known != job) {
                    if self.snapshot.running(*key).is_some() {
                        self.snapshot.remove_job(*key);
                    }
                    holding.push(job);
                }
                continue;
            }
            match self.waiting(state, *key, &mut judge) {
                Some(job) if self.snapshot.waiting(*key).is_some_and(|known| **known == job) => {}
                Some(job) => self.snapshot.set_waiting(job),
                None => self.snapshot.remove_job(*key),
            }
        }
        holding.into_iter().for_each(|job| self.snapshot.set_running(job));
        for key in keys {
            self.take_up_move(state, *key);
            self.take_up_growth(state, *key);
        }
        for key in keys {
            if state.is_all_done(key.job) {
                self.requests.remove(&key.job);
            }
        }
    }

    /// May it be moved, and is it?
    fn take_up_move(&mut self, state: &State, key: JobKey) {
        let Some((record, element)) = state.element(key) else { return };
        let moving = element.moving.as_deref().cloned();
        let is_moving = moving.is_some();
        self.snapshot.set_moving(key, moving.filter(|_| element.phase != Phase::Done));
        let may = is_moving || element.phase == Phase::Running;
        let holds = self.snapshot.running(key).is_some_and(|job| job.preemptible);
        if !(may && self.snapshot.policy().may_move() && holds && record.spec.ask.requeue) {
            return self.snapshot.set_movable(key, None);
        }
        let request = self.request(record);
        let again = jobs::waiting(key, record, element, request, Verdict::Free(None));
        self.snapshot.set_movable(key, again.map(Arc::new));
    }

    /// Does it take more nodes?
    fn take_up_growth(&mut self, state: &State, key: JobKey) {
        let Some((record, element)) = state.element(key) else { return };
        let run = element.run.as_deref().filter(|run| {
            let asked = &record.spec.ask.request;
            let most = run.grows_to(asked.tasks);
            asked.grow && may_grow(element.phase, run) && run.allocation.tasks() < most
        });
        let growing = run.and_then(|run| {
            let mut request = self.request(record);
            let most = run.grows_to(request.tasks);
            if most < request.tasks {
                request = Arc::new(Request { tasks: most, ..Request::clone(&request) });
            }
            let asked = jobs::waiting(key, record, element, request, Verdict::Free(None))?;
            Some(Growing { asked, had: run.had.clone(), not_before: run.grows_after })
        });
        self.snapshot.set_growing(key, growing.map(Arc::new));
    }

    fn waiting<'a>(
        &mut self,
        state: &'a State,
        key: JobKey,
        judge: &mut Option<(JobId, Judge<'a>)>,
    ) -> Option<WaitingJob> {
        let (record, element) = state.element(key)?;
        if element.phase != Phase::Pending {
            return None;
        }
        let request = self.request(record);
        let (_, judge) = match judge.take().filter(|(job, _)| *job == key.job) {
            Some(known) => judge.insert(known),
            None => judge.insert((key.job, Judge::new(state, record))),
        };
        jobs::waiting(key, record, element, request, judge.of(key.index))
    }

    fn request(&mut self, record: &Record) -> Arc<Request> {
        let ask = &record.spec.ask;
        let fresh = || Arc::new(ask.request.clone());
        match &ask.array {
            None => fresh(),
            Some(_) => self.requests.entry(record.id).or_insert_with(fresh).clone(),
        }
    }
}

/// Does a job of this phase hold resources, as far as its nodes say so?
const fn is_live(phase: Phase) -> bool {
    !matches!(phase, Phase::Pending | Phase::Done)
}

impl Touched {
    /// All but jobs.
    fn outline(state: &State) -> Self {
        let nodes = state.nodes().map(|(name, _)| name.clone()).collect();
        Self { policy: true, reservations: true, moves: true, nodes, ..Self::default() }
    }

    fn add(&mut self, state: &State, event: &Event) {
        match event {
            Event::Configured => self.policy = true,
            Event::JobSubmitted { job, repeated: false, .. } => {
                let record = state.job(*job);
                let keys = record.into_iter().flat_map(|r| r.elements.keys().map(|i| r.key(*i)));
                self.jobs.extend(keys);
            }
            Event::NodeRegistered { name }
            | Event::NodeSilent { name }
            | Event::NodeLost { name }
            | Event::NodeDrained { name, .. }
            | Event::NodeResumed { name, .. } => {
                self.nodes.insert(name.clone());
            }
            Event::ReservationCreated { .. }
            | Event::ReservationDeleted { .. }
            | Event::ReservationExpired { .. } => self.reservations = true,
            // Until its end, what a share does changes nothing of what it holds.
            Event::StepReported { news, .. } if !matches!(news, ShareNews::Ended(..)) => {}
            Event::JobPreempts { why, .. } => self.moves |= *why == PreemptReason::Move,
            Event::JobStepsEnded { .. }
            | Event::JobReady { .. }
            | Event::RoundEntryRefused { .. }
            | Event::JobSubmitted { repeated: true, .. }
            | Event::JobForgotten { .. }
            | Event::SubmitRefused { .. }
            | Event::CommandRefused(_) => {}
            Event::JobUpdated { key, .. } => {
                self.jobs.insert(*key);
                self.asking.insert(key.job);
            }
            // What is over is told by its own end.
            Event::DependencyMoved { key } => match key.index {
                Some(_) => self.jobs.extend([*key]),
                None => self.jobs.extend(state.living.of(key.job)),
            },
            Event::JobHeld { .. }
            | Event::JobReleased { .. }
            | Event::JobStarted { .. }
            | Event::StepReported { .. }
            | Event::JobRunning { .. }
            | Event::JobSuspended { .. }
            | Event::JobResumed { .. }
            | Event::JobResized { .. }
            | Event::JobGrowth { .. }
            | Event::JobEnded { .. }
            | Event::JobEndChanged { .. }
            | Event::JobDone { .. }
            | Event::JobRequeued { .. }
            | Event::JobDelayed { .. }
            | Event::JobHeldForFaults { .. } => self.jobs.extend(event.key()),
        }
    }
}
