//! The state itself: everything the cluster remembers. Read by anybody, changed by `apply` alone.
//! Never holds a handle, a clock, a reason to wait, or anything that follows from the rest (but
//! for indexes, which are not stored).

mod indexes;

use crate::blobs::Blobs;
use crate::command::Settings;
use crate::dependency::Ties;
use crate::event::Event;
use crate::footprint::Footprint;
use crate::invitation::Invitation;
use crate::job::{Element, Record};
use crate::ledger::Ledger;
use crate::living::Living;
use crate::node::NodeRecord;
use crate::queue_usage::QueueUsages;
use crate::story::{self, StoryLine};
use crate::usage::Usages;
use common::id::{JobId, JobKey, NodeName, QosName, QueueName, RequestKey, ReservationName, Uid};
use common::qos::Qos;
use common::queue::Queue;
use common::reservation::Reservation;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything the cluster remembers. A clone is cheap: what is large is shared until it changes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    pub(crate) now: Time,
    pub(crate) settings: Option<Settings>,
    /// Queues of the settings that are no longer configured; kept for the jobs that live in them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) retired: BTreeSet<QueueName>,
    /// The last id given; 0 before the first job.
    pub(crate) last_job: JobId,
    pub(crate) jobs: BTreeMap<JobId, Arc<Record>>,
    pub(crate) requests: BTreeMap<Uid, BTreeMap<RequestKey, KnownRequest>>,
    pub(crate) nodes: BTreeMap<NodeName, NodeRecord>,
    pub(crate) ledger: Ledger,
    pub(crate) blobs: Blobs,
    /// Jobs that are over and have no script, environment and arguments any more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) textless: BTreeSet<JobId>,
    /// The last end of a job that was forgotten because its user had too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forgot_until: Option<Time>,
    /// Jobs of which tasks are left that cannot start and are to end for that.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) hopeless: BTreeSet<JobId>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) reservations: BTreeMap<ReservationName, Reservation>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) invitations: BTreeMap<String, Invitation>,
    #[serde(default, skip_serializing_if = "Usages::is_empty")]
    pub(crate) usage: Usages,
    #[serde(default, skip_serializing_if = "QueueUsages::is_empty")]
    pub(crate) queue_usage: QueueUsages,
    /// Since when past use of queues counts, if it does and this build turned it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue_usage_since: Option<Time>,
    /// When running jobs were made to move, in the last hour before the last of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) moves: Vec<Time>,
    /// Every element that is not Done. Follows from `jobs`; see [`State::index`].
    #[serde(skip)]
    pub(crate) living: Living,
    /// What each user has remembered. Follows from the rest.
    #[serde(skip)]
    pub(crate) footprint: Footprint,
    /// Who waits for whom. Follows from `jobs`.
    #[serde(skip)]
    pub(crate) ties: Ties,
    /// The requests by the jobs they became. Follows from `requests`.
    #[serde(skip)]
    pub(crate) asked: BTreeMap<JobId, (Uid, RequestKey)>,
    /// Those of them whose job is forgotten. Follows from `requests` and `jobs`.
    #[serde(skip)]
    pub(crate) asked_of_forgotten: BTreeMap<Uid, BTreeSet<JobId>>,
}

/// A request that was answered, so that it is answered the same when it comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownRequest {
    /// The job it became.
    pub job: JobId,
    pub at: Time,
}

impl State {
    /// The time of the last command; never goes back.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The settings in force; `None` before the first leader configured them.
    #[must_use]
    pub const fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// When running jobs were made to move lately.
    #[must_use]
    pub fn moves(&self) -> &[Time] {
        &self.moves
    }

    /// The last job id given; 0 before the first job.
    #[must_use]
    pub const fn last_job(&self) -> JobId {
        self.last_job
    }

    /// Skips so many job ids, none of which is ever given: for a state that goes on from a backup,
    /// after which others were given. False, and nothing changes, where there are not so many left.
    #[must_use]
    pub fn skip_jobs(&mut self, count: u32) -> bool {
        match self.last_job.0.checked_add(count) {
            Some(last) => {
                self.last_job = JobId(last);
                true
            }
            None => false,
        }
    }

    /// All queues, also those that take no new jobs ([`State::is_retired`]).
    #[must_use]
    pub fn queues(&self) -> &[Queue] {
        self.settings.as_ref().map_or(&[], |s| &s.queues)
    }

    /// A queue by its name.
    #[must_use]
    pub fn queue(&self, name: &QueueName) -> Option<&Queue> {
        self.queues().iter().find(|q| q.name == *name)
    }

    /// Is this queue no longer configured, and kept only for the jobs that live in it?
    #[must_use]
    pub fn is_retired(&self, name: &QueueName) -> bool {
        self.retired.contains(name)
    }

    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&Record> {
        self.jobs.get(&id).map(Arc::as_ref)
    }

    /// A job that is no array, or a task of one.
    #[must_use]
    pub fn element(&self, key: JobKey) -> Option<(&Record, &Element)> {
        let record = self.job(key.job)?;
        Some((record, record.elements.get(&key.index)?))
    }

    /// The job or task that a user means: the plain number of an array's task is that task, and the
    /// name of a component is the job of that place.
    #[must_use]
    pub fn meant(&self, key: JobKey) -> JobKey {
        if let Some(offset) = key.offset() {
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

    /// Every job and array task that is not Done, rising.
    pub fn live(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.living.iter()
    }

    /// Is no element of this job alive?
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

    /// A quality of service by its name.
    #[must_use]
    pub fn qos(&self, name: &QosName) -> Option<&Qos> {
        self.settings.as_ref()?.qos.iter().find(|qos| qos.name == *name)
    }

    /// A booking of nodes.
    #[must_use]
    pub fn reservation(&self, name: &ReservationName) -> Option<&Reservation> {
        self.reservations.get(name)
    }

    /// All bookings, by name; one that is over stays for up to a minute.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values()
    }

    /// What was charged, for what is freed. What living jobs have used so far comes on top:
    /// [`crate::usage::running`].
    #[must_use]
    pub const fn usage(&self) -> &Usages {
        &self.usage
    }

    /// What queues used, where that counts; what they use now is not in it:
    /// [`crate::queue_usage::so_far`].
    #[must_use]
    pub const fn queue_usage(&self) -> &QueueUsages {
        &self.queue_usage
    }

    pub(crate) fn element_mut(&mut self, key: JobKey) -> Option<&mut Element> {
        let record = Arc::make_mut(self.jobs.get_mut(&key.job)?);
        record.elements.get_mut(&key.index)
    }

    /// Puts an event on record: in the story of its job, and in the answer.
    pub(crate) fn tell(&mut self, events: &mut Vec<Event>, event: Event) {
        let now = self.now;
        if let (Some(key), Some(line)) = (event.key(), event.story())
            && let Some(story) = self.story_mut(key)
        {
            story::add(story, now, line);
        }
        events.push(event);
    }

    /// Of a job or task its own; of an array the one that its tasks share.
    fn story_mut(&mut self, key: JobKey) -> Option<&mut Vec<StoryLine>> {
        let record = Arc::make_mut(self.jobs.get_mut(&key.job)?);
        match record.elements.get_mut(&key.index) {
            Some(element) => Some(&mut element.story),
            None => key.index.is_none().then_some(&mut record.story),
        }
    }
}
