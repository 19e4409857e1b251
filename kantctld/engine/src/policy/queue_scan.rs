//! Step 1 in progress: which job has the next turn. Kinds of jobs are ordered by their first job.
//! If no job of a class or kind can start, the whole class or kind is skipped.

use crate::model::job::WaitingJob;
use crate::model::queues::Queues;
use crate::model::rank::Rank;
use crate::model::snapshot::Snapshot;
use crate::model::wait_queue::{ClassId, KindFacts, KindId, WaitQueue};
use crate::policy::backfill_order::BackfillOrder;
use crate::policy::cursor::{Cursor, Opened, Ranked};
use crate::policy::order::backfill_rank::BackfillRank;
use crate::policy::order::ranker::Ranker;
use common::id::{JobKey, QueueName};
use common::policy::queue::Queue;
use common::policy::{Behind, Candidates, Order};
use common::time::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::iter::Peekable;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Considered<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub class: ClassId,
    pub kind: KindId,
    cursor: usize,
}

/// What follows for other jobs from a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next job of its class has its turn when it comes.
    MayTry,
    /// No job of its class can start in this round.
    ClassIsDone,
    /// No job that asks for the same can.
    KindIsDone,
    /// Of the jobs that ask for the same, only those with a shorter time limit can.
    Shorter(Span),
}

/// Kinds that had no turn yet, by the ranks of their first jobs.
type Unopened<'a> = Peekable<Box<dyn Iterator<Item = (Rank, &'a KindFacts)> + 'a>>;

/// All kinds, by their next jobs.
pub(crate) struct QueueScan<'a> {
    wait_queue: &'a WaitQueue,
    queues: Queues<'a>,
    now: Time,
    ranker: Ranker<'a>,
    unopened: Unopened<'a>,
    /// The other kinds.
    cursors: Vec<Cursor<'a>>,
    heap: BinaryHeap<Reverse<(Rank, usize)>>,
    /// Queues that have made their promises: the rest of their jobs are tried in an order of their
    /// own.
    backfills: BTreeSet<&'a QueueName>,
    /// Kinds of those queues, by their next jobs in that order.
    behind: BinaryHeap<Reverse<(BackfillRank, usize)>>,
    were_considered: BTreeSet<JobKey>,
    /// Queues that have made their promises.
    done: Vec<&'a Queue>,
    /// Whether a queue was added to those.
    has_new_done: bool,
}

impl<'a> QueueScan<'a> {
    /// From a settled snapshot.
    pub fn new(snapshot: &'a Snapshot, now: Time) -> Self {
        let policy = &snapshot.policy;
        let queues = Queues::new(policy, &snapshot.places);
        let at = snapshot.ranked_at.unwrap_or(now);
        let all: Box<dyn Iterator<Item = _>> = Box::new(snapshot.wait_queue.by_rank());
        Self {
            wait_queue: &snapshot.wait_queue,
            queues,
            now,
            ranker: Ranker::new((policy, queues), &snapshot.usage, &snapshot.capacity, at),
            unopened: all.peekable(),
            cursors: Vec::new(),
            heap: BinaryHeap::new(),
            backfills: BTreeSet::new(),
            behind: BinaryHeap::new(),
            were_considered: BTreeSet::new(),
            done: Vec::new(),
            has_new_done: false,
        }
    }

    /// The next job. `None`: all jobs were considered. `is_full`: whether no job of a kind of this
    /// queue can start, so that none of them is considered.
    pub fn next(
        &mut self,
        mut is_full: impl FnMut(&KindFacts, &Queue) -> bool,
    ) -> Option<Considered<'a>> {
        let mut is_kind_full = |facts: &KindFacts, done: &[&'a Queue]| {
            let queue = done.iter().find(|queue| queue.name == facts.queue);
            queue.is_some_and(|queue| is_full(facts, queue))
        };
        if std::mem::take(&mut self.has_new_done) {
            // Most kinds are full now, and need no place in the order.
            let (cursors, done) = (&self.cursors, &self.done);
            self.heap.retain(|Reverse((_, at))| !is_kind_full(cursors[*at].facts, done));
            let unopened = self.unopened.by_ref().filter(|(_, facts)| !is_kind_full(facts, done));
            let unopened: Vec<(Rank, &'a KindFacts)> = unopened.collect();
            let unopened: Box<dyn Iterator<Item = _>> = Box::new(unopened.into_iter());
            self.unopened = unopened.peekable();
        }
        while let Some((facts, opened)) = self.pop() {
            if is_kind_full(facts, &self.done) {
                continue;
            }
            let Some(at) = opened.or_else(|| self.open(facts)) else { continue };
            let cursor = &mut self.cursors[at];
            if cursor.queue.is_some_and(|queue| self.backfills.contains(&queue.name)) {
                self.go_to_backfill(at);
                continue;
            }
            if let Some((class, job)) = cursor.pop(self.wait_queue) {
                return Some(Considered { job, class, kind: facts.id, cursor: at });
            }
        }
        while let Some(Reverse((_, at))) = self.behind.pop() {
            let cursor = &mut self.cursors[at];
            let Some(job) = cursor.for_backfill.as_mut().and_then(BackfillOrder::take) else {
                continue;
            };
            let kind = cursor.facts.id;
            match self.wait_queue.class_of(job.key) {
                Some(class) => return Some(Considered { job, class, kind, cursor: at }),
                None => self.advance_backfill(at),
            }
        }
        None
    }

    /// Takes the kind of the first rank, and its cursor if it has one.
    fn pop(&mut self) -> Option<(&'a KindFacts, Option<usize>)> {
        let opened = self.heap.peek().map(|Reverse((rank, _))| *rank);
        let is_first = |(rank, _): &(Rank, _)| opened.is_none_or(|opened| *rank < opened);
        if let Some((_, facts)) = self.unopened.next_if(is_first) {
            return Some((facts, None));
        }
        self.heap.pop().map(|Reverse((_, at))| (self.cursors[at].facts, Some(at)))
    }

    /// Opens a kind.
    fn open(&mut self, facts: &'a KindFacts) -> Option<usize> {
        let kind = self.wait_queue.kind_of(facts.id)?;
        self.cursors.push(Cursor::new(facts, kind, self.queues.get(&facts.queue)));
        Some(self.cursors.len() - 1)
    }

    /// From now on, considers the remaining jobs of this kind in the order for backfill.
    fn go_to_backfill(&mut self, at: usize) {
        let cursor = &mut self.cursors[at];
        cursor.below = cursor.shorter.as_ref().map(|(below, _)| *below);
        let Cursor { kind, below, .. } = *cursor;
        let order = if self.candidates(at) == Candidates::RelativeWait {
            let rank = |job: &WaitingJob| self.rank_for_backfill(at, job);
            BackfillOrder::by_relative_wait(kind, below, &rank)
        } else {
            BackfillOrder::by_length(kind, self.wait_queue)
        };
        self.cursors[at].for_backfill = Some(order);
        self.advance_backfill(at);
    }

    /// How a kind's queue orders jobs for backfill.
    fn candidates(&self, at: usize) -> Candidates {
        self.cursors[at].queue.map_or_else(Candidates::default, |queue| queue.backfill.candidates)
    }

    /// The rank of a job that had no turn yet.
    fn rank_for_backfill(&self, at: usize, job: &WaitingJob) -> Option<BackfillRank> {
        let has_turn = !self.were_considered.contains(&job.key);
        has_turn.then(|| BackfillRank::new(&self.ranker, job, self.candidates(at), self.now))
    }

    fn advance_backfill(&mut self, at: usize) {
        let Some(mut order) = self.cursors[at].for_backfill.take() else { return };
        let below = self.cursors[at].below;
        if let Some(rank) = order.next(below, &|job| self.rank_for_backfill(at, job)) {
            self.behind.push(Reverse((rank, at)));
        }
        self.cursors[at].for_backfill = Some(order);
    }

    /// Reports the result of a turn. `is_done`: the queue has made all its promises.
    pub fn report_turn(&mut self, considered: &Considered<'a>, next: Next, is_done: bool) {
        let at = considered.cursor;
        let cursor = &mut self.cursors[at];
        let current = cursor.current.take();
        if let Some(queue) = cursor.queue.filter(|_| is_done)
            && !self.done.iter().any(|done| std::ptr::eq(*done, queue))
        {
            self.done.push(queue);
            self.has_new_done = true;
        }
        let backfills = cursor.queue.filter(|queue| {
            queue.behind == Behind::Backfill
                && queue.order == Order::Fifo
                && queue.backfill.candidates != Candidates::InOrder
        });
        if backfills.is_some() {
            self.were_considered.insert(considered.job.key);
        }
        if next == Next::KindIsDone {
            return;
        }
        if cursor.for_backfill.is_some() {
            if let Next::Shorter(below) = next {
                cursor.below = Some(cursor.below.map_or(below, |known| known.min(below)));
            }
            self.advance_backfill(at);
            return;
        }
        if let Some(queue) = backfills.filter(|_| is_done) {
            self.backfills.insert(&queue.name);
        }
        if let Next::Shorter(below) = next {
            self.keep_shorter(at, considered.job, below);
        }
        let cursor = &mut self.cursors[at];
        if next == Next::MayTry
            && cursor.shorter.is_none()
            && let Some((class, mut rest)) = current
            && let Some(next) = rest.next()
        {
            let rank = self.ranker.rank(next);
            cursor.by_rank.push(Reverse((rank, cursor.opened.len())));
            cursor.opened.push(Opened { class, next, rest });
        }
        if let Some(rank) = cursor.rank() {
            self.heap.push(Reverse((rank, at)));
        }
    }
}

impl<'a> QueueScan<'a> {
    /// From now on, only jobs of this kind that are short enough have a turn, after this one.
    fn keep_shorter(&mut self, at: usize, last: &WaitingJob, below: Span) {
        let cursor = &mut self.cursors[at];
        if let Some((known, _)) = &mut cursor.shorter {
            *known = below.min(*known);
            return;
        }
        let last = self.ranker.rank(last);
        let classes = cursor.kind.classes_below(below);
        let jobs = classes.filter_map(|id| Some((id, self.wait_queue.class(id)?))).flat_map(
            |(id, class)| {
                let short =
                    class.jobs_by_length().take_while(move |job| job.expected_length() < below);
                short.map(move |job| (id, job))
            },
        );
        let ranked = jobs.map(|(id, job)| (self.ranker.rank(job), id, job));
        let mut behind: Vec<Ranked<'a>> = ranked.filter(|(rank, ..)| *rank > last).collect();
        behind.sort_unstable_by_key(|(rank, ..)| *rank);
        cursor.shorter = Some((below, behind.into_iter().peekable()));
    }
}
