//! Who could be asked to yield, who yields first first. Worked out once for a step of a round; each
//! job that asks walks along it from the end. Never says whether that is enough.
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

/// A job's place in its queue, as in [`super::line`].
type Place<'n> = (Reverse<i64>, Standing, i64, &'n str, JobAt);

/// Without where the world has it.
pub(super) type Rank<'n> = (Reverse<i64>, Standing, i64, &'n str);

pub(super) struct Lists {
    /// Preemptible jobs that hold something, by queue, who yields first last. Only those that come
    /// before all who are unseen and might be asked.
    jobs: Vec<Vec<(JobAt, Standing)>>,
    /// Queues of which somebody could, unseen or not.
    any: Vec<QueueAt>,
    /// Is there anybody to ask, or unseen, in each queue or below it?
    is_any_below: Vec<bool>,
    /// Would somebody unseen have had to be asked? What was found then is nothing.
    is_short: Cell<bool>,
}

/// Is there anything of it to take?
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
    /// As the board is.
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

    /// Would somebody who is not named in the world have had to be asked?
    pub const fn is_short(&self) -> bool {
        self.is_short.get()
    }

    /// Leaves out who is at the end and on its way out, for good: each walk would pass it.
    pub fn shorten(&mut self, board: &Board<'_>) {
        let goes = |task: &TaskAt| board.seats[task.0].state == State::Leaving;
        for list in &mut self.jobs {
            while list.pop_if(|(job, _)| board.world.jobs[job.0].tasks.iter().all(goes)).is_some() {
            }
        }
    }

    /// What queues hold of whom somebody could be asked, at most.
    pub fn at_most(&self, board: &Board<'_>, may: impl Fn(QueueAt) -> bool) -> Amount {
        let queues = self.any.iter().copied();
        sum(queues.filter(|at| may(*at)).map(|at| {
            let account = &board.tree.accounts[at.0];
            account.allocated.minus(&account.firm)
        }))
    }
}

/// Does who stands at this place yield before who has that rank?
fn is_before(place: &Place<'_>, other: &Rank<'_>) -> bool {
    (place.0, place.1, place.2, place.3) > *other
}

/// Who might be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Job(JobAt),
    /// Somebody of this queue and priority or a higher one whom the world does not name.
    Unseen(QueueAt, i64),
}

/// What may be said of a job that is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// It may be asked.
    Yes,
    No,
    /// Nor may any of its queue that comes after it.
    NobodyElse,
}

/// A job, and its queue.
type Found = (JobAt, QueueAt);

/// One walk along the lists. The board is the same at each step of it.
pub(super) struct Walk<'l, 'n, F> {
    lists: &'l Lists,
    /// How many of each list are left; of others all are.
    left: BTreeMap<QueueAt, usize>,
    /// Queues of which nobody else may be asked, unseen or not.
    is_done: BTreeSet<QueueAt>,
    /// Jobs of which more can be taken, or that stand elsewhere than they did.
    back: BTreeMap<QueueAt, BTreeSet<Place<'n>>>,
    taken: BTreeSet<TaskAt>,
    /// What queues have lost of it.
    lost: BTreeMap<QueueAt, Amount>,
    /// The best below each queue since something of it went last.
    best: BTreeMap<Option<QueueAt>, Option<Found>>,
    asked: F,
    known: BTreeMap<JobAt, Asked>,
}

impl<'l, 'n, F: Fn(&Board<'n>, Who) -> Asked> Walk<'l, 'n, F> {
    /// From the end; `taken` are gone already.
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

    /// Their queues have lost these.
    fn lose<'t>(&mut self, board: &Board<'n>, tasks: impl IntoIterator<Item = &'t TaskAt>) {
        for task in tasks {
            let lost = held(board, *task);
            for at in board.tree.path(board.world.jobs[board.world.job_of[task.0].0].queue) {
                let sum = self.lost.entry(*at).or_default();
                *sum = sum.plus(&lost);
            }
        }
    }

    /// What yields next: what of which job.
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

    /// How many of a queue's list are left.
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

    /// The last job of a queue that may be asked.
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

    /// Is who comes next in a queue whose list is at its end named in the world?
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

    /// The best job below a queue, and its queue.
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
