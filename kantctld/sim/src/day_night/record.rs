//! The figures of a run, from its events and the requests of its jobs. What queues hold is counted
//! separately from the engine, as in a replay.

use super::parts::serving_queue;
use super::{
    BelowQuota, DayNightError, Figures, ServiceFigures, Setup, Sizing, Training, TrainingFigures,
};
use crate::cluster::{Cluster, Happening};
use crate::replay::{Entitlements, Tally};
use crate::report::{JobOutcome, NodeIndex, Outcome, Summary};
use common::id::{JobId, JobKey, NodeName, QueueName};
use common::job::ReplicaHealth;
use common::resource::Allocation;
use common::time::{Span, Time};
use common::unit::{GpuMilli, Gpus};
use engine::measure::GpuTime;
use state::Event;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Thousandths of GPUs times milliseconds in a GPU-hour.
const GPU_HOUR: f64 = 1000.0 * 3_600_000.0;

/// A job that has not ended.
struct Tracked {
    queue: QueueName,
    gpus: GpuMilli,
    /// Its position in the training; `None`: it is a replica.
    training: Option<usize>,
    /// What it holds, and since when.
    held: Option<(Arc<Allocation>, Time)>,
    running_since: Option<Time>,
    /// What is left of its run.
    rest: Span,
}

pub(super) struct Record<'a> {
    setup: &'a Setup,
    training: &'a [Training],
    sizing: Sizing,
    places: BTreeMap<NodeName, NodeIndex>,
    tally: Tally,
    entitlements: Option<Entitlements>,
    jobs: BTreeMap<JobId, Tracked>,
    outcome: Outcome,
    waiting: u32,
    by_service: GpuTime,
    by_training: GpuTime,
    lost: GpuTime,
    ready: BTreeSet<JobKey>,
    replicas_started: u64,
    /// Requests times load steps, and those of them without a place.
    requests: u64,
    without_place: u64,
    now: Time,
}

impl<'a> Record<'a> {
    pub(super) fn new(setup: &'a Setup, sizing: Sizing, training: &'a [Training]) -> Self {
        let nodes = setup.trace_nodes();
        let tally = Tally::of(&nodes);
        let names = setup.machines().into_iter().map(|machine| machine.name);
        Self {
            setup,
            training,
            sizing,
            places: names.zip((0..).map(NodeIndex)).collect(),
            entitlements: Entitlements::of(&setup.policy(), tally.sample(Time(0), 0).total),
            tally,
            jobs: BTreeMap::new(),
            outcome: Outcome { nodes, ..Outcome::default() },
            waiting: 0,
            by_service: GpuTime::default(),
            by_training: GpuTime::default(),
            lost: GpuTime::default(),
            ready: BTreeSet::new(),
            replicas_started: 0,
            requests: 0,
            without_place: 0,
            now: Time(0),
        }
    }

    /// Records that a job waits from now on, which is a replica without `training`.
    fn note_submitted(&mut self, job: JobId, at: Time, training: Option<usize>) {
        let asked = training.and_then(|which| self.training.get(which));
        let team = asked.and_then(|asked| self.setup.teams.get(asked.team));
        let queue = team.map_or_else(serving_queue, |(name, _)| name.clone());
        let gpus = asked.map_or(self.setup.gpus_per_replica, |asked| asked.gpus);
        let gpus = milli(gpus);
        let rest = asked.map_or(Span(0), |asked| asked.run);
        if let Some(entitlements) = &mut self.entitlements {
            entitlements.add_waiting(&queue, gpus);
        }
        self.waiting += 1;
        if asked.is_some() {
            self.outcome.jobs.push(JobOutcome {
                id: u64::from(job.0),
                submit: at,
                start: None,
                end: None,
                run: rest,
                walltime: None,
                nodes: Vec::new(),
                gpus,
            });
        } else {
            self.replicas_started += 1;
        }
        let training = asked.map(|_| self.outcome.jobs.len() - 1);
        let (held, running_since) = (None, None);
        self.jobs.insert(job, Tracked { queue, gpus, training, held, running_since, rest });
    }

    /// Records what happened at one instant. `training` is the position of a job that was submitted
    /// in it. Returns the jobs that will run again, with what is left of their runs.
    pub(super) fn observe(
        &mut self,
        cluster: &Cluster,
        happenings: &[(Time, Happening)],
        training: Option<usize>,
    ) -> Result<Vec<(JobId, Span)>, DayNightError> {
        let mut again = Vec::new();
        for (at, happening) in happenings {
            match happening {
                Happening::Changed(event) => {
                    again.extend(self.note_event(cluster, *at, event, training));
                }
                Happening::Replica { key, health: ReplicaHealth::Ready, .. } => {
                    self.ready.insert(*key);
                }
                Happening::Replica { .. } | Happening::Service { .. } => {}
            }
        }
        self.now = cluster.now();
        let mut sample = self.tally.sample(self.now, self.waiting);
        if let Some(entitlements) = &mut self.entitlements {
            entitlements.record_pass(self.now, &mut sample);
        }
        self.outcome.series.push(sample)?;
        Ok(again)
    }

    fn note_event(
        &mut self,
        cluster: &Cluster,
        at: Time,
        event: &Event,
        training: Option<usize>,
    ) -> Option<(JobId, Span)> {
        match event {
            Event::JobSubmitted { job, .. } => {
                let is_replica = |job: &JobId| {
                    let record = cluster.state().job(*job);
                    record.is_some_and(|record| record.spec.ask.replica.is_some())
                };
                self.note_submitted(*job, at, training.filter(|_| !is_replica(job)));
            }
            Event::JobStarted { id, .. } => {
                let element = cluster.state().element(id.key).map(|(_, element)| element);
                let run = element.and_then(|element| element.run.as_ref())?;
                self.note_start(id.key.job, &run.allocation, at);
            }
            Event::JobRunning { id } => {
                self.jobs.get_mut(&id.key.job)?.running_since = Some(at);
            }
            Event::JobEnded { id, requeue, preempted, .. } => {
                self.ready.remove(&id.key);
                self.outcome.preemptions.reclaim += u64::from(preempted.is_some());
                return requeue.then(|| self.note_stop(id.key.job, at))?;
            }
            Event::JobRequeued { key, .. } => self.note_left(key.job, at, true),
            Event::JobDone { key, .. } => self.note_left(key.job, at, false),
            _ => {}
        }
        None
    }

    fn note_start(&mut self, job: JobId, on: &Arc<Allocation>, at: Time) {
        let Some(tracked) = self.jobs.get_mut(&job) else { return };
        for share in on.shares() {
            if let Some(place) = self.places.get(&share.node) {
                self.tally.add_share(*place, share);
            }
        }
        if let Some(entitlements) = &mut self.entitlements {
            entitlements.remove_waiting(&tracked.queue, tracked.gpus);
            entitlements.add_held(&tracked.queue, tracked.gpus);
        }
        self.waiting -= 1;
        self.outcome.starts += 1;
        tracked.held = Some((Arc::clone(on), at));
        if let Some(job) = tracked.training.and_then(|which| self.outcome.jobs.get_mut(which)) {
            job.start.get_or_insert(at);
        }
    }

    /// A job is stopped, and will run again. Returns what is left of its run then.
    fn note_stop(&mut self, job: JobId, at: Time) -> Option<(JobId, Span)> {
        let every = self.setup.checkpoint.0.max(1);
        let tracked = self.jobs.get_mut(&job)?;
        tracked.training?;
        let ran = tracked.running_since.take().map_or(0, |since| at.since(since).0);
        let saved = ran / every * every;
        tracked.rest = Span(tracked.rest.0.saturating_sub(saved));
        self.lost += GpuTime::of(tracked.gpus, Span(ran - saved));
        Some((job, tracked.rest))
    }

    /// A job holds nothing and waits no longer, or waits again.
    fn note_left(&mut self, job: JobId, at: Time, again: bool) {
        let Some(tracked) = self.jobs.get_mut(&job) else { return };
        let held = tracked.held.take();
        let (queue, gpus) = (&tracked.queue, tracked.gpus);
        match (&held, &mut self.entitlements) {
            (Some(_), Some(entitlements)) => entitlements.remove_held(queue, gpus),
            (None, Some(entitlements)) => entitlements.remove_waiting(queue, gpus),
            (_, None) => {}
        }
        if let (true, Some(entitlements)) = (again, &mut self.entitlements) {
            entitlements.add_waiting(queue, gpus);
        }
        self.waiting += u32::from(again);
        self.waiting -= u32::from(held.is_none());
        if let Some((allocation, since)) = held {
            for share in allocation.shares() {
                if let Some(place) = self.places.get(&share.node) {
                    self.tally.remove_share(*place, share);
                }
            }
            let held = GpuTime::of(gpus, at.since(since));
            match tracked.training {
                Some(_) => self.by_training += held,
                None => self.by_service += held,
            }
        }
        if !again && let Some(tracked) = self.jobs.remove(&job) {
            let outcome = tracked.training.and_then(|which| self.outcome.jobs.get_mut(which));
            outcome.into_iter().for_each(|outcome| outcome.end = Some(at));
        }
    }

    /// Records the load of one step.
    pub(super) fn add_load(&mut self, in_flight: u32) {
        let ready = u32::try_from(self.ready.len()).unwrap_or(u32::MAX);
        let places = ready.saturating_mul(self.setup.concurrency);
        self.requests += u64::from(in_flight);
        self.without_place += u64::from(in_flight.saturating_sub(places));
    }

    /// The figures up to now.
    pub(super) fn finish(mut self) -> Figures {
        for job in self.jobs.keys().copied().collect::<Vec<JobId>>() {
            let Some(tracked) = self.jobs.get(&job) else { continue };
            let Some((_, since)) = &tracked.held else { continue };
            let held = GpuTime::of(tracked.gpus, self.now.since(*since));
            match tracked.training {
                Some(_) => self.by_training += held,
                None => self.by_service += held,
            }
        }
        let teams = self.entitlements.map(|entitlements| entitlements.outcomes(self.now));
        let summary = Summary::of(&self.outcome);
        let below = teams.into_iter().flatten();
        let training =
            TrainingFigures::of(summary.wait, self.outcome.jobs.len(), summary.unfinished);
        Figures {
            sizing: self.sizing,
            gar: summary.gar,
            sor: summary.sor,
            training: TrainingFigures {
                gpu_hours: gpu_hours(self.by_training),
                lost_gpu_hours: gpu_hours(self.lost),
                preemptions: self.outcome.preemptions.total(),
                ..training
            },
            service: ServiceFigures {
                gpu_hours: gpu_hours(self.by_service),
                without_place: ratio(self.without_place, self.requests),
                replicas_started: self.replicas_started,
            },
            below_quota: below.map(|team| BelowQuota::of(team, self.setup.protection)).collect(),
        }
    }
}

fn milli(gpus: Gpus) -> GpuMilli {
    GpuMilli::WHOLE.times(gpus.0)
}

#[allow(clippy::cast_precision_loss)] // far below 2^53
fn gpu_hours(time: GpuTime) -> f64 {
    time.0 as f64 / GPU_HOUR
}

/// 0 without any requests.
#[allow(clippy::cast_precision_loss)] // far below 2^53
fn ratio(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}
