//! The order of turns: queue by queue down the tree, then the jobs of a queue.
//!
//! Source: KAI Scheduler, job order: priority; below the minimum, at it, above it; submission;
//! name. Victims are taken in the reverse order.

use super::amount::Amount;
use super::board::Board;
use super::gang::{Gang, NONE, Standing};
use super::order::{Next, first};
use super::tree::QueueAt;
use super::world::{JobAt, TaskAt};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A job's position in its queue.
type Place = (Reverse<i64>, Standing, i64, String, JobAt);

/// The jobs that are still to have a turn.
#[derive(Clone, Default)]
pub(super) struct Line {
    jobs: BTreeMap<QueueAt, BTreeSet<Place>>,
    /// For each queue, and for the top (`None`), its children that have a job in line.
    open: BTreeMap<Option<QueueAt>, BTreeSet<QueueAt>>,
    /// The best job below each of them, and the tree's change count when it was found.
    best: BTreeMap<Option<QueueAt>, (u64, Found)>,
    /// What each job asks for in its next turn.
    asks: BTreeMap<JobAt, Amount>,
    /// Tasks stopped in this trial, which may be placed again.
    again: BTreeSet<TaskAt>,
    /// How many times two queues were compared.
    compared: u64,
}

/// A job and its queue.
type Found = (JobAt, QueueAt);

impl Line {
    pub fn new(board: &Board<'_>, jobs: impl IntoIterator<Item = JobAt>) -> Self {
        Self::with_again(board, jobs, BTreeSet::new())
    }

    /// The waiting jobs, and those with tasks that were stopped in this trial.
    pub fn with_again(
        board: &Board<'_>,
        jobs: impl IntoIterator<Item = JobAt>,
        again: BTreeSet<TaskAt>,
    ) -> Self {
        let mut line = Self { again, ..Self::default() };
        jobs.into_iter().for_each(|job| line.push(board, job));
        line
    }

    /// How many times two queues have been compared so far.
    pub const fn compared(&self) -> u64 {
        self.compared
    }

    /// Puts a job in line for its first or next turn.
    pub fn push(&mut self, board: &Board<'_>, job: JobAt) {
        let known = &board.world.jobs[job.0];
        let gang = Gang::of(board, job).again(&self.again);
        // With stopped tasks in line, all jobs go by priority.
        let turn = known.turn.filter(|_| self.again.is_empty());
        let priority = turn.map_or(known.priority, i64::saturating_neg);
        let place = (Reverse(priority), gang.standing(), known.submitted, known.name.clone(), job);
        self.asks.insert(job, sum(gang.next().into_iter().map(|task| board.at_most(task))));
        self.jobs.entry(known.queue).or_default().insert(place);
        self.has_changed(board, known.queue);
    }

    /// Takes the next job out of the line.
    pub fn pop(&mut self, board: &Board<'_>) -> Option<JobAt> {
        let (job, queue) = self.best(board, None)?;
        if let Some(jobs) = self.jobs.get_mut(&queue) {
            jobs.pop_first();
        }
        self.has_changed(board, queue);
        Some(job)
    }

    /// The jobs that had no turn, in unspecified order.
    pub fn left(&self) -> impl Iterator<Item = JobAt> + '_ {
        self.jobs.values().flatten().map(|place| place.4)
    }

    /// Drops the cached best job of the queue's ancestors after jobs were added or removed.
    fn has_changed(&mut self, board: &Board<'_>, queue: QueueAt) {
        let path = board.tree.path(queue);
        for (at, above) in path.iter().zip(path[1..].iter().copied().map(Some).chain([None])) {
            let has_own = self.jobs.get(at).is_some_and(|jobs| !jobs.is_empty());
            let is_open = has_own || self.open.get(&Some(*at)).is_some_and(|open| !open.is_empty());
            let beside = self.open.entry(above).or_default();
            let is_other = if is_open { beside.insert(*at) } else { beside.remove(at) };
            if self.best.remove(&above).is_none() && !is_other {
                // Its ancestors have no cached job either.
                break;
            }
        }
    }

    /// The best job below a queue, and its queue. It stays the best until something below the queue
    /// changes.
    fn best(&mut self, board: &Board<'_>, at: Option<QueueAt>) -> Option<Found> {
        let changed = board.tree.changed(at);
        if let Some((_, found)) = self.best.get(&at).filter(|(known, _)| *known >= changed) {
            return Some(*found);
        }
        let mut best: Option<(Found, QueueAt)> = None;
        for below in self.open.get(&at).cloned().unwrap_or_default() {
            let found = self.own(below).or_else(|| self.best(board, Some(below)));
            let Some(found) = found else { continue };
            let is_better = best.is_none_or(|(known, beside)| {
                let next = |queue, job| Next {
                    queue,
                    asks: self.asks.get(&job).unwrap_or(&NOTHING),
                    lost: &NOTHING,
                };
                let (own, other) = (next(below, found.0), next(beside, known.0));
                first(&board.tree, &board.total, &own, &other).is_lt()
            });
            self.compared += u64::from(best.is_some());
            if is_better {
                best = Some((found, below));
            }
        }
        let (found, _) = best?;
        self.best.insert(at, (changed, found));
        Some(found)
    }

    fn own(&self, queue: QueueAt) -> Option<Found> {
        Some((self.jobs.get(&queue)?.first()?.4, queue))
    }
}

static NOTHING: Amount = Amount { cpu_milli: 0, memory_bytes: 0, gpu_milli: 0 };

/// What a task counts for at its place, or at the place it had.
pub(super) fn held(board: &Board<'_>, task: TaskAt) -> Amount {
    let seat = &board.seats[task.0];
    let place = seat.place.as_ref().or(seat.old.as_ref());
    place.map_or_else(|| board.at_most(task), |place| board.amount_on(task, place.node))
}

pub(super) fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::default(), |sum, one| sum.plus(&one))
}

/// Jobs of which some tasks could start.
pub(super) fn startable(board: &Board<'_>) -> Vec<JobAt> {
    let jobs = (0..board.world.jobs.len()).map(JobAt);
    let may = |job: &JobAt| board.world.jobs[job.0].may_start;
    jobs.filter(may).filter(|job| !Gang::of(board, *job).without(&NONE).next().is_empty()).collect()
}
