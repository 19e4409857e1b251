//! Who yields to a job that has no room: as few as make room, and each for a reason that holds on
//! every level of the tree. Never lets anybody go in vain: it is tried, and kept or undone.
//!
//! Source: KAI Scheduler, job solver: victims are named one after the other, the most over-served
//! first; after each it is tried whether what they leave on one node is enough; who had to leave is
//! placed again where there is room, and has only moved then.
//! Reads: shares, priorities, run times, what is free. Never: who asked first.
//! Knobs: `runtime_min`, `reclaim_runtime_min` of queues.
//!
//! Example, two nodes of 8 GPUs. Queues a and b are due 8 each; jobs 1 and 2 of b run with 8 each,
//! 2 is younger. Job 3 of a asks for 4: 2 leaves, and 3 is promised its node.

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
    /// They move, and everybody has a place.
    Consolidate,
    /// Another queue is due what they hold.
    Reclaim,
    /// A job of their queue has a higher priority.
    Preempt,
    /// Their gang has been short of tasks for too long.
    Stale,
}

/// A try to find room for one job.
pub(super) struct Quest<'q, 'a> {
    pub board: &'q mut Board<'a>,
    pub job: JobAt,
    pub why: Why,
    /// Who could yield at all in this step.
    pub lists: &'q Lists,
    /// Searches that may still be made in this round.
    pub trials_left: &'q mut u32,
    /// Jobs that may still be moved in this round.
    pub moves_left: &'q mut u32,
}

/// After so many searches in vain it is looked whether all of them together would do.
const TRIALS_BEFORE_PROOF: u32 = 16;
/// So many sets of victims are tried before it is added up what they would leave.
const TRIALS_BEFORE_SUM: u32 = 3;

/// What is known of a quest as a whole.
#[derive(Default)]
struct Proof {
    /// Would all of them together do? They would.
    is_made: bool,
    /// What there is room for as the board stood at its start; the inner `None`: not added up.
    rooms: Option<Option<Rooms>>,
}

impl<'a> Quest<'_, 'a> {
    /// Finds room for the job, makes whoever has to go leave, and promises it its place. `Some`:
    /// who goes, in the order in which the reasons for it hold.
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

    /// Would there be enough in all if everybody went who may be asked? Else nothing is tried.
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

    /// Room for the first so many of these tasks: the bundles of victims with which there is, those
    /// known first.
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

    /// Could there be room if these left? Added up from the third trial on.
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

    /// Would there be a place if everybody went who may be asked? If not, no set of them makes one.
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
