//! Whose turn it is: queues level by level, and the jobs of a queue. Never what becomes of a turn.
//!
//! Source: KAI Scheduler, job order: priority; below what it needs, at it, above it; submission;
//! name. Victims are taken in the reverse order.

use super::amount::Amount;
use super::board::Board;
use super::gang::{Gang, NONE, Standing};
use super::order::{Next, first};
use super::tree::QueueAt;
use super::world::{JobAt, TaskAt};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A job's place in its queue.
type Place = (Reverse<i64>, Standing, i64, String, JobAt);

/// Jobs that have a turn.
#[derive(Clone)]
pub(super) struct Line {
    jobs: Vec<BTreeSet<Place>>,
    /// What the next turn of a job asks for.
    asks: BTreeMap<JobAt, Amount>,
    /// Tasks that left in this trial and may be placed once more.
    again: BTreeSet<TaskAt>,
}

impl Line {
    pub fn new(board: &Board<'_>, jobs: impl IntoIterator<Item = JobAt>) -> Self {
        Self::of(board, jobs, BTreeSet::new())
    }

    /// Those who wait, and those who had to leave in this trial.
    pub fn with_again(
        board: &Board<'_>,
        jobs: impl IntoIterator<Item = JobAt>,
        again: BTreeSet<TaskAt>,
    ) -> Self {
        Self::of(board, jobs, again)
    }

    fn of(
        board: &Board<'_>,
        jobs: impl IntoIterator<Item = JobAt>,
        again: BTreeSet<TaskAt>,
    ) -> Self {
        let queues = board.tree.accounts.len();
        let mut line = Self { jobs: vec![BTreeSet::new(); queues], asks: BTreeMap::new(), again };
        jobs.into_iter().for_each(|job| line.push(board, job));
        line
    }

    /// A job has a turn, or another one.
    pub fn push(&mut self, board: &Board<'_>, job: JobAt) {
        let known = &board.world.jobs[job.0];
        let gang = Gang::of(board, job).again(&self.again);
        // Beside those who had to leave, all go by priority.
        let turn = known.turn.filter(|_| self.again.is_empty());
        let priority = turn.map_or(known.priority, i64::saturating_neg);
        let place = (Reverse(priority), gang.standing(), known.submitted, known.name.clone(), job);
        self.asks.insert(job, sum(gang.next().into_iter().map(|task| board.at_most(task))));
        self.jobs[known.queue.0].insert(place);
    }

    /// Takes the next job out of the line.
    pub fn pop(&mut self, board: &Board<'_>) -> Option<JobAt> {
        let (job, queue) = self.best(board, None)?;
        self.jobs[queue.0].pop_first();
        Some(job)
    }

    /// The best job below a queue, and its queue.
    fn best(&self, board: &Board<'_>, at: Option<QueueAt>) -> Option<(JobAt, QueueAt)> {
        let mut best: Option<((JobAt, QueueAt), QueueAt)> = None;
        for below in board.tree.below(at) {
            let Some(found) = self.own(*below).or_else(|| self.best(board, Some(*below))) else {
                continue;
            };
            let is_better = best.is_none_or(|(known, beside)| {
                let next = |queue, job| Next {
                    queue,
                    asks: self.asks.get(&job).unwrap_or(&NOTHING),
                    lost: &NOTHING,
                };
                let order = first(
                    &board.tree,
                    &board.total,
                    &next(*below, found.0),
                    &next(beside, known.0),
                );
                order.is_lt()
            });
            if is_better {
                best = Some((found, *below));
            }
        }
        best.map(|(found, _)| found)
    }

    fn own(&self, queue: QueueAt) -> Option<(JobAt, QueueAt)> {
        self.jobs[queue.0].first().map(|place| (place.4, queue))
    }
}

static NOTHING: Amount = Amount { cpu_milli: 0, memory_bytes: 0, gpu_milli: 0 };

/// What a task that has a place, or had one, counts for.
pub(super) fn held(board: &Board<'_>, task: TaskAt) -> Amount {
    let seat = &board.seats[task.0];
    let place = seat.place.as_ref().or(seat.old.as_ref());
    place.map_or_else(|| board.at_most(task), |place| board.amount_on(task, place.node))
}

/// All of them together.
pub(super) fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::default(), |sum, one| sum.plus(&one))
}

/// Jobs of which something could start.
pub(super) fn startable(board: &Board<'_>) -> Vec<JobAt> {
    let jobs = (0..board.world.jobs.len()).map(JobAt);
    let may = |job: &JobAt| board.world.jobs[job.0].may_start;
    jobs.filter(may).filter(|job| !Gang::of(board, *job).without(&NONE).next().is_empty()).collect()
}
