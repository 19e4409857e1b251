//! The cluster as a round sees it, kept up to date one change at a time. It holds no handle and no
//! clock: a snapshot saved as JSON and read again gives the same round.

mod bounded;
mod derived;
mod enact;
mod full;
mod growing;
mod hold;
mod moving;
mod plain;
mod planned_start;
mod read;

pub use full::Full;
pub(crate) use full::{Candidates, FREED_MAX, Ready, ReadyTimes};
pub use growing::Growing;
pub use planned_start::PlannedStart;

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::freed::Freed;
use crate::model::hold::Hold;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::judge_ledger::Ledger;
use crate::model::node_snapshot::NodeSnapshot;
use crate::model::past_usage::QueueUse;
use crate::model::past_usage::Usage;
use crate::model::queues::{Places, places};
use crate::model::resume_cursor::ResumeCursor;
use crate::model::shares::tree::Tree;
use crate::model::shares::{Member, RunningIndex};
use crate::model::typical::Typical;
use crate::model::usage_accounting::UsageAccounting;
use crate::model::victim_index::VictimIndex;
use crate::model::wait_queue::WaitQueue;
use crate::model::yardstick::Yardsticks;
use bounded::{bounds_any_job, may_refuse};
use common::id::{JobId, JobKey, NodeName, ReservationName};
use common::job::Moving;
use common::policy::{Amounts, Policy};
use common::reservation::Reservation;
use common::time::Time;
use full::Remembered;
use plain::Plain;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The cluster at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Plain", into = "Plain")]
pub struct Snapshot {
    pub(crate) policy: Arc<Policy>,
    pub(crate) places: Places,
    pub(crate) cluster: ClusterIndex,
    pub(crate) wait_queue: WaitQueue,
    pub(crate) running: BTreeMap<JobKey, Arc<RunningJob>>,
    holds: BTreeMap<JobKey, Arc<Hold>>,
    /// With fair sharing: what each running job counts for.
    members: BTreeMap<JobKey, Member>,
    /// Holdings of jobs that are not ending, by the ends of their time limits. Kept only if the
    /// policy has limits or quotas.
    pub(crate) ends: BTreeMap<(Time, JobKey), Arc<Hold>>,
    /// Preemption candidates.
    pub(crate) victim_index: VictimIndex,
    /// What fair sharing knows of the running jobs.
    pub(crate) running_index: RunningIndex,
    /// With fair sharing: the tree of queues and what each is entitled to.
    pub(crate) queues: Tree,
    /// The judge's own sums of what runs.
    pub(crate) ledger: Ledger,
    /// Running jobs that are ending, with their preemptors.
    pub(crate) ending: BTreeMap<JobKey, Option<JobKey>>,
    /// Jobs that are giving up nodes, with their preemptors.
    pub(crate) giving_up: BTreeMap<JobKey, Option<JobKey>>,
    pub(crate) accounting: UsageAccounting,
    /// The usage accounting as if nothing ran and all nodes were up.
    pub(crate) accounting_alone: UsageAccounting,
    pub(crate) array_running: BTreeMap<JobId, u32>,
    pub(crate) reservations: BTreeMap<ReservationName, Reservation>,
    pub(crate) planned_starts: BTreeMap<JobKey, PlannedStart>,
    pub(crate) resume_cursor: ResumeCursor,
    /// Running jobs that may be moved, as they would wait if they were.
    pub(crate) movable: BTreeMap<JobKey, Arc<WaitingJob>>,
    /// Running jobs that can grow.
    pub(crate) growing: BTreeMap<JobKey, Arc<Growing>>,
    /// Jobs that were stopped to be moved, until they start again.
    pub(crate) moving: BTreeMap<JobKey, Moving>,
    /// When jobs were moved, in the last hour.
    pub(crate) moves: Vec<Time>,
    /// The most searches in one round. `None`: the default.
    pub(crate) trials_max: Option<u32>,
    pub(crate) usage: Usage,
    pub(crate) queue_use: Vec<QueueUse>,
    /// Whether the policy has limits or quotas.
    pub(crate) has_bounds: bool,
    /// Whether those may refuse a job.
    pub(crate) may_refuse: bool,
    /// When the ranks were computed. `None`: not yet.
    pub(crate) ranked_at: Option<Time>,
    /// All resources of the nodes.
    pub(crate) capacity: Amounts,
    /// Whether a node went down or came up since `capacity` was computed.
    pub(crate) is_capacity_old: bool,
    /// What jobs typically ask for, if that was set.
    pub(crate) typical: Option<Arc<Yardsticks>>,
    /// Where resources were freed since all jobs were last checked against them.
    pub(crate) freed: Freed,
    pub(crate) full: Remembered,
    pub(crate) is_silent: bool,
    /// Whether resources were freed sooner than promises expected, or nodes changed, since the
    /// promises were made.
    pub(crate) is_looser: bool,
}

impl Snapshot {
    pub fn set_policy(&mut self, policy: Arc<Policy>) {
        self.has_bounds = bounds_any_job(&policy);
        self.may_refuse = may_refuse(&policy);
        self.places = places(&policy);
        self.policy = policy;
        self.cluster.mark_groups_outdated();
        self.note_more_room_everywhere();
    }

    /// Forgets what an earlier round found out about a waiting job and about the components that
    /// start with it.
    fn forget_search_results(&mut self, key: JobKey) {
        if self.resume_cursor.jobs.remove(&key).is_some()
            && let Some(first) = self.wait_queue.get(key).and_then(|job| job.together)
        {
            for component in self.wait_queue.components_with(first) {
                self.resume_cursor.jobs.remove(&component.key);
            }
        }
    }

    /// Adds a node, or changes its inventory and whether jobs may start there.
    pub fn set_node(&mut self, node: &NodeSnapshot) {
        self.cluster.set_node(node);
        self.note_more_room_everywhere();
        self.is_capacity_old = true;
    }

    pub fn remove_node(&mut self, name: &NodeName) {
        self.cluster.remove_node(name);
        self.note_more_room_everywhere();
    }

    /// Sets a waiting job. It no longer holds anything.
    pub fn set_waiting(&mut self, job: WaitingJob) {
        self.remove_running(job.key);
        self.forget_search_results(job.key);
        if self.planned_starts.contains_key(&job.key) {
            // The job may ask for less than what was kept for it.
            self.freed = Freed::Everywhere;
        }
        self.wait_queue.set(job);
    }

    /// Sets a running job and what it holds. It no longer waits.
    pub fn set_running(&mut self, job: RunningJob) {
        self.forget_search_results(job.key);
        self.wait_queue.remove(job.key);
        self.remove_planned_start(job.key);
        self.remove_running(job.key);
        let job = Arc::new(job);
        let places = self.cluster.node_indices(job.allocation.shares());
        self.cluster.hold(&job, &places);
        self.count_running(&job, &places);
        if job.key.index.is_some() {
            *self.array_running.entry(job.key.job).or_default() += 1;
        }
        if job.ending {
            self.ending.insert(job.key, job.yields_to);
        } else {
            self.moving.remove(&job.key);
            if job.leaving > 0 {
                self.giving_up.insert(job.key, job.yields_to);
            }
        }
        self.running.insert(job.key, job);
    }

    /// Removes a job that has ended or is no longer known.
    pub fn remove_job(&mut self, key: JobKey) {
        self.forget_search_results(key);
        self.wait_queue.remove(key);
        self.moving.remove(&key);
        if self.remove_planned_start(key) {
            self.note_more_room();
        }
        self.remove_running(key);
    }

    fn remove_running(&mut self, key: JobKey) {
        let Some(job) = self.running.remove(&key) else { return };
        self.ending.remove(&key);
        self.giving_up.remove(&key);
        self.movable.remove(&key);
        self.growing.remove(&key);
        self.note_more_room();
        let places = self.cluster.node_indices(job.allocation.shares());
        self.cluster.release(&job, &places);
        places.into_iter().flatten().for_each(|at| self.note_freed_on(at));
        self.uncount_running(&job);
        if key.index.is_some()
            && let Some(count) = self.array_running.get_mut(&key.job)
        {
            *count -= 1;
            if *count == 0 {
                self.array_running.remove(&key.job);
            }
        }
    }

    /// Sets all reservations.
    pub fn set_reservations(&mut self, reservations: impl IntoIterator<Item = Reservation>) {
        self.reservations =
            reservations.into_iter().map(|booking| (booking.name.clone(), booking)).collect();
        self.note_more_room_everywhere();
    }

    /// Sets the past usage of accounts and users, for fair share.
    pub fn set_usage(&mut self, usage: Usage) {
        self.usage = usage;
        self.ranked_at = None;
    }

    /// Sets the past use of queues, for fair shares.
    pub fn set_queue_use(&mut self, used: Vec<QueueUse>) {
        self.queue_use = used;
    }

    /// Sets what jobs of this cluster typically ask for (FGD). Without it, a round uses the waiting
    /// jobs. Not saved with the snapshot.
    pub fn set_typical(&mut self, typical: Vec<Typical>) {
        self.typical = Some(Arc::new(Yardsticks::of(&self.cluster, typical)));
    }

    /// Sets the most searches for a place in one round (default 20,000). The next round continues
    /// where this one stops.
    pub fn set_trials_max(&mut self, trials: u32) {
        self.trials_max = Some(trials);
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        Plain::from(self.clone()) == Plain::from(other.clone())
    }
}

impl Eq for Snapshot {}
