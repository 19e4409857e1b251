//! An index of running jobs under fair sharing, kept up to date as jobs start and end: what each
//! queue holds, and its preemptible jobs in preemption order. A round need not read all running
//! jobs.
//!
//! Source: ours; it gives the same sums and the same order as reading all running jobs.

use super::amount::Amount;
use crate::model::cluster::ClusterIndex;
use crate::model::job::RunningJob;
use common::id::{JobKey, QosName, QueueName};
use common::policy::{Policy, YieldsFirst};
use common::resource::Share;
use common::time::{Span, Time};
use common::unit::Bytes;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::Bound;

/// What a job has, compared with its minimum. The smaller value goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Below,
    At,
    Above,
}

impl Standing {
    fn of(has: usize, least: usize) -> Self {
        match has.cmp(&least) {
            Ordering::Less => Self::Below,
            Ordering::Equal => Self::At,
            Ordering::Greater => Self::Above,
        }
    }
}

/// A running job's position in its queue: the last is preempted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    priority: Reverse<i64>,
    standing: Standing,
    since: Time,
    key: JobKey,
}

/// What was counted for one running job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    held: Amount,
    /// `None`: it has nothing to give up.
    place: Option<Place>,
}

/// The jobs of one queue of which no part is leaving.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    jobs: usize,
    pub(crate) held: Amount,
    /// The part of it that jobs hold which are not preemptible.
    pub(crate) firm: Amount,
    /// The preemptible jobs, and when they started.
    yielding: BTreeMap<Place, Time>,
    /// The start times of preemptible jobs, with their number.
    starts: BTreeMap<Time, u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunningIndex {
    rows: BTreeMap<QueueName, Row>,
}

impl RunningIndex {
    /// Adds a running job. `None`: fair sharing is off.
    pub fn add(
        &mut self,
        policy: &Policy,
        cluster: &ClusterIndex,
        job: &RunningJob,
    ) -> Option<Member> {
        if !policy.fair_sharing {
            return None;
        }
        let shares = job.allocation.shares();
        let known = shares.iter().filter(|share| cluster.find(&share.node).is_some()).count();
        let may_be_asked = job.preemptible && known > 0;
        let place = may_be_asked.then(|| Place {
            priority: Reverse(priority(policy, job.qos.as_ref(), job.nice)),
            standing: Standing::of(known, nodes_needed(job, known)),
            since: preemption_tie_break(policy, job),
            key: job.key,
        });
        let member = Member { held: held(cluster, shares), place };
        if job.may_be_preempted() {
            self.rows.entry(job.queue.clone()).or_default().add(job, &member);
        }
        Some(member)
    }

    /// Removes a job that no longer runs. `member`: what was counted for it.
    pub fn remove(&mut self, job: &RunningJob, member: &Member) {
        if job.may_be_preempted()
            && let Some(row) = self.rows.get_mut(&job.queue)
        {
            row.remove(job, member);
            if row.jobs == 0 {
                self.rows.remove(&job.queue);
            }
        }
    }

    pub(crate) const fn rows(&self) -> &BTreeMap<QueueName, Row> {
        &self.rows
    }
}

impl Row {
    fn add(&mut self, job: &RunningJob, member: &Member) {
        self.jobs += 1;
        self.held = self.held.plus(&member.held);
        if job.preemptible {
            *self.starts.entry(job.started_at).or_default() += 1;
        } else {
            self.firm = self.firm.plus(&member.held);
        }
        self.yielding.extend(member.place.map(|place| (place, job.started_at)));
    }

    fn remove(&mut self, job: &RunningJob, member: &Member) {
        self.jobs -= 1;
        self.held = self.held.minus(&member.held);
        if !job.preemptible {
            self.firm = self.firm.minus(&member.held);
        } else if let Some(count) = self.starts.get_mut(&job.started_at) {
            *count -= 1;
            if *count == 0 {
                self.starts.remove(&job.started_at);
            }
        }
        member.place.iter().for_each(|place| _ = self.yielding.remove(place));
    }

    /// The preemptible jobs, in preemption order, and when each started.
    pub(crate) fn preemptible_jobs(&self) -> impl Iterator<Item = (&Place, Time)> {
        self.yielding.iter().rev().map(|(place, started)| (place, *started))
    }

    pub(crate) fn preemptible_count(&self) -> usize {
        self.yielding.len()
    }

    /// When the next preemptible job will have run for this long.
    pub(crate) fn next_reaching_runtime(&self, least: Span, now: Time) -> Option<Time> {
        let oldest = now.0.checked_sub(least.0).map(Time);
        let from = oldest.map_or(Bound::Unbounded, Bound::Excluded);
        let (started, _) = self.starts.range((from, Bound::Unbounded)).next()?;
        Some(*started + least)
    }
}

impl Place {
    pub(crate) const fn key(&self) -> JobKey {
        self.key
    }

    pub(crate) const fn priority(&self) -> i64 {
        self.priority.0
    }

    /// Whether the job runs on with less.
    pub(crate) fn is_above_minimum(&self) -> bool {
        self.standing == Standing::Above
    }

    /// The position of the same job once it has no more than its minimum.
    pub(crate) const fn at_minimum(self) -> Self {
        Self { standing: Standing::At, ..self }
    }
}

/// The number of nodes that a running job needs, of those that are known. If some of its nodes are
/// unknown it needs all of them, except those that it is giving up.
fn nodes_needed(job: &RunningJob, known: usize) -> usize {
    let is_known = known == job.allocation.shares().len();
    let least = job.nodes_min.filter(|_| is_known).map(|least| least.0 as usize);
    least.unwrap_or_else(|| known.saturating_sub(job.given_up_shares().len()))
}

/// Tie-break between equally ranked jobs: the later value is preempted first.
fn preemption_tie_break(policy: &Policy, job: &RunningJob) -> Time {
    match policy.yields_first {
        YieldsFirst::SubmittedLast => {
            job.saved_at.map_or(job.submitted_at, |saved| saved.max(job.submitted_at))
        }
        YieldsFirst::LosesLeast => job.unsaved_since(),
    }
}

/// The priority of a job inside its queue: by QoS, then by nice.
pub(crate) fn priority(policy: &Policy, qos: Option<&QosName>, nice: i32) -> i64 {
    let found = policy.qos.iter().find(|known| Some(&known.name) == qos);
    (found.map_or(0, |qos| i64::from(qos.priority)) << 32) - i64::from(nice)
}

/// What these shares count for.
pub(crate) fn held<'s>(
    cluster: &ClusterIndex,
    shares: impl IntoIterator<Item = &'s Share>,
) -> Amount {
    let known = shares.into_iter().filter(|share| cluster.find(&share.node).is_some());
    let of = |share: &Share| Amount {
        cpu_milli: i64::from(share.cpus.len()) * 1000,
        memory_bytes: saturating_i64(share.memory),
        gpu_milli: i64::from(share.gpus_milli().0),
    };
    known.map(of).fold(Amount::default(), |sum, one| sum.plus(&one))
}

fn saturating_i64(of: Bytes) -> i64 {
    i64::try_from(of.0).unwrap_or(i64::MAX)
}
