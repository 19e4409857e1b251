//! An index of running jobs under fair sharing, kept up to date as jobs start and end: what each
//! queue holds, its preemptible jobs in preemption order, and what is held on each node. A plan
//! need not read all running jobs.
//!
//! Source: ours; it gives the same sums and the same order as reading all running jobs.

use super::amount::Amount;
use super::counted::amount;
use super::gang::Standing;
use super::held::{least_of, task_of, unsaved_since};
use super::line::sum;
use super::loads::{Loads, Spots};
use super::unseen::Next;
use super::view::{name_of, priority};
use super::world::Task;
use crate::cluster::ClusterIndex;
use crate::job::RunningJob;
use common::id::{JobKey, QueueName};
use common::policy::Policy;
use common::time::{Span, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A running job's position in its queue, as in [`super::victims`]: the last is preempted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    priority: Reverse<i64>,
    standing: Standing,
    since: i64,
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
    spots: Arc<Spots>,
    /// The start times of preemptible jobs, with their number.
    starts: BTreeMap<Time, u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunningIndex {
    rows: BTreeMap<QueueName, Row>,
    /// Includes jobs that are leaving.
    loads: Loads,
}

impl RunningIndex {
    pub fn none(policy: &Policy, floor: &ClusterIndex) -> Self {
        let devices = floor.nodes().map(|(_, node)| node.class.gpu_count().0);
        let loads = if policy.fair_sharing { Loads::none(devices) } else { Loads::default() };
        Self { rows: BTreeMap::new(), loads }
    }

    /// Adds a running job. `None`: fair sharing is off.
    pub fn add(
        &mut self,
        policy: &Policy,
        floor: &ClusterIndex,
        job: &RunningJob,
    ) -> Option<Member> {
        if !policy.fair_sharing {
            return None;
        }
        let tasks = tasks_of(floor, job);
        tasks.iter().for_each(|task| self.loads.change(task, 1));
        let held = sum(tasks.iter().map(|task| amount(task, 0)));
        let may_be_asked = job.preemptible && !tasks.is_empty();
        let least = least_of(job, tasks.len());
        let place = may_be_asked.then(|| Place {
            priority: Reverse(priority(policy, job.qos.as_ref(), job.nice)),
            standing: Standing::of(tasks.len(), least),
            since: unsaved_since(policy, job),
            key: job.key,
        });
        let member = Member { held, place };
        if job.may_be_asked() {
            let row = self.rows.entry(job.queue.clone()).or_default();
            row.add(job, &member);
            row.change_spots(&member, &tasks, 1, &self.loads);
        }
        Some(member)
    }

    /// Removes a job that no longer runs. `member`: what was counted for it.
    pub fn remove(&mut self, floor: &ClusterIndex, job: &RunningJob, member: &Member) {
        let tasks = tasks_of(floor, job);
        tasks.iter().for_each(|task| self.loads.change(task, -1));
        if job.may_be_asked()
            && let Some(row) = self.rows.get_mut(&job.queue)
        {
            row.remove(job, member);
            row.change_spots(member, &tasks, -1, &self.loads);
            if row.jobs == 0 {
                self.rows.remove(&job.queue);
            }
        }
    }

    pub(crate) const fn rows(&self) -> &BTreeMap<QueueName, Row> {
        &self.rows
    }

    pub(super) const fn loads(&self) -> &Loads {
        &self.loads
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

    fn change_spots(&mut self, member: &Member, tasks: &[Task], sign: i64, loads: &Loads) {
        if member.place.is_some() {
            let spots = Arc::make_mut(&mut self.spots);
            let devices = |task: &Task| task.node.map_or(0, |at| loads.devices_on(at.0).len());
            tasks.iter().for_each(|task| spots.change(task, sign, devices(task)));
        }
    }

    /// What the preemptible jobs hold, node by node.
    pub(super) const fn spots(&self) -> &Arc<Spots> {
        &self.spots
    }

    /// The preemptible jobs, in preemption order, and when each started.
    pub(crate) fn yielding(&self) -> impl Iterator<Item = (&Place, Time)> {
        self.yielding.iter().rev().map(|(place, started)| (place, *started))
    }

    pub(crate) fn yielding_count(&self) -> usize {
        self.yielding.len()
    }

    /// When the next preemptible job will have run for this long.
    pub(crate) fn next_to_run_for(&self, least: Span, now: Time) -> Option<Time> {
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
    pub(crate) fn has_more(&self) -> bool {
        self.standing == Standing::Above
    }

    /// The position of the same job once it has no more than its minimum.
    pub(crate) const fn with_least(self) -> Self {
        Self { standing: Standing::At, ..self }
    }

    /// As the next candidate of a queue among those that a world does not name.
    pub(super) fn unseen(&self) -> Next {
        Next {
            priority: self.priority.0,
            standing: self.standing,
            since: self.since,
            name: name_of(self.key),
        }
    }
}

fn tasks_of(floor: &ClusterIndex, job: &RunningJob) -> Vec<Task> {
    job.allocation.shares().iter().filter_map(|share| task_of(floor, share)).collect()
}
