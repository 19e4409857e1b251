//! Whose turn it is: queues level by level, and the jobs of a queue. The same backwards, for who
//! yields first. Never what becomes of a turn.
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
    /// What was taken of each queue: only who yields loses.
    lost: Vec<Amount>,
    is_backwards: bool,
    /// Tasks named as victims so far.
    taken: BTreeSet<TaskAt>,
    /// Tasks that left in this trial and may be placed once more.
    again: BTreeSet<TaskAt>,
}

impl Line {
    pub fn new(board: &Board<'_>, jobs: impl IntoIterator<Item = JobAt>) -> Self {
        Self::of(board, jobs, false, BTreeSet::new())
    }

    /// Those who wait, and those who had to leave in this trial.
    pub fn with_again(
        board: &Board<'_>,
        jobs: impl IntoIterator<Item = JobAt>,
        again: BTreeSet<TaskAt>,
    ) -> Self {
        Self::of(board, jobs, false, again)
    }

    /// Who yields first first.
    pub fn victims(
        board: &Board<'_>,
        jobs: impl IntoIterator<Item = JobAt>,
        taken: BTreeSet<TaskAt>,
    ) -> Self {
        let mut line = Self::of(board, [], true, BTreeSet::new());
        line.taken = taken;
        jobs.into_iter().for_each(|job| line.push(board, job));
        line
    }

    fn of(
        board: &Board<'_>,
        jobs: impl IntoIterator<Item = JobAt>,
        is_backwards: bool,
        again: BTreeSet<TaskAt>,
    ) -> Self {
        let queues = board.tree.accounts.len();
        let mut line = Self {
            jobs: vec![BTreeSet::new(); queues],
            asks: BTreeMap::new(),
            lost: vec![Amount::default(); queues],
            is_backwards,
            taken: BTreeSet::new(),
            again,
        };
        jobs.into_iter().for_each(|job| line.push(board, job));
        line
    }

    /// A job has a turn, or another one.
    pub fn push(&mut self, board: &Board<'_>, job: JobAt) {
        let known = &board.world.jobs[job.0];
        let gang = Gang::of(board, job).without(&self.taken).again(&self.again);
        let place =
            (Reverse(known.priority), gang.standing(), known.submitted, known.name.clone(), job);
        if !self.is_backwards {
            self.asks.insert(job, sum(gang.next().into_iter().map(|task| board.at_most(task))));
        }
        self.jobs[known.queue.0].insert(place);
    }

    /// Takes the next job out of the line.
    pub fn pop(&mut self, board: &Board<'_>) -> Option<JobAt> {
        let (job, queue) = self.best(board, None)?;
        let jobs = &mut self.jobs[queue.0];
        if self.is_backwards {
            jobs.pop_last()
        } else {
            jobs.pop_first()
        };
        Some(job)
    }

    /// Takes what yields next: what of which job.
    pub fn pop_victims(&mut self, board: &Board<'_>) -> Option<(JobAt, Vec<TaskAt>)> {
        loop {
            let job = self.pop(board)?;
            let gang = Gang::of(board, job).without(&self.taken);
            let (tasks, has_more) = gang.first_to_go();
            if tasks.is_empty() {
                continue;
            }
            self.taken.extend(tasks.iter().copied());
            let lost = sum(tasks.iter().map(|task| held(board, *task)));
            for at in board.tree.path(board.world.jobs[job.0].queue) {
                self.lost[at.0] = self.lost[at.0].plus(&lost);
            }
            if has_more {
                self.push(board, job);
            }
            return Some((job, tasks));
        }
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
                    lost: &self.lost[queue.0],
                };
                let order = first(
                    &board.tree,
                    &board.total,
                    &next(*below, found.0),
                    &next(beside, known.0),
                );
                if self.is_backwards { order.is_gt() } else { order.is_lt() }
            });
            if is_better {
                best = Some((found, *below));
            }
        }
        best.map(|(found, _)| found)
    }

    fn own(&self, queue: QueueAt) -> Option<(JobAt, QueueAt)> {
        let jobs = &self.jobs[queue.0];
        let next = if self.is_backwards { jobs.last() } else { jobs.first() };
        next.map(|place| (place.4, queue))
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
    jobs.filter(|job| !Gang::of(board, *job).without(&NONE).next().is_empty()).collect()
}
