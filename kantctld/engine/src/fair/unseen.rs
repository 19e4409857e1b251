//! The running jobs that a world does not name: sums of what they hold, and the position of the
//! next candidate of each queue.

use super::amount::Amount;
use super::counted::amount;
use super::gang::Standing;
use super::loads::{Loads, Spots};
use super::tree::QueueAt;
use super::victims::Rank;
use super::world::{JobAt, World};
use std::cmp::Reverse;
use std::sync::Arc;

/// All running jobs that are not named; none by default.
#[derive(Debug, Clone, Default)]
pub struct Unseen {
    pub(super) loads: Loads,
    pub(super) queues: Vec<Rest>,
    /// Whether any of them may be moved to make room for another.
    pub(super) may_move: bool,
}

/// The unnamed jobs of one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Rest {
    pub held: Amount,
    /// The part of it that jobs hold which are not preemptible.
    pub firm: Amount,
    /// Whether any of them is preemptible.
    pub yields: bool,
    /// What all preemptible jobs of the queue held at the start of the round, named or not.
    pub spots: Arc<Spots>,
    /// The one that would be preempted first, of those that some job might preempt in this round.
    pub next: Option<Next>,
}

/// The position of a job among preemption candidates.
#[derive(Debug, Clone)]
pub(super) struct Next {
    pub priority: i64,
    pub standing: Standing,
    pub since: i64,
    pub name: String,
}

impl Next {
    pub fn rank(&self) -> Rank<'_> {
        (Reverse(self.priority), self.standing, self.since, &self.name)
    }
}

impl Unseen {
    /// The unnamed job of a queue that would be asked next.
    pub(super) fn next(&self, queue: QueueAt) -> Option<&Next> {
        self.queues.get(queue.0)?.next.as_ref()
    }

    /// Whether any unnamed job of a queue is preemptible.
    pub(super) fn yields(&self, queue: QueueAt) -> bool {
        self.queues.get(queue.0).is_some_and(|rest| rest.yields)
    }
}

impl World {
    /// Removes a running job that is now named from the sums. `is_in_sum`: it was also counted in
    /// its queue's sum, not only in the node loads.
    pub(super) fn sees(&mut self, at: JobAt, is_in_sum: bool) {
        let job = &self.jobs[at.0];
        let tasks = || job.tasks.iter().map(|task| &self.tasks[task.0]);
        tasks().for_each(|task| self.unseen.loads.change(task, -1));
        let rest = self.unseen.queues.get_mut(job.queue.0).filter(|_| is_in_sum);
        let Some(rest) = rest else { return };
        // A named job that is in the sum is preemptible.
        for held in tasks().map(|task| amount(task, 0)) {
            rest.held = rest.held.minus(&held);
        }
    }
}
