//! An index of running jobs that may be preempted, grouped by class and kept up to date as jobs
//! start and end. Within a class, the job with the latest start or checkpoint would lose least
//! work, whatever the time is. So each row is in preemption order, and a waiting job merges a few
//! rows. Jobs with a checkpoint have rows of their own: their order is not that of the starts, by
//! which the minimum run time counts.
//!
//! Source: ours; it gives the same candidates as filtering and sorting all running jobs.

use crate::model::hold::Hold;
use crate::model::job::RunningJob;
use crate::model::usage_accounting::{Claim, KindIndex, QueueIndex};
use common::id::{ArrayIndex, JobId, JobKey, QosName, QueueName};
use common::policy::Policy;
use common::policy::queue::Queue;
use common::time::{Span, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A job's priority without its age: the smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PriorityKey {
    queue: Reverse<i32>,
    qos: Reverse<i32>,
    nice: i32,
}

impl PriorityKey {
    pub fn new(policy: &Policy, queue: Option<&Queue>, qos: Option<&QosName>, nice: i32) -> Self {
        let qos = qos.and_then(|name| policy.qos.iter().find(|qos| qos.name == *name));
        Self {
            queue: Reverse(queue.map_or(i32::MIN, |queue| queue.priority)),
            qos: Reverse(qos.map_or(0, |qos| qos.priority)),
            nice,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub job: Arc<RunningJob>,
    pub hold: Arc<Hold>,
}

/// Position in a row: latest start or checkpoint first, then latest start.
type Place = (Reverse<Time>, Reverse<Time>, Reverse<JobKey>);

/// The class of a row. The order inside a row does not change with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey {
    pub priority_key: PriorityKey,
    pub preemptible: bool,
    gpu_milli: u64,
    /// Whether it saved a checkpoint since its start. A job without GPUs loses no GPU time, so this
    /// is never set for it.
    has_saved: bool,
}

/// The jobs of a row, those that would lose least first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    members: BTreeMap<Place, Member>,
    /// Whether the order differs from that of the starts.
    has_saved: bool,
}

impl Row {
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    /// The jobs that have run for at least this long.
    pub fn ran_for(&self, now: Time, least: Span) -> impl Iterator<Item = &Member> {
        let latest = now.0.checked_sub(least.0).map(Time);
        // In a row that is ordered by start, the others need not be visited.
        let from = latest.filter(|_| !self.has_saved);
        let from =
            from.map_or(Bound::Unbounded, |latest| Bound::Included(place_before_started(latest)));
        let ran = move |member: &&Member| latest.is_some_and(|at| member.job.started_at <= at);
        self.members.range((from, Bound::Unbounded)).map(|(_, member)| member).filter(ran)
    }

    /// Of the jobs that have run for less and that `may` accepts, the one that reaches it first.
    pub fn next_unprotected<'a>(
        &'a self,
        now: Time,
        least: Span,
        may: impl Fn(&&'a Member) -> bool,
    ) -> Option<&'a Member> {
        let latest = now.0.checked_sub(least.0).map(Time);
        if self.has_saved {
            let safe = |member: &&Member| latest.is_none_or(|at| member.job.started_at > at);
            let safe = self.members.values().filter(safe).filter(may);
            return safe.min_by_key(|member| member.job.started_at);
        }
        let end =
            latest.map_or(Bound::Unbounded, |latest| Bound::Excluded(place_before_started(latest)));
        self.members.range((Bound::Unbounded, end)).rev().map(|(_, member)| member).find(may)
    }
}

/// Precedes all jobs without a checkpoint that started then or earlier.
const fn place_before_started(started_at: Time) -> Place {
    (Reverse(started_at), Reverse(started_at), Reverse(LAST))
}

/// Follows all other keys.
const LAST: JobKey = JobKey { job: JobId(u32::MAX), index: Some(ArrayIndex(u32::MAX)) };

/// Queue by name and in the usage accounting; kinds of GPUs; whether it holds other GPUs, CPUs,
/// memory.
type Key = (QueueName, Option<QueueIndex>, Vec<KindIndex>, [bool; 3]);

/// Jobs of one queue that hold some of the same resources.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub queue: QueueName,
    /// What one of them holds. Reclaim depends only on which resources these are, not on amounts.
    pub claim: Claim,
    rows: BTreeMap<RowKey, Row>,
}

impl Group {
    pub fn rows(&self) -> impl Iterator<Item = (&RowKey, &Row)> {
        self.rows.iter()
    }
}

/// All running jobs of which no part is leaving.
#[derive(Debug, Clone, Default)]
pub(crate) struct VictimIndex(BTreeMap<Key, Group>);

impl VictimIndex {
    /// Whether any job could be preempted under this policy.
    pub fn may_preempt_any(policy: &Policy) -> bool {
        let asks = |queue: &Queue| {
            let preemption = &queue.preemption;
            preemption.by_priority || preemption.reclaim || queue.backfill.head_timeout.is_some()
        };
        policy.queues.iter().any(asks)
    }

    pub fn add(&mut self, policy: &Policy, job: &Arc<RunningJob>, hold: &Arc<Hold>) {
        if !job.may_be_preempted() || !Self::may_preempt_any(policy) {
            return;
        }
        let group = self.0.entry(key(job, &hold.claim)).or_insert_with(|| Group {
            queue: job.queue.clone(),
            claim: hold.claim.clone(),
            rows: BTreeMap::new(),
        });
        let row_key = row_key(policy, job, &hold.claim);
        let has_saved = row_key.has_saved;
        let row = group.rows.entry(row_key).or_insert_with(|| Row { has_saved, ..Row::default() });
        let member = Member { job: job.clone(), hold: hold.clone() };
        row.members.insert(place(job, has_saved), member);
    }

    /// Removes a job that no longer runs, under the policy under which it was added.
    pub fn remove(&mut self, policy: &Policy, job: &RunningJob, hold: &Hold) {
        let key = key(job, &hold.claim);
        let Some(group) = self.0.get_mut(&key) else { return };
        let row_key = row_key(policy, job, &hold.claim);
        if let Some(row) = group.rows.get_mut(&row_key) {
            row.members.remove(&place(job, row_key.has_saved));
            if row.members.is_empty() {
                group.rows.remove(&row_key);
            }
        }
        if group.rows.is_empty() {
            self.0.remove(&key);
        }
    }

    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.0.values()
    }
}

fn place(job: &RunningJob, has_saved: bool) -> Place {
    let since = if has_saved { job.unsaved_since() } else { job.started_at };
    (Reverse(since), Reverse(job.started_at), Reverse(job.key))
}

fn row_key(policy: &Policy, job: &RunningJob, claim: &Claim) -> RowKey {
    let queue = policy.queues.iter().find(|queue| queue.name == job.queue);
    let priority_key = PriorityKey::new(policy, queue, job.qos.as_ref(), job.nice);
    let gpu_milli = claim.gpu_milli();
    let has_saved = gpu_milli > 0 && job.unsaved_since() > job.started_at;
    RowKey { priority_key, preemptible: job.preemptible, gpu_milli, has_saved }
}

fn key(job: &RunningJob, claim: &Claim) -> Key {
    let mut kinds: Vec<KindIndex> = claim.kinds().iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    let named: u64 = claim.kinds().iter().map(|(_, amount)| amount).sum();
    let has = [claim.gpu_milli() > named, claim.cpus.0 > 0, claim.memory.0 > 0];
    (job.queue.clone(), claim.who.queue, kinds, has)
}
