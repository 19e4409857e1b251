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

/// Who could yield.
pub(super) struct Lists {
    /// Preemptible jobs that hold something, by queue, who yields first last. Only those that come
    /// before all who are unseen and might be asked.
    jobs: Vec<Vec<(JobAt, Standing)>>,
    /// Could anybody of each queue, unseen or not?
    is_any: Vec<bool>,
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
        Self { jobs, is_any, is_short: Cell::new(false) }
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
        let queues = (0..self.jobs.len()).map(QueueAt).filter(|at| self.is_any[at.0]);
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
    /// This job.
    Job(JobAt),
    /// Somebody of this queue and priority or a higher one whom the world does not name.
    Unseen(QueueAt, i64),
}

/// What may be said of a job that is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// It may be asked.
    Yes,
    /// It may not.
    No,
    /// Nor may any of its queue that comes after it.
    NobodyElse,
}

/// One walk along the lists.
pub(super) struct Walk<'l, 'n, F> {
    lists: &'l Lists,
    /// How many of each list are left.
    left: Vec<usize>,
    /// Queues of which nobody else may be asked, unseen or not.
    is_done: Vec<bool>,
    /// Jobs of which more can be taken, or that stand elsewhere than they did.
    back: Vec<BTreeSet<Place<'n>>>,
    taken: BTreeSet<TaskAt>,
    lost: Vec<Amount>,
    asked: F,
    known: BTreeMap<JobAt, Asked>,
}

impl<'l, 'n, F: Fn(&Board<'n>, Who) -> Asked> Walk<'l, 'n, F> {
    /// From the end; `taken` are gone already.
    pub fn new(lists: &'l Lists, taken: BTreeSet<TaskAt>, asked: F) -> Self {
        Self {
            left: lists.jobs.iter().map(Vec::len).collect(),
            is_done: vec![false; lists.jobs.len()],
            back: vec![BTreeSet::new(); lists.jobs.len()],
            lost: vec![Amount::default(); lists.jobs.len()],
            known: BTreeMap::new(),
            lists,
            taken,
            asked,
        }
    }

    /// What yields next: what of which job.
    pub fn next(&mut self, board: &Board<'n>) -> Option<Vec<TaskAt>> {
        loop {
            let (job, queue) = self.best(board, None)?;
            if self.back[queue.0].last().is_some_and(|place| place.4 == job) {
                self.back[queue.0].pop_last();
            } else {
                self.left[queue.0] -= 1;
            }
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
                self.put_back(board, queue, job);
            }
            return Some(tasks);
        }
    }

    fn put_back(&mut self, board: &Board<'n>, queue: QueueAt, job: JobAt) {
        let standing = Gang::of(board, job).without(&self.taken).standing();
        self.back[queue.0].insert(place(board, job, standing));
    }

    /// The last job of a queue that may be asked.
    fn own(&mut self, board: &Board<'n>, queue: QueueAt) -> Option<JobAt> {
        while let Some(at) = self.left[queue.0].checked_sub(1) {
            let (job, standing) = self.lists.jobs[queue.0][at];
            let asked = match self.known.get(&job) {
                Some(known) => *known,
                None if !holds(board, job) => Asked::No,
                None => (self.asked)(board, Who::Job(job)),
            };
            match asked {
                Asked::No => self.left[queue.0] = at,
                Asked::NobodyElse => (self.left[queue.0], self.is_done[queue.0]) = (0, true),
                Asked::Yes => {
                    self.known.insert(job, asked);
                    let now = Gang::of(board, job).without(&self.taken).standing();
                    if now != standing {
                        self.left[queue.0] = at;
                        self.put_back(board, queue, job);
                        continue;
                    }
                    let own = place(board, job, standing);
                    let back = self.back[queue.0].last().filter(|back| **back > own);
                    return Some(back.map_or(job, |back| back.4));
                }
            }
        }
        self.seen(board, queue).then(|| self.back[queue.0].last().map(|back| back.4))?
    }

    /// Is who comes next in a queue whose list is at its end named in the world?
    fn seen(&mut self, board: &Board<'n>, queue: QueueAt) -> bool {
        let unseen = board.world.unseen.next(queue).filter(|_| !self.is_done[queue.0]);
        let Some(unseen) = unseen else { return true };
        let back = self.back[queue.0].last();
        if back.is_some_and(|back| is_before(back, &unseen.rank())) {
            return true;
        }
        let asked = (self.asked)(board, Who::Unseen(queue, unseen.priority));
        self.is_done[queue.0] = asked != Asked::Yes;
        let is_short = asked == Asked::Yes || self.lists.is_short();
        self.lists.is_short.set(is_short);
        self.is_done[queue.0]
    }

    /// The best job below a queue, and its queue.
    fn best(&mut self, board: &Board<'n>, at: Option<QueueAt>) -> Option<(JobAt, QueueAt)> {
        let mut best: Option<((JobAt, QueueAt), QueueAt)> = None;
        for below in board.tree.below(at) {
            let own = self.own(board, *below).map(|job| (job, *below));
            let Some(found) = own.or_else(|| self.best(board, Some(*below))) else { continue };
            let is_better = best.is_none_or(|(_, beside)| {
                let none = Amount::default();
                let next = |queue: QueueAt| Next { queue, asks: &none, lost: &self.lost[queue.0] };
                first(&board.tree, &board.total, &next(*below), &next(beside)).is_gt()
            });
            if is_better {
                best = Some((found, *below));
            }
        }
        best.map(|(found, _)| found)
    }
}
