//! Running jobs that take more nodes when there are some to spare. Never decides whether there are;
//! the desk does.

use super::{RunningJob, Snapshot, WaitingJob, nodes_min};
use common::id::{JobKey, NodeName};
use common::resource::{Allocation, Share};
use common::time::Time;
use common::unit::Tasks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a running job that grows asked for, and where it may not go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growing {
    /// As it would wait, were it to start now.
    pub asked: WaitingJob,
    /// Nodes that let go of this attempt while it went on: never again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub had: BTreeSet<NodeName>,
    /// Not before then: nodes failed to join it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
}

impl Snapshot {
    /// A running job takes more nodes: it asked for that, has fewer tasks than it could have, and
    /// nothing of it comes or goes. `None`: it does not. Forgotten as soon as it is said anew what
    /// it holds.
    pub fn set_growing(&mut self, key: JobKey, growing: Option<Arc<Growing>>) {
        match growing {
            Some(growing) => _ = self.growing.insert(key, growing),
            None => _ = self.growing.remove(&key),
        }
    }

    /// What a running job that takes more nodes asked for.
    #[must_use]
    pub fn growing(&self, key: JobKey) -> Option<&Arc<Growing>> {
        self.growing.get(&key)
    }

    /// A running job has more, as a state would have it that enacts a round at once, and nodes that
    /// obey at once.
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
    /// Of a job that is to run; `None`: it takes no more than it starts with.
    #[must_use]
    pub fn of(asked: &WaitingJob) -> Option<Self> {
        let asked = asked.clone();
        asked.request.grow.then(|| Self { asked, had: BTreeSet::new(), not_before: None })
    }

    /// Could it have more than so many tasks?
    #[must_use]
    pub fn has_room(&self, tasks: Tasks) -> bool {
        tasks < self.asked.request.tasks
    }
}
