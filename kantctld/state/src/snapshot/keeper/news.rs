//! The effects of a batch of events on a snapshot, read from the state in one go. Applying them
//! needs no access to the state, so log entries wait only for the reading.

use super::SnapshotKeeper;
use super::touched::Touched;
use crate::dependency::{Judge, Verdict};
use crate::job::{Element, Record, may_grow};
use crate::snapshot::jobs;
use crate::state::State;
use common::id::{JobId, JobKey, NodeName};
use common::job::{Moving, Phase};
use common::policy::Policy;
use common::policy::queue::Queue;
use common::reservation::Reservation;
use common::resource::Request;
use common::time::Time;
use engine::{Growing, NodeSnapshot, RunningJob, WaitingJob};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Changes that are ready to be applied to a snapshot.
#[derive(Debug, Default)]
pub struct SnapshotChanges {
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) nodes: Vec<(NodeName, Option<NodeSnapshot>)>,
    /// Waiting jobs whose request changed; what the snapshot holds of them is outdated.
    pub(super) asking: Vec<JobKey>,
    pub(super) jobs: Vec<JobNews>,
    /// Requests of arrays that are new to the keeper.
    pub(super) requests: BTreeMap<JobId, Arc<Request>>,
    /// Jobs without unfinished elements.
    pub(super) done: Vec<JobId>,
    pub(super) moves: Option<Vec<Time>>,
    pub(super) reservations: Option<Vec<Reservation>>,
}

impl SnapshotChanges {
    /// The news of all but jobs, for a snapshot without jobs. `None` if there are none.
    #[must_use]
    pub fn without_jobs(&self) -> Option<Self> {
        let news = Self {
            policy: self.policy.clone(),
            nodes: self.nodes.clone(),
            moves: self.moves.clone(),
            reservations: self.reservations.clone(),
            ..Self::default()
        };
        let is_some = news.policy.is_some() || news.moves.is_some() || news.reservations.is_some();
        (is_some || !news.nodes.is_empty()).then_some(news)
    }

    /// Splits the news into parts that are applied in order, so that readers can use the snapshot
    /// in between: first jobs without resources, at most `jobs_max` at a time, and in the last part
    /// the running ones.
    #[must_use]
    pub fn in_parts(mut self, jobs_max: usize) -> Vec<Self> {
        if self.jobs.len() <= jobs_max {
            return vec![self];
        }
        let (running, others): (Vec<_>, Vec<_>) =
            self.jobs.into_iter().partition(|job| matches!(job.is, Is::Running(_)));
        let mut asking: BTreeSet<JobKey> = self.asking.into_iter().collect();
        let (policy, nodes) = (self.policy.take(), std::mem::take(&mut self.nodes));
        let mut parts = vec![Self { policy, nodes, ..Self::default() }];
        let mut others = others.into_iter().peekable();
        while others.peek().is_some() {
            let jobs: Vec<JobNews> = others.by_ref().take(jobs_max).collect();
            let asking = jobs.iter().filter_map(|job| asking.take(&job.key)).collect();
            parts.push(Self { asking, jobs, ..Self::default() });
        }
        let asking = asking.into_iter().collect();
        parts.push(Self { asking, jobs: running, ..self });
        parts
    }
}

/// The current state of a job or an array task.
#[derive(Debug)]
pub(super) struct JobNews {
    pub key: JobKey,
    pub is: Is,
    /// `None` if the job is forgotten.
    pub aside: Option<Aside>,
}

/// The job as a round sees it.
#[derive(Debug)]
pub(super) enum Is {
    Waiting(WaitingJob),
    Running(RunningJob),
    Gone,
}

/// Further properties of a job that a round needs.
#[derive(Debug, Default)]
pub(super) struct Aside {
    pub moving: Option<Moving>,
    pub movable: Option<Arc<WaitingJob>>,
    /// The possible growth of the job.
    pub growing: Option<Arc<Growing>>,
}

/// Reads from the state what was touched.
pub(super) fn read(
    keeper: &SnapshotKeeper,
    state: &State,
    mut touched: Touched,
) -> SnapshotChanges {
    let mut news = SnapshotChanges::default();
    if touched.policy {
        let policy = state.settings().map(|settings| settings.policy()).unwrap_or_default();
        news.policy = Some(Arc::new(policy));
        // Queues and QoS decide which jobs are preemptible.
        touched.jobs.extend(keeper.snapshot.all_running().map(|job| job.key));
        // A queue may plan by expected run times now, or no longer.
        let run_times = |policy: &Policy| {
            let of = |queue: &Queue| (queue.name.clone(), queue.backfill.run_times);
            policy.queues.iter().map(of).collect::<BTreeSet<_>>()
        };
        if news.policy.as_deref().map(run_times) != Some(run_times(keeper.snapshot.policy())) {
            touched.jobs.extend(keeper.snapshot.all_waiting().map(|job| job.key));
        }
    }
    let node = |name: NodeName| {
        let node = state.node(&name).map(|node| jobs::node(&name, node));
        (name, node)
    };
    news.nodes = touched.nodes.into_iter().map(node).collect();
    let asks_again = |key: &&JobKey| touched.asking.contains(&key.job);
    news.asking = touched.jobs.iter().filter(asks_again).copied().collect();
    news.moves = touched.moves.then(|| state.move_times().to_vec());
    news.reservations = touched.reservations.then(|| state.reservations().cloned().collect());
    let mut reader =
        Reader { keeper, state, asking: &touched.asking, judge: None, requests: BTreeMap::new() };
    let mut found = Vec::with_capacity(touched.jobs.len());
    for key in &touched.jobs {
        found.push(reader.job(*key, news.policy.as_deref()));
        if state.is_all_done(key.job) && news.done.last() != Some(&key.job) {
            news.done.push(key.job);
        }
    }
    (news.jobs, news.requests) = (found, reader.requests);
    news
}

struct Reader<'a> {
    keeper: &'a SnapshotKeeper,
    state: &'a State,
    asking: &'a BTreeSet<JobId>,
    /// The judge of the last job, since keys of one job follow each other.
    judge: Option<(JobId, Judge<'a>)>,
    requests: BTreeMap<JobId, Arc<Request>>,
}

impl<'a> Reader<'a> {
    fn job(&mut self, key: JobKey, policy: Option<&Policy>) -> JobNews {
        let state = self.state;
        let Some((record, element)) = state.element(key) else {
            return JobNews { key, is: Is::Gone, aside: None };
        };
        let running = jobs::running(state, key, record, element);
        let is = match running.filter(|_| is_live(element.phase)) {
            Some(job) => Is::Running(job),
            None => self.waiting(key, record, element).map_or(Is::Gone, Is::Waiting),
        };
        let may_move = policy.unwrap_or_else(|| self.keeper.snapshot.policy()).may_move();
        let holds = matches!(&is, Is::Running(job) if job.preemptible);
        let is_moving = element.moving.is_some();
        let may = is_moving || element.phase == Phase::Running;
        let movable = (may && may_move && holds && record.spec.ask.requeue)
            .then(|| self.request(record))
            .and_then(|request| {
                jobs::waiting(state, key, record, element, request, Verdict::Free(None))
            });
        let moving = element.moving.as_deref().filter(|_| element.phase != Phase::Done).cloned();
        let growing = self.growing(key, record, element);
        let movable = movable.map(Arc::new);
        JobNews { key, is, aside: Some(Aside { moving, movable, growing }) }
    }

    /// The possible growth of a running job.
    fn growing(&mut self, key: JobKey, record: &Record, element: &Element) -> Option<Arc<Growing>> {
        let asked = &record.spec.ask.request;
        let run = element.run.as_deref().filter(|run| {
            let most = run.tasks_limit(asked.tasks);
            asked.grow && may_grow(element.phase, run) && run.allocation.tasks() < most
        })?;
        let mut request = self.request(record);
        let most = run.tasks_limit(request.tasks);
        if most < request.tasks {
            request = Arc::new(Request { tasks: most, ..Request::clone(&request) });
        }
        let asked = jobs::waiting(self.state, key, record, element, request, Verdict::Free(None))?;
        Some(Arc::new(Growing { asked, had: run.had.clone(), not_before: run.grows_after }))
    }

    fn waiting(
        &mut self,
        key: JobKey,
        record: &'a Record,
        element: &Element,
    ) -> Option<WaitingJob> {
        if element.phase != Phase::Pending {
            return None;
        }
        let request = self.request(record);
        let (_, judge) = match self.judge.take().filter(|(job, _)| *job == key.job) {
            Some(known) => self.judge.insert(known),
            None => self.judge.insert((key.job, Judge::new(self.state, record))),
        };
        jobs::waiting(self.state, key, record, element, request, judge.verdict_of(key.index))
    }

    /// The request of a job, shared by the tasks of an array.
    fn request(&mut self, record: &Record) -> Arc<Request> {
        let ask = &record.spec.ask;
        let fresh = || Arc::new(ask.request.clone());
        if ask.array.is_none() {
            return fresh();
        }
        let known = self.keeper.requests.get(&record.id);
        match known.filter(|_| !self.asking.contains(&record.id)) {
            Some(known) => known.clone(),
            None => self.requests.entry(record.id).or_insert_with(fresh).clone(),
        }
    }
}

/// Whether a job in this phase may hold resources.
const fn is_live(phase: Phase) -> bool {
    !matches!(phase, Phase::Pending | Phase::Done)
}
