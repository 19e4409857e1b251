//! Step 1 at work: whose turn is next. Classes of alike jobs queue up by their first job; who is
//! told that nobody of a class can start lets the whole class go. Never looks at what is free.

use crate::line::{Class, ClassId, UNLIMITED};
use crate::order::multifactor::Multifactor;
use crate::order::rank::Rank;
use crate::order::{Facts, rank_of};
use crate::snapshot::{Snapshot, WaitingJob};
use common::id::{JobKey, QueueName};
use common::policy::{Behind, Candidates};
use common::qos::Qos;
use common::queue::Queue;
use common::time::{Span, Time};
use common::unit::Nodes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

/// One job's turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub class: ClassId,
    cursor: usize,
}

/// What the others of its class learn from a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next of its class has its turn when it comes.
    MayTry,
    /// Nobody of its class can start in this round.
    ClassIsDone,
}

/// One class and how far it is.
struct Cursor<'a> {
    id: ClassId,
    class: &'a Class,
    jobs: Box<dyn Iterator<Item = &'a Arc<WaitingJob>> + 'a>,
    queue: Option<&'a Queue>,
}

/// All classes, by their next jobs.
pub(crate) struct Queueing<'a> {
    now: Time,
    multifactor: Multifactor<'a>,
    qos: BTreeMap<&'a str, &'a Qos>,
    cursors: Vec<Cursor<'a>>,
    heap: BinaryHeap<Reverse<(Rank, usize)>>,
    next: Vec<Option<&'a Arc<WaitingJob>>>,
    /// Queues whose reservations are made: the rest of their jobs go by length.
    by_length: BTreeSet<&'a QueueName>,
    /// Which cursors go by length.
    is_short: Vec<bool>,
    /// Those, shortest first.
    short: BinaryHeap<Reverse<(Span, Time, JobKey, usize)>>,
    had_turn: BTreeSet<JobKey>,
}

impl<'a> Queueing<'a> {
    pub fn new(snapshot: &'a Snapshot, multifactor: Multifactor<'a>, now: Time) -> Self {
        let policy = &snapshot.policy;
        let queues: BTreeMap<&QueueName, &Queue> =
            policy.queues.iter().map(|queue| (&queue.name, queue)).collect();
        let mut queueing = Self {
            now,
            multifactor,
            qos: policy.qos.iter().map(|qos| (qos.name.as_str(), qos)).collect(),
            cursors: Vec::new(),
            heap: BinaryHeap::new(),
            next: Vec::new(),
            by_length: BTreeSet::new(),
            is_short: Vec::new(),
            short: BinaryHeap::new(),
            had_turn: BTreeSet::new(),
        };
        for (id, class) in snapshot.line.classes() {
            let queue = class.jobs().next().and_then(|job| queues.get(&job.queue).copied());
            queueing.cursors.push(Cursor { id, class, jobs: Box::new(class.jobs()), queue });
            queueing.next.push(None);
            queueing.is_short.push(false);
        }
        let ranked: Vec<_> = (0..queueing.cursors.len())
            .filter_map(|cursor| queueing.advance(cursor).map(|rank| Reverse((rank, cursor))))
            .collect();
        queueing.heap = ranked.into();
        queueing
    }

    /// The next job of a class, and its rank.
    fn advance(&mut self, cursor: usize) -> Option<Rank> {
        let job = self.cursors[cursor].jobs.next()?;
        self.next[cursor] = Some(job);
        let Some(queue) = self.cursors[cursor].queue else {
            return Some(Rank {
                queue: Reverse(i32::MIN),
                qos: Reverse(0),
                nice: 0,
                turn_ms: 0,
                points: Reverse(0),
                since: job.since(),
                key: job.key,
            });
        };
        Some(rank_of(&self.multifactor, &self.facts(queue, job), self.now))
    }

    fn facts<'f>(&'f self, queue: &'f Queue, job: &'f WaitingJob) -> Facts<'f> {
        facts(queue, job, job.qos.as_ref().and_then(|qos| self.qos.get(qos.as_str()).copied()))
    }

    /// Whose turn it is; `None`: everybody had one.
    pub fn next(&mut self) -> Option<Turn<'a>> {
        while let Some(Reverse((_, cursor))) = self.heap.pop() {
            let queue = self.cursors[cursor].queue.map(|queue| &queue.name);
            if queue.is_some_and(|name| self.by_length.contains(name)) {
                self.go_by_length(cursor);
                continue;
            }
            let Some(job) = self.next[cursor].take() else { continue };
            return Some(Turn { job, class: self.cursors[cursor].id, cursor });
        }
        while let Some(Reverse((.., cursor))) = self.short.pop() {
            let Some(job) = self.next[cursor].take() else { continue };
            return Some(Turn { job, class: self.cursors[cursor].id, cursor });
        }
        None
    }

    fn go_by_length(&mut self, cursor: usize) {
        self.is_short[cursor] = true;
        self.cursors[cursor].jobs = Box::new(self.cursors[cursor].class.jobs_by_length());
        self.advance_by_length(cursor);
    }

    fn advance_by_length(&mut self, cursor: usize) {
        let had_turn = &self.had_turn;
        let job = self.cursors[cursor].jobs.find(|job| !had_turn.contains(&job.key));
        self.next[cursor] = job;
        if let Some(job) = job {
            let limit = job.time_limit.unwrap_or(UNLIMITED);
            self.short.push(Reverse((limit, job.since(), job.key, cursor)));
        }
    }

    /// What became of a turn. `is_done`: the queue has made all its reservations.
    pub fn tell(&mut self, turn: &Turn<'a>, next: Next, is_done: bool) {
        let cursor = turn.cursor;
        let Some(queue) = self.cursors[cursor].queue else { return };
        let goes_by_length = queue.behind == Behind::Backfill
            && queue.backfill.candidates == Candidates::ShortestFirst;
        if goes_by_length {
            self.had_turn.insert(turn.job.key);
        }
        if next == Next::ClassIsDone {
            return;
        }
        if goes_by_length && (is_done || self.by_length.contains(&queue.name)) {
            self.by_length.insert(&queue.name);
            if self.is_short[cursor] {
                self.advance_by_length(cursor);
            } else {
                self.go_by_length(cursor);
            }
            return;
        }
        if let Some(rank) = self.advance(cursor) {
            self.heap.push(Reverse((rank, cursor)));
        }
    }
}

/// What the order reads of a job. For jobs of no fixed number of nodes GPUs and CPUs are what they
/// ask for on one.
pub(crate) fn facts<'f>(queue: &'f Queue, job: &'f WaitingJob, qos: Option<&'f Qos>) -> Facts<'f> {
    let demand = crate::fit::demand::Demand::new(&job.request, queue);
    let nodes = job.request.nodes.unwrap_or(Nodes(1));
    Facts {
        key: job.key,
        queue,
        qos,
        account: job.account.as_ref(),
        owner: job.owner,
        nice: job.nice,
        since: job.since(),
        gpus: crate::claims::gpus(&demand, nodes),
        cpus: job.request.cpus_per_task.times(job.request.tasks.0),
    }
}
