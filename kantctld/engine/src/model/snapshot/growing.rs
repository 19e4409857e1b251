//! Running jobs that can grow onto spare nodes. `planner` decides whether they do.

use super::Snapshot;
use crate::model::job::{RunningJob, WaitingJob, nodes_min};
use common::id::{JobKey, NodeName};
use common::resource::{Allocation, Share};
use common::time::Time;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a growing job asked for, and the nodes that it may not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growing {
    /// The job as it would wait if it were to start now.
    pub asked: WaitingJob,
    /// Nodes that this attempt left while it ran. It never gets them again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub had: BTreeSet<NodeName>,
    /// The job does not grow before this time, because nodes failed to join it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
}

impl Snapshot {
    /// Sets what a running job that can grow asked for. Such a job asked to grow, has fewer tasks
    /// than its maximum, and neither gains nor loses nodes at present. `None`: it cannot grow.
    /// Reset whenever the job's allocation is set again.
    pub fn set_growing(&mut self, key: JobKey, growing: Option<Arc<Growing>>) {
        match growing {
            Some(growing) => _ = self.growing.insert(key, growing),
            None => _ = self.growing.remove(&key),
        }
    }

    /// What a running job that can grow asked for.
    #[must_use]
    pub fn growing(&self, key: JobKey) -> Option<&Arc<Growing>> {
        self.growing.get(&key)
    }

    /// Adds shares to a running job as if the state and the nodes carried it out at once.
    pub fn grow(&mut self, key: JobKey, more: &[Share]) {
        let (Some(job), Some(growing)) = (self.running.get(&key), self.growing.get(&key)) else {
            return;
        };
        let growing = growing.clone();
        let mut shares = job.allocation.shares().to_vec();
        shares.extend_from_slice(more);
        let nodes_min = nodes_min(&growing.asked.request, &shares);
        let Ok(allocation) = Allocation::new(shares) else { return };
        let (allocation, movable) = (Arc::new(allocation), self.movable.get(&key).cloned());
        let tasks = allocation.tasks();
        let larger = RunningJob { allocation, nodes_min, ..RunningJob::clone(job) };
        self.set_running(larger);
        self.set_movable(key, movable);
        self.set_growing(key, Some(growing).filter(|growing| growing.has_room(tasks)));
    }
}

impl Growing {
    /// For a job about to run. `None`: it does not grow.
    #[must_use]
    pub fn of(asked: &WaitingJob) -> Option<Self> {
        let asked = asked.clone();
        asked.request.grow.then(|| Self { asked, had: BTreeSet::new(), not_before: None })
    }

    /// Whether the job may have more tasks than this.
    #[must_use]
    pub fn has_room(&self, tasks: Tasks) -> bool {
        tasks < self.asked.request.tasks
    }
}
