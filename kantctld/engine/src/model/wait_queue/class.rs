//! A class: waiting jobs that differ only in how long they have waited and how long they may run.
//! Empty classes are removed.

use crate::model::job::{UNLIMITED, WaitingJob};
use crate::model::rank::Rank;
use crate::model::shares::tree::QueueAt;
use crate::model::wait_queue::kind::KindId;
use common::id::{AccountName, JobId, JobKey, QosName, QueueName, ReservationName, Uid};
use common::resource::Request;
use common::time::{Span, Time};
use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

/// A class's number. A snapshot never reuses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassId(pub u32);

/// What the jobs of a class have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassKey {
    queue: QueueName,
    account: Option<AccountName>,
    owner: Uid,
    qos: Option<QosName>,
    nice: i32,
    request: Arc<Request>,
    /// For an array with a limit.
    array: Option<(JobId, u32)>,
    deadline: Option<Time>,
    preemptible: Option<bool>,
    reservation: Option<ReservationName>,
    service: bool,
    together: Option<JobKey>,
}

impl ClassKey {
    pub fn of(job: &WaitingJob) -> Self {
        Self {
            queue: job.queue.clone(),
            account: job.account.clone(),
            owner: job.owner,
            qos: job.qos.clone(),
            nice: job.nice,
            request: job.request.clone(),
            array: job.array_limit.map(|limit| (job.key.job, limit)),
            deadline: job.deadline,
            preemptible: job.preemptible,
            reservation: job.reservation.clone(),
            service: job.service,
            together: job.together,
        }
    }
}

/// What the policy says of the jobs of a class under fair sharing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharingTerms {
    pub queue: QueueAt,
    /// Whether they may be preempted while they run.
    pub is_preemptible: bool,
    /// Their priority in their queue.
    pub priority: i64,
}

/// The jobs of a class, shortest time limit first.
pub(crate) type JobsByLength<'a> = btree_map::Values<'a, (Span, Time, JobKey), Arc<WaitingJob>>;

/// Equivalent jobs, longest wait first.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    key: ClassKey,
    /// The kind it belongs to.
    pub kind: KindId,
    /// The rank of its first job, as its kind knows it.
    pub rank: Option<Rank>,
    /// What the policy says of its jobs, as of when they were ranked. `None`: their queue is gone,
    /// or fair sharing is off.
    pub sharing: Option<SharingTerms>,
    jobs: BTreeMap<(Time, JobKey), Arc<WaitingJob>>,
    /// The same jobs, shortest time limit first. No limit counts as the longest.
    by_length: BTreeMap<(Span, Time, JobKey), Arc<WaitingJob>>,
}

impl Class {
    pub const fn new(key: ClassKey, kind: KindId) -> Self {
        let jobs = BTreeMap::new();
        Self { key, kind, rank: None, sharing: None, jobs, by_length: BTreeMap::new() }
    }

    pub fn add(&mut self, job: Arc<WaitingJob>) {
        self.by_length.insert(length_key(&job), job.clone());
        self.jobs.insert((job.since(), job.key), job);
    }

    pub fn remove(&mut self, job: &WaitingJob) {
        self.jobs.remove(&(job.since(), job.key));
        self.by_length.remove(&length_key(job));
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    pub const fn key(&self) -> &ClassKey {
        &self.key
    }

    /// The shortest time limit of its jobs.
    pub fn limit_min(&self) -> Span {
        self.by_length.keys().next().map_or(UNLIMITED, |(limit, ..)| *limit)
    }

    /// The jobs, longest wait first.
    pub fn jobs(&self) -> impl Iterator<Item = &Arc<WaitingJob>> {
        self.jobs.values()
    }

    /// The jobs, shortest time limit first.
    pub fn jobs_by_length(&self) -> JobsByLength<'_> {
        self.by_length.values()
    }
}

fn length_key(job: &WaitingJob) -> (Span, Time, JobKey) {
    (job.expected_length(), job.since(), job.key)
}
