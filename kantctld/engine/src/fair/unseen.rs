//! Running jobs that a world does not name: what they hold, in sums, and where they would stand
//! among those who yield. Never who they are.

use super::amount::Amount;
use super::counted::amount;
use super::gang::Standing;
use super::loads::{Loads, Spots};
use super::tree::QueueAt;
use super::victims::Rank;
use super::world::{JobAt, World};
use std::cmp::Reverse;
use std::sync::Arc;

/// What runs and is not named; nothing, unless a world says so.
#[derive(Debug, Clone, Default)]
pub struct Unseen {
    pub(super) loads: Loads,
    pub(super) queues: Vec<Rest>,
    /// May any of them be moved so that another has room?
    pub(super) may_move: bool,
}

/// Those of one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Rest {
    pub held: Amount,
    /// That part of it that is held by jobs that yield to nobody.
    pub firm: Amount,
    /// Is any of them one that yields?
    pub yields: bool,
    /// What all of the queue that yield held as the round began, named or not.
    pub spots: Arc<Spots>,
    /// Who of them yields first, of those that somebody might ask in this round.
    pub next: Option<Next>,
}

/// Where a job stands among those who yield.
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
    /// Who of a queue would be asked next.
    pub(super) fn next(&self, queue: QueueAt) -> Option<&Next> {
        self.queues.get(queue.0)?.next.as_ref()
    }

    /// Is any of a queue one that yields?
    pub(super) fn yields(&self, queue: QueueAt) -> bool {
        self.queues.get(queue.0).is_some_and(|rest| rest.yields)
    }
}

impl World {
    /// A running job is named, and no longer one of the unseen. `is_in_sum`: it was counted for
    /// its queue, not only where it is.
    pub(super) fn sees(&mut self, at: JobAt, is_in_sum: bool) {
        let job = &self.jobs[at.0];
        let tasks = || job.tasks.iter().map(|task| &self.tasks[task.0]);
        tasks().for_each(|task| self.unseen.loads.change(task, -1));
        let rest = self.unseen.queues.get_mut(job.queue.0).filter(|_| is_in_sum);
        let Some(rest) = rest else { return };
        // Who is in the sum and is named is one that yields.
        for held in tasks().map(|task| amount(task, 0)) {
            rest.held = rest.held.minus(&held);
        }
    }
}
