//! The search for victims that make room for one job: as few as possible, each with a reason that
//! holds on every level of the tree. No task is stopped without effect: each set is tried, then
//! kept or rolled back.
//!
//! Source: KAI Scheduler, job solver: victims are named one after the other, the most over-served
//! first; after each it is tried whether what they release on one node is enough; a victim that
//! finds another place has only moved.
//! Reads: shares, priorities, run times, what is free. Never: which job asked first.
//! Knobs: `runtime_min`, `reclaim_runtime_min` of queues.
//!
//! Example, two nodes of 8 GPUs. Queues a and b have a fair share of 8 each; jobs 1 and 2 of b run
//! with 8 each, 2 is younger. Job 3 of a asks for 4: 2 is stopped, and its node is reserved for 3.

use super::amount::Amount;
use super::asking::{asked, may_lose_to};
use super::board::Board;
use super::gang::Gang;
use super::gather::place;
use super::line::sum;
use super::named::Named;
use super::rooms::Rooms;
use super::taking::Claimant;
use super::tree::QueueAt;
use super::victims::{Asked, Lists, Walk, Who};
use super::world::{JobAt, TaskAt};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// They move, and all jobs concerned have a place.
    Consolidate,
    /// Another queue is entitled to what they hold.
    Reclaim,
    /// A job of their queue has a higher priority.
    Preempt,
    /// Their gang has been short of tasks for too long.
    Stale,
}

/// A search for room for one job.
pub(super) struct Quest<'q, 'a> {
    pub board: &'q mut Board<'a>,
    pub job: JobAt,
    pub why: Why,
    /// The candidates of this step.
    pub lists: &'q Lists,
    /// Searches left in this step.
    pub trials_left: &'q mut u32,
    /// Moves left in this round.
    pub moves_left: &'q mut u32,
}

/// After this many failed trials, checks whether all candidates together would make room.
const TRIALS_BEFORE_PROOF: u32 = 16;
/// From this trial on, the room that a set of victims leaves is summed before the set is tried.
const TRIALS_BEFORE_SUM: u32 = 3;

/// What is known of a search as a whole.
#[derive(Default)]
struct Proof {
    /// All candidates together would make room.
    is_made: bool,
    /// The room on the board at the start of the search; the inner `None`: it cannot be summed.
    rooms: Option<Option<Rooms>>,
}

impl<'a> Quest<'_, 'a> {
    /// Finds room for the job, stops its victims and reserves its place. Returns the victims, in
    /// the order in which their reasons hold.
    pub fn go(mut self) -> Option<Vec<TaskAt>> {
        let wanted = Gang::of(self.board, self.job).next();
        if wanted.is_empty() || !self.could_suffice(&wanted) {
            return None;
        }
        let start = self.board.mark();
        let mut chosen: Vec<Vec<TaskAt>> = Vec::new();
        let mut proof = Proof::default();
        for many in 1..=wanted.len() {
            self.board.go_back(start);
            let Some(found) = self.enough_for(&wanted, many, &chosen, &mut proof) else {
                self.board.go_back(start);
                return None;
            };
            chosen = found;
        }
        if self.why == Why::Consolidate {
            *self.moves_left = self.moves_left.saturating_sub(self.jobs_of(&chosen));
        }
        Some(chosen.concat())
    }

    pub(super) fn claimant(&self, tasks: &[TaskAt]) -> Claimant {
        let own = &self.board.world.jobs[self.job.0];
        let asks = sum(tasks.iter().map(|task| self.board.at_most(*task)));
        Claimant { queue: own.queue, asks, is_preemptible: own.is_preemptible }
    }

    /// Whether there would be enough in total if every candidate left. If not, nothing is tried.
    fn could_suffice(&self, wanted: &[TaskAt]) -> bool {
        let board = &*self.board;
        let asks = sum(wanted.iter().map(|task| board.at_least(*task)));
        let own = board.world.jobs[self.job.0].queue;
        let freed = match self.why {
            Why::Consolidate | Why::Stale => Amount::default(),
            Why::Preempt => self.lists.at_most(board, |queue| queue == own),
            Why::Reclaim => self.lists.at_most(board, |queue| queue != own),
        };
        asks.is_within(&board.spare.plus(&freed))
    }

    /// The bundles of victims that make room for the first `many` of these tasks, starting with
    /// those already known.
    fn enough_for(
        &mut self,
        wanted: &[TaskAt],
        many: usize,
        known: &[Vec<TaskAt>],
        proof: &mut Proof,
    ) -> Option<Vec<Vec<TaskAt>>> {
        let (own, why, tasks) = (self.job, self.why, &wanted[..many]);
        let claimant = self.claimant(wanted);
        let may_lose: RefCell<BTreeMap<QueueAt, bool>> = RefCell::default();
        let asked = |board: &Board<'a>, who: Who| {
            let queue = match who {
                Who::Job(job) => board.world.jobs[job.0].queue,
                Who::Unseen(queue, _) => queue,
            };
            let may = || {
                let mut known = may_lose.borrow_mut();
                *known.entry(queue).or_insert_with(|| may_lose_to(board, &claimant, queue, why))
            };
            asked(board, own, why, who, may)
        };
        let taken: BTreeSet<TaskAt> = known.iter().flatten().copied().collect();
        let mut walk = Walk::new(self.board, self.lists, taken.clone(), &asked);
        let mut next = walk.next(self.board);
        if next.is_none() && known.is_empty() {
            return None;
        }
        if let Some(found) = self.attempt(tasks, known) {
            return Some(found);
        }
        let mut named = Named::default();
        let mut tried = 0;
        while let Some(bundle) = next.filter(|_| !self.lists.is_short()) {
            for set in named.add(self.board, bundle) {
                let asked: Vec<Vec<TaskAt>> = known.iter().cloned().chain(named.on(&set)).collect();
                tried += 1;
                if !self.could_do((wanted, many), &asked, (tried, &mut *proof)) {
                    *self.trials_left = self.trials_left.checked_sub(1)?;
                } else if let Some(found) = self.attempt(tasks, &asked) {
                    return Some(found);
                }
                if *self.trials_left == 0 {
                    return None;
                }
            }
            if tried >= TRIALS_BEFORE_PROOF && !proof.is_made {
                proof.is_made = true;
                let rooms = &mut proof.rooms;
                let rooms = rooms.get_or_insert_with(|| Rooms::of(self.board, own, wanted));
                let may = |queue| {
                    let is_asked = why != Why::Preempt || queue == claimant.queue;
                    is_asked && may_lose_to(self.board, &claimant, queue, why)
                };
                let too_few = |rooms: &Rooms| rooms.are_too_few(self.board, wanted.len(), may);
                if rooms.as_ref().is_some_and(too_few) {
                    return None;
                }
                let all = Walk::new(self.board, self.lists, taken.clone(), &asked);
                if !self.would_all_do(wanted, known, all) {
                    return None;
                }
            }
            next = walk.next(self.board);
        }
        None
    }

    /// Whether there could be room if these left. Before the third trial this is not computed.
    fn could_do(
        &self,
        (wanted, many): (&[TaskAt], usize),
        asked: &[Vec<TaskAt>],
        (tried, proof): (u32, &mut Proof),
    ) -> bool {
        if tried < TRIALS_BEFORE_SUM {
            return true;
        }
        let rooms = proof.rooms.get_or_insert_with(|| Rooms::of(self.board, self.job, wanted));
        let gone = || asked.iter().flatten();
        rooms.as_ref().is_none_or(|rooms| rooms.without(self.board, gone()) >= many)
    }

    /// Whether the job would have a place if every candidate left. If not, no set of victims makes
    /// room.
    fn would_all_do<F: Fn(&Board<'a>, Who) -> Asked>(
        &mut self,
        tasks: &[TaskAt],
        known: &[Vec<TaskAt>],
        mut walk: Walk<'_, 'a, F>,
    ) -> bool {
        let mut all: Vec<TaskAt> = known.concat();
        while let Some(bundle) = walk.next(self.board) {
            all.extend(bundle);
        }
        let mark = self.board.mark();
        all.into_iter().for_each(|task| self.board.evict(task));
        let would = place(self.board, self.job, tasks, false).is_ok();
        self.board.go_back(mark);
        would
    }
}
