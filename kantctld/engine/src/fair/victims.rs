//! The preemption candidates of one step, in preemption order. The lists are made once per step;
//! each job that asks walks along them from the end.
//!
//! Source: KAI Scheduler: the reverse of the order in which jobs have their turns.

use super::amount::Amount;
use super::board::{Board, State};
use super::gang::{Gang, Standing};
use super::line::{held, sum};
use super::order::{Next, first};
use super::tree::QueueAt;
use super::world::{JobAt, TaskAt};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A job's position in its queue, as in [`super::line`].
type Place<'n> = (Reverse<i64>, Standing, i64, &'n str, JobAt);

/// The same without the job's index.
pub(super) type Rank<'n> = (Reverse<i64>, Standing, i64, &'n str);

pub(super) struct Lists {
    /// Preemptible jobs that hold something, by queue; the last is preempted first. Only jobs that
    /// come before every unnamed candidate are listed.
    jobs: Vec<Vec<(JobAt, Standing)>>,
    /// Queues with a candidate, named or not.
    any: Vec<QueueAt>,
    /// For each queue, whether it or a descendant has a candidate, named or not.
    is_any_below: Vec<bool>,
    /// Whether an unnamed job would have had to be considered; then the result is void.
    is_short: Cell<bool>,
}

/// Whether the job has any task to give up.
pub(super) fn holds(board: &Board<'_>, job: JobAt) -> bool {
    let is_there =
        |task: &TaskAt| matches!(board.seats[task.0].state, State::Running | State::Promised);
    board.world.jobs[job.0].tasks.iter().any(is_there)
}

fn place<'n>(board: &Board<'n>, job: JobAt, standing: Standing) -> Place<'n> {
    let known = &board.world.jobs[job.0];
    (Reverse(known.priority), standing, known.loses_since(), &known.name, job)
}

impl Lists {
    /// The lists for the present board.
    pub fn new(board: &Board<'_>) -> Self {
        let mut jobs: Vec<Vec<(JobAt, Standing)>> = vec![Vec::new(); board.tree.accounts.len()];
        let queues = (0..jobs.len()).map(QueueAt);
        let mut is_any: Vec<bool> = queues.map(|at| board.world.unseen.yields(at)).collect();
        for (at, job) in board.world.jobs.iter().enumerate() {
            if job.is_preemptible && !job.stays && holds(board, JobAt(at)) {
                is_any[job.queue.0] = true;
                let standing = Gang::of(board, JobAt(at)).standing();
                let place = place(board, JobAt(at), standing);
                let unseen = board.world.unseen.next(job.queue);
                if unseen.is_none_or(|unseen| is_before(&place, &unseen.rank())) {
                    jobs[job.queue.0].push((JobAt(at), standing));
                }
            }
        }
        for list in &mut jobs {
            list.sort_by_key(|(job, standing)| place(board, *job, *standing));
        }
        let any = (0..jobs.len()).map(QueueAt).filter(|at| is_any[at.0]).collect();
        let mut is_any_below = vec![false; jobs.len()];
        let asked = |at: QueueAt| !jobs[at.0].is_empty() || board.world.unseen.next(at).is_some();
        for at in (0..jobs.len()).map(QueueAt).filter(|at| asked(*at)) {
            board.tree.path(at).iter().for_each(|at| is_any_below[at.0] = true);
        }
        Self { jobs, any, is_any_below, is_short: Cell::new(false) }
    }

    /// Whether an unnamed job would have had to be considered.
    pub const fn is_short(&self) -> bool {
        self.is_short.get()
    }

    /// Drops the jobs at the end of each list that are already leaving, so that no walk visits
    /// them.
    pub fn shorten(&mut self, board: &Board<'_>) {
        let goes = |task: &TaskAt| board.seats[task.0].state == State::Leaving;
        for list in &mut self.jobs {
            while list.pop_if(|(job, _)| board.world.jobs[job.0].tasks.iter().all(goes)).is_some() {
            }
        }
    }

    /// An upper bound on what the candidates in these queues hold.
    pub fn at_most(&self, board: &Board<'_>, may: impl Fn(QueueAt) -> bool) -> Amount {
        let queues = self.any.iter().copied();
        sum(queues.filter(|at| may(*at)).map(|at| {
            let account = &board.tree.accounts[at.0];
            account.allocated.minus(&account.firm)
        }))
    }
}

/// Whether the job at this position is preempted before the one with that rank.
fn is_before(place: &Place<'_>, other: &Rank<'_>) -> bool {
    (place.0, place.1, place.2, place.3) > *other
}

/// A preemption candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Job(JobAt),
    /// Any unnamed job of this queue, with this priority or a higher one.
    Unseen(QueueAt, i64),
}

/// Whether the next candidate may be preempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Yes,
    No,
    /// Neither it nor any later candidate of its queue.
    NobodyElse,
}

/// A job and its queue.
type Found = (JobAt, QueueAt);

/// One walk along the lists, on an unchanging board.
pub(super) struct Walk<'l, 'n, F> {
    lists: &'l Lists,
    /// How many of each list are left. A queue without an entry has all of its list left.
    left: BTreeMap<QueueAt, usize>,
    /// Queues without further candidates, named or not.
    is_done: BTreeSet<QueueAt>,
    /// Jobs that have more to give, or whose position has changed.
    back: BTreeMap<QueueAt, BTreeSet<Place<'n>>>,
    taken: BTreeSet<TaskAt>,
    /// What each queue has lost to `taken`.
    lost: BTreeMap<QueueAt, Amount>,
    /// The best candidate below each queue, cached until the queue or a descendant loses something.
    best: BTreeMap<Option<QueueAt>, Option<Found>>,
    asked: F,
    known: BTreeMap<JobAt, Asked>,
}

impl<'l, 'n, F: Fn(&Board<'n>, Who) -> Asked> Walk<'l, 'n, F> {
    /// Starts at the end of the lists; the tasks in `taken` count as gone.
    pub fn new(board: &Board<'n>, lists: &'l Lists, taken: BTreeSet<TaskAt>, asked: F) -> Self {
        let mut walk = Self {
            left: BTreeMap::new(),
            is_done: BTreeSet::new(),
            back: BTreeMap::new(),
            lost: BTreeMap::new(),
            best: BTreeMap::new(),
            known: BTreeMap::new(),
            lists,
            taken: BTreeSet::new(),
            asked,
        };
        walk.lose(board, &taken);
        walk.taken = taken;
        walk
    }

    /// Counts these tasks as lost by their queues.
    fn lose<'t>(&mut self, board: &Board<'n>, tasks: impl IntoIterator<Item = &'t TaskAt>) {
        for task in tasks {
            let lost = held(board, *task);
            for at in board.tree.path(board.world.jobs[board.world.job_of[task.0].0].queue) {
                let sum = self.lost.entry(*at).or_default();
                *sum = sum.plus(&lost);
            }
        }
    }

    /// The tasks that are preempted next: some or all tasks of one job.
    pub fn next(&mut self, board: &Board<'n>) -> Option<Vec<TaskAt>> {
        loop {
            let (job, queue) = self.best(board, None)?;
            let path = board.tree.path(queue).iter().copied().map(Some);
            path.chain([None]).for_each(|at| _ = self.best.remove(&at));
            let back = self.back.entry(queue).or_default();
            if back.last().is_some_and(|place| place.4 == job) {
                back.pop_last();
            } else {
                let left = self.left(queue);
                self.left.insert(queue, left.saturating_sub(1));
            }
            let gang = Gang::of(board, job).without(&self.taken);
            let (tasks, has_more) = gang.first_to_go();
            if tasks.is_empty() {
                continue;
            }
            self.taken.extend(tasks.iter().copied());
            self.lose(board, &tasks);
            if has_more {
                self.put_back(board, queue, job);
            }
            return Some(tasks);
        }
    }

    /// How many jobs of a queue's list are left.
    fn left(&self, queue: QueueAt) -> usize {
        self.left.get(&queue).copied().unwrap_or(self.lists.jobs[queue.0].len())
    }

    fn last_back(&self, queue: QueueAt) -> Option<&Place<'n>> {
        self.back.get(&queue)?.last()
    }

    fn put_back(&mut self, board: &Board<'n>, queue: QueueAt, job: JobAt) {
        let standing = Gang::of(board, job).without(&self.taken).standing();
        self.back.entry(queue).or_default().insert(place(board, job, standing));
    }

    /// The last job of a queue that may be preempted.
    fn own(&mut self, board: &Board<'n>, queue: QueueAt) -> Option<JobAt> {
        while let Some(at) = self.left(queue).checked_sub(1) {
            let (job, standing) = self.lists.jobs[queue.0][at];
            let asked = match self.known.get(&job) {
                Some(known) => *known,
                None if !holds(board, job) => Asked::No,
                None => (self.asked)(board, Who::Job(job)),
            };
            match asked {
                Asked::No => _ = self.left.insert(queue, at),
                Asked::NobodyElse => {
                    self.left.insert(queue, 0);
                    self.is_done.insert(queue);
                }
                Asked::Yes => {
                    self.known.insert(job, asked);
                    let now = Gang::of(board, job).without(&self.taken).standing();
                    if now != standing {
                        self.left.insert(queue, at);
                        self.put_back(board, queue, job);
                        continue;
                    }
                    let own = place(board, job, standing);
                    let back = self.last_back(queue).filter(|back| **back > own);
                    return Some(back.map_or(job, |back| back.4));
                }
            }
        }
        self.seen(board, queue).then(|| self.last_back(queue).map(|back| back.4))?
    }

    /// Whether no unnamed job of a queue whose list is used up is the next candidate. If one is,
    /// marks the lists as short.
    fn seen(&mut self, board: &Board<'n>, queue: QueueAt) -> bool {
        let unseen = board.world.unseen.next(queue).filter(|_| !self.is_done.contains(&queue));
        let Some(unseen) = unseen else { return true };
        let back = self.last_back(queue);
        if back.is_some_and(|back| is_before(back, &unseen.rank())) {
            return true;
        }
        let asked = (self.asked)(board, Who::Unseen(queue, unseen.priority));
        if asked != Asked::Yes {
            self.is_done.insert(queue);
        }
        let is_short = asked == Asked::Yes || self.lists.is_short();
        self.lists.is_short.set(is_short);
        asked != Asked::Yes
    }

    /// The best candidate below a queue, and its queue.
    fn best(&mut self, board: &Board<'n>, at: Option<QueueAt>) -> Option<Found> {
        if let Some(known) = self.best.get(&at) {
            return *known;
        }
        let mut best: Option<(Found, QueueAt)> = None;
        let lists = self.lists;
        for below in board.tree.below(at).iter().filter(|at| lists.is_any_below[at.0]) {
            let own = self.own(board, *below).map(|job| (job, *below));
            let Some(found) = own.or_else(|| self.best(board, Some(*below))) else { continue };
            let is_better = best.is_none_or(|(_, beside)| {
                let none = Amount::default();
                let lost = |queue| self.lost.get(&queue).unwrap_or(&none);
                let next = |queue| Next { queue, asks: &none, lost: lost(queue) };
                first(&board.tree, &board.total, &next(*below), &next(beside)).is_gt()
            });
            if is_better {
                best = Some((found, *below));
            }
        }
        let found = best.map(|(found, _)| found);
        self.best.insert(at, found);
        found
    }
}
