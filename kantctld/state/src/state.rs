//! The replicated state: everything the cluster remembers. Only `apply` changes it. It holds no
//! handles, no clock and no reasons to wait, and nothing that can be derived from the rest, except
//! for indexes, which are not stored.

mod enrolments;
mod indexes;
mod invitations;
mod reservations;
mod restored;
mod services;
mod tokens;

use crate::blobs::Blobs;
use crate::by_node::ByNode;
use crate::command::Settings;
use crate::dependency_index::DependencyIndex;
use crate::enrolment::Enrolment;
use crate::event::Event;
use crate::footprint::Footprint;
use crate::invitation::Invitation;
use crate::job::{Element, Record};
use crate::key_rotation::KeyStatus;
use crate::ledger::Ledger;
use crate::living::{Living, Standing};
use crate::node::NodeRecord;
use crate::queue_usage::QueueUsages;
use crate::run_times::RunTimes;
use crate::service::Service;
use crate::timeline::{self, TimelineEntry};
use crate::token::Token;
use crate::usage::Usages;
use common::id::{
    JobId, JobKey, NodeName, QosName, QueueName, RequestKey, ReservationName, ServiceName, Uid,
};
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::reservation::Reservation;
use common::rules_level::RulesLevel;
use common::serde_skip::is_default;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything the cluster remembers. A clone is cheap: large parts are shared until they change.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    pub(crate) now: Time,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) rules_level: RulesLevel,
    pub(crate) settings: Option<Settings>,
    /// Queues that are no longer configured, but kept in the settings for their unfinished jobs.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) retired: BTreeSet<QueueName>,
    /// The last id that was given; 0 before the first job.
    pub(crate) last_job: JobId,
    pub(crate) jobs: BTreeMap<JobId, Arc<Record>>,
    pub(crate) requests: BTreeMap<Uid, BTreeMap<RequestKey, KnownRequest>>,
    pub(crate) nodes: ByNode<NodeRecord>,
    pub(crate) ledger: Ledger,
    pub(crate) blobs: Blobs,
    /// Finished jobs whose script, environment and arguments are no longer kept.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) textless: BTreeSet<JobId>,
    /// The last end of a job that was forgotten because its user had too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forgot_until: Option<Time>,
    /// Jobs with tasks left that can never start and are to be cancelled.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) hopeless: BTreeSet<JobId>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) reservations: BTreeMap<ReservationName, Reservation>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) services: BTreeMap<ServiceName, Service>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) invitations: BTreeMap<String, Invitation>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) enrolments: BTreeMap<NodeName, Enrolment>,
    /// Numbers of enrolments up to this one may have been given before a restore.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) enrolment_floor: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) keys: KeyStatus,
    /// By the hash of their secrets, in hex.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tokens: BTreeMap<String, Token>,
    #[serde(default, skip_serializing_if = "Usages::is_empty")]
    pub(crate) usage: Usages,
    #[serde(default, skip_serializing_if = "QueueUsages::is_empty")]
    pub(crate) queue_usage: QueueUsages,
    /// The time since which past use of queues counts, if it counts and this build turned it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_usage_since: Option<Time>,
    #[serde(default, skip_serializing_if = "RunTimes::is_empty")]
    pub(crate) run_times: RunTimes,
    /// The times at which running jobs were moved, within the hour before the last of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) moves: Vec<Time>,
    /// The elements that are not Done. Derived from `jobs`; see [`State::build_indexes`].
    #[serde(skip)]
    pub(crate) living: Living,
    /// The memory that each user takes. Derived from the rest.
    #[serde(skip)]
    pub(crate) footprint: Footprint,
    /// The dependents of each job, and the jobs of each name. Derived from `jobs`.
    #[serde(skip)]
    pub(crate) dependency_index: DependencyIndex,
    /// The unfinished replicas of each service. Derived from `jobs`.
    #[serde(skip)]
    pub(crate) replicas: BTreeMap<ServiceName, BTreeSet<JobId>>,
    /// The requests by their jobs. Derived from `requests`.
    #[serde(skip)]
    pub(crate) asked: BTreeMap<JobId, (Uid, RequestKey)>,
    /// Those whose job is forgotten, by user. Derived from `requests` and `jobs`.
    #[serde(skip)]
    pub(crate) asked_of_forgotten: BTreeMap<Uid, BTreeSet<JobId>>,
}

/// A request that was answered. A repetition gets the same answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownRequest {
    /// The job that the request created.
    pub job: JobId,
    pub at: Time,
}

impl State {
    /// The time of the last command. It never decreases.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The rules level in force. It never decreases.
    #[must_use]
    pub const fn rules_level(&self) -> RulesLevel {
        self.rules_level
    }

    /// The current settings; `None` before the first configuration.
    #[must_use]
    pub const fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// The times at which running jobs were moved recently.
    #[must_use]
    pub fn move_times(&self) -> &[Time] {
        &self.moves
    }

    /// The last job id that was given; 0 before the first job.
    #[must_use]
    pub const fn last_job_id(&self) -> JobId {
        self.last_job
    }

    /// All queues, including those that admit no new jobs ([`State::is_retired`]).
    #[must_use]
    pub fn queues(&self) -> &[Queue] {
        self.settings.as_ref().map_or(&[], |s| &s.queues)
    }

    #[must_use]
    pub fn queue(&self, name: &QueueName) -> Option<&Queue> {
        self.queues().iter().find(|q| q.name == *name)
    }

    /// Whether this queue is no longer configured, and kept only for its unfinished jobs.
    #[must_use]
    pub fn is_retired(&self, name: &QueueName) -> bool {
        self.retired.contains(name)
    }

    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&Record> {
        self.jobs.get(&id).map(Arc::as_ref)
    }

    /// A single job or an array task.
    #[must_use]
    pub fn element(&self, key: JobKey) -> Option<(&Record, &Element)> {
        let record = self.job(key.job)?;
        Some((record, record.elements.get(&key.index)?))
    }

    /// Resolves the key that a user gave: the plain number of an array task becomes the task's key,
    /// and the name of a component becomes the job of that place.
    #[must_use]
    pub fn resolve_key(&self, key: JobKey) -> JobKey {
        if let Some(offset) = key.component_offset() {
            let set = self.job(key.job).and_then(|record| record.set);
            let set = set.filter(|set| set.first == key.job && offset < set.size);
            return set.and_then(|set| set.keys().nth(offset as usize)).unwrap_or(key);
        }
        if key.index.is_some() || self.jobs.contains_key(&key.job) {
            return key;
        }
        let task = || {
            let (id, record) = self.jobs.range(..key.job).next_back()?;
            let place = key.job.0 - id.0 - 1;
            let array = record.spec.ask.array.as_ref().filter(|_| place < record.numbers)?;
            Some(record.key(Some(array.index_at(place)?)))
        };
        task().unwrap_or(key)
    }

    /// All submissions, by id.
    pub fn jobs(&self) -> impl Iterator<Item = &Record> {
        self.jobs.values().map(Arc::as_ref)
    }

    /// Every job and array task that is not Done, in ascending order.
    pub fn live(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.living.iter()
    }

    /// The numbers of jobs and array tasks by state.
    #[must_use]
    pub fn job_counts(&self) -> Standing {
        self.living.phase_counts()
    }

    /// Whether all elements of this job are Done.
    #[must_use]
    pub fn is_all_done(&self, job: JobId) -> bool {
        self.living.has_none_of(job)
    }

    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<&NodeRecord> {
        self.nodes.get(name)
    }

    /// All nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = (&NodeName, &NodeRecord)> {
        self.nodes.iter()
    }

    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    #[must_use]
    pub const fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    #[must_use]
    pub fn qos(&self, name: &QosName) -> Option<&Qos> {
        self.settings.as_ref()?.qos.iter().find(|qos| qos.name == *name)
    }

    /// The usage charged for released shares. The usage of current allocations is in
    /// [`crate::charging::running_usage`].
    #[must_use]
    pub const fn usage(&self) -> &Usages {
        &self.usage
    }

    /// The recorded usage of queues, if past use counts. Their current usage is in
    /// [`crate::charging::queue_usage`].
    #[must_use]
    pub const fn queue_usage(&self) -> &QueueUsages {
        &self.queue_usage
    }

    pub(crate) fn element_mut(&mut self, key: JobKey) -> Option<&mut Element> {
        let record = Arc::make_mut(self.jobs.get_mut(&key.job)?);
        record.elements.get_mut(&key.index)
    }

    /// Records an event in the timeline of its job and in the answer.
    pub(crate) fn record_event(&mut self, events: &mut Vec<Event>, event: Event) {
        let now = self.now;
        if let (Some(key), Some(line)) = (event.key(), event.timeline_event())
            && let Some(timeline) = self.job_timeline_mut(key)
        {
            timeline::add(timeline, now, line);
        }
        events.push(event);
    }

    /// The timeline of a single job or a task, or, for a key of a whole array, the one that its
    /// tasks share.
    fn job_timeline_mut(&mut self, key: JobKey) -> Option<&mut Vec<TimelineEntry>> {
        let record = Arc::make_mut(self.jobs.get_mut(&key.job)?);
        match record.elements.get_mut(&key.index) {
            Some(element) => Some(&mut element.timeline),
            None => key.index.is_none().then_some(&mut record.timeline),
        }
    }
}
