//! The line of waiting jobs: the queue furthest below its share goes first, and inside a queue the
//! job of the highest priority that has waited longest. After each turn only the ranks on the path
//! of one queue change, and only the first job of each class is looked at.
//!
//! Source: KAI Scheduler, job order by levels of the queue tree: a job's place is that of its queue
//! among the queue's siblings, then that of the job in its queue.

use super::accounts::{Accounts, ClassAt, ClassFacts};
use super::queue_jobs::{Place, QueueJobs, Standing};
use super::rank::Ranks;
use crate::model::job::WaitingJob;
use crate::model::shape_cache::RoomIndex;
use crate::model::shares::Amount;
use crate::model::shares::tree::QueueAt;
use crate::model::wait_queue::ClassId;
use crate::policy::sharing::order::Rank;
use crate::policy::sharing::taking::Claimant;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub queue: QueueAt,
    pub class: ClassId,
    /// The place of its class in [`Accounts`].
    pub at: ClassAt,
    pub standing: Standing,
    /// Its place among the jobs of its queue; the smaller goes first.
    pub place: (Reverse<i64>, Time),
}

impl Turn<'_> {
    /// What a job that waits alone claims.
    pub fn claimant(&self, accounts: &Accounts<'_>) -> Claimant {
        let ClassFacts { asks, is_preemptible, .. } = *accounts.facts(self.at);
        Claimant { queue: self.queue, asks: asks.least, is_preemptible }
    }
}

/// A job that stands for its class, and what its queue would ask for with it.
struct First<'a> {
    turn: Turn<'a>,
    room: RoomIndex,
    asks: Amount,
    /// Whether it could have a place even if its room is full.
    is_other: bool,
}

pub(super) struct Line<'a> {
    pub ranks: Ranks,
    /// The jobs that are or were in line: the first of each class, and jobs that could grow.
    firsts: Vec<First<'a>>,
    /// For each queue, those of its own jobs that are in line.
    jobs: Vec<QueueJobs>,
    /// No queue before this one has a job of its own in line.
    first_queue: usize,
    /// What is asked for by the best job below each queue.
    next: Vec<Option<Amount>>,
    /// The place of the first job of each class that has or had several.
    heads: BTreeMap<ClassId, Place>,
    /// The jobs of each class behind its first.
    behind: BTreeMap<ClassId, Box<dyn Iterator<Item = &'a Arc<WaitingJob>> + 'a>>,
    /// The turns of jobs in queues that sort by more than priority and submission.
    turns: &'a BTreeMap<JobKey, i64>,
    /// The jobs in line that wait alone, by what they need room for, without rooms that are full.
    open: BTreeMap<RoomIndex, usize>,
    full: BTreeSet<RoomIndex>,
    /// The other jobs in line: components of sets, and jobs that could grow.
    others: usize,
    /// Whether the order of turns no longer matters.
    is_unordered: bool,
}

impl<'a> Line<'a> {
    /// The line of all classes that `may` have a turn.
    pub fn new(
        state: &RoundState<'a>,
        accounts: &Accounts<'a>,
        turns: &'a BTreeMap<JobKey, i64>,
        may: impl Fn(ClassAt) -> bool,
    ) -> Self {
        let queues = accounts.tree.terms.len();
        let mut line = Self {
            ranks: Ranks::none(&accounts.tree),
            firsts: Vec::with_capacity(accounts.classes().len()),
            jobs: vec![QueueJobs::default(); queues],
            first_queue: 0,
            next: vec![None; queues],
            heads: BTreeMap::new(),
            behind: BTreeMap::new(),
            turns,
            open: BTreeMap::new(),
            full: BTreeSet::new(),
            others: 0,
            is_unordered: false,
        };
        for (at, class) in accounts.classes() {
            let (id, first, jobs) = (class.id, class.first, class.jobs);
            if !may(at) {
                continue;
            }
            if jobs > 1
                && let Some(class) = state.snapshot.wait_queue.class(id)
            {
                line.behind.insert(id, Box::new(class.jobs().skip(1)));
            }
            let (queue, standing) = (class.facts.queue, Standing::Waits);
            let place = (Reverse(0), Time(0));
            line.put(accounts, Turn { job: first, queue, class: id, at, standing, place });
        }
        let tree = &accounts.tree;
        let mut is_in_line = vec![false; queues];
        for own in (0..queues).map(QueueAt).filter(|at| !line.jobs[at.0].is_empty()) {
            for at in tree.path(own) {
                if is_in_line[at.0] {
                    break;
                }
                is_in_line[at.0] = true;
            }
        }
        let ranked = tree.children_first().iter().filter(|at| is_in_line[at.0]);
        ranked.for_each(|at| line.rank(accounts, *at));
        line
    }

    fn put(&mut self, accounts: &Accounts<'a>, turn: Turn<'a>) {
        let job = turn.job;
        let ClassFacts { asks, room, priority, .. } = *accounts.facts(turn.at);
        let asks = if turn.standing == Standing::Waits { asks.least } else { asks.each };
        let by_turn = self.turns.get(&job.key).map(|turn| turn.saturating_neg());
        let place = Place {
            priority: Reverse(by_turn.unwrap_or(priority)),
            standing: turn.standing,
            since: job.since(),
            key: job.key,
        };
        if turn.standing == Standing::Waits && self.behind.contains_key(&turn.class) {
            self.heads.insert(turn.class, place);
        }
        let turn = Turn { place: (place.priority, place.since), ..turn };
        let is_other = turn.standing != Standing::Waits || job.together.is_some();
        if is_other {
            self.others += 1;
        } else if !self.full.contains(&room) {
            *self.open.entry(room).or_default() += 1;
        }
        let queue = turn.queue.0;
        self.first_queue = self.first_queue.min(queue);
        self.jobs[queue].insert(place, self.firsts.len());
        self.firsts.push(First { turn, room, asks, is_other });
    }

    /// Counts a job that left the line.
    fn count_departure(&mut self, at: usize) {
        let first = &self.firsts[at];
        let room = first.room;
        if first.is_other {
            self.others -= 1;
        } else if let Some(count) = self.open.get_mut(&room) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&room);
            }
        }
    }

    /// Notes that no waiting job that needs this room has a place in this round.
    pub fn mark_room_full(&mut self, room: RoomIndex) {
        self.open.remove(&room);
        self.full.insert(room);
    }

    /// Whether no job in line has a place.
    pub fn has_no_room(&self) -> bool {
        self.open.is_empty() && self.others == 0
    }

    /// From now on jobs have their turns in any order, which saves ranking their queues.
    pub fn allow_any_order(&mut self) {
        self.is_unordered = true;
    }

    /// Whether the job of this turn is in line, or another of its class.
    pub fn has(&self, turn: &Turn<'a>) -> bool {
        let Turn { job, queue, class, standing, place: (priority, since), .. } = *turn;
        let own = Place { priority, standing, since, key: job.key };
        self.jobs[queue.0].contains(self.heads.get(&class).unwrap_or(&own))
    }

    /// Whether the class has only one job.
    pub fn has_single_job(&self, class: ClassId) -> bool {
        !self.behind.contains_key(&class)
    }

    /// Puts a job that has started in line for more tasks. `standing`: what it has by now.
    pub fn insert_growing(&mut self, accounts: &Accounts<'a>, turn: Turn<'a>, standing: Standing) {
        self.put(accounts, Turn { standing, ..turn });
        self.rerank_queue(accounts, turn.queue);
    }

    /// Takes the next job out of the line; the next job of its class takes its place.
    pub fn pop(&mut self, accounts: &Accounts<'a>) -> Option<Turn<'a>> {
        let queue = if self.is_unordered { self.any_queue()? } else { self.next_queue()?.0 };
        let at = self.jobs[queue].pop_first()?;
        self.count_departure(at);
        let turn = self.firsts[at].turn;
        if turn.standing == Standing::Waits
            && let Some(job) = self.behind.get_mut(&turn.class).and_then(Iterator::next)
        {
            self.put(accounts, Turn { job, ..turn });
        }
        self.rerank_queue(accounts, turn.queue);
        Some(turn)
    }

    /// The first queue with a job of its own in line.
    fn any_queue(&mut self) -> Option<usize> {
        let more = self.jobs.get(self.first_queue..)?.iter().position(|jobs| !jobs.is_empty());
        self.first_queue += more?;
        Some(self.first_queue)
    }

    /// The queue whose turn is next.
    fn next_queue(&self) -> Option<QueueAt> {
        let mut at = None;
        loop {
            let first = self.ranks.first_below(at)?;
            if self.first_of(first).is_some() {
                return Some(first);
            }
            at = Some(first);
        }
    }

    /// What the first job in line of a queue itself asks for.
    fn first_of(&self, queue: QueueAt) -> Option<Amount> {
        self.jobs[queue.0].first().map(|at| self.firsts[at].asks)
    }

    /// Takes the rest of a class out of the line.
    pub fn drop_class(&mut self, accounts: &Accounts<'a>, turn: &Turn<'a>) {
        self.behind.remove(&turn.class);
        let head = self.heads.remove(&turn.class);
        let next = head.and_then(|head| self.jobs[turn.queue.0].remove(&head));
        if let Some(next) = next {
            self.count_departure(next);
            self.rerank_queue(accounts, turn.queue);
        }
    }

    /// Ranks a queue and its ancestors again, after its jobs or what it holds changed.
    pub fn rerank_queue(&mut self, accounts: &Accounts<'a>, queue: QueueAt) {
        if !self.is_unordered {
            accounts.tree.path(queue).iter().for_each(|at| self.rank(accounts, *at));
        }
    }

    /// Ranks one queue again, after those below it.
    fn rank(&mut self, accounts: &Accounts<'a>, at: QueueAt) {
        let tree = &accounts.tree;
        let own = self.first_of(at);
        let below = || self.ranks.first_below(Some(at)).and_then(|at| self.next[at.0]);
        let next = own.or_else(below);
        self.next[at.0] = next;
        let held = &tree.accounts[at.0].allocated;
        let rank = next.map(|asks| Rank::of(tree, &accounts.total, at, (held, &asks)));
        self.ranks.set(tree, at, rank);
    }
}
