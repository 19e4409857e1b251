//! The line of waiting jobs: the queue furthest below its share goes first, and inside a queue the
//! job of the highest priority that has waited longest. After each turn only the ranks on the path
//! of one queue change, and only the first job of each class is looked at.
//!
//! Source: KAI Scheduler, job order by levels of the queue tree: a job's place is that of its queue
//! among the queue's siblings, then that of the job in its queue.

use super::accounts::Accounts;
use super::rank::Ranks;
use crate::model::job::WaitingJob;
use crate::model::shares::Amount;
use crate::model::shares::priority;
use crate::model::shares::tree::QueueAt;
use crate::model::wait_queue::ClassId;
use crate::policy::sharing::order::Rank;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a job's tasks stand to its minimum. The smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It has not started.
    Waits,
    /// It has started with its minimum, and could have more tasks.
    AtLeast,
    /// It has more than its minimum.
    Above,
}

/// A job's place in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    priority: Reverse<i64>,
    standing: Standing,
    since: Time,
    key: JobKey,
}

/// A turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub queue: QueueAt,
    pub class: ClassId,
    pub standing: Standing,
    /// Its place among the jobs of its queue; the smaller goes first.
    pub place: (Reverse<i64>, Time),
}

/// A job that stands for its class, and what its queue would ask for with it.
struct First<'a> {
    turn: Turn<'a>,
    asks: Amount,
}

pub(super) struct Line<'a> {
    ranks: Ranks,
    /// The jobs of each queue that are in line: the first of each class, and jobs that could grow.
    jobs: Vec<BTreeMap<Place, First<'a>>>,
    /// What is asked for by the best job below each queue.
    next: Vec<Option<Amount>>,
    /// The place of the first job of each class.
    heads: BTreeMap<ClassId, Place>,
    /// The jobs of each class behind its first.
    behind: BTreeMap<ClassId, Box<dyn Iterator<Item = &'a Arc<WaitingJob>> + 'a>>,
    /// The turns of jobs in queues that sort by more than priority and submission.
    turns: &'a BTreeMap<JobKey, i64>,
}

impl<'a> Line<'a> {
    /// The line of all classes that `may` have a turn.
    pub fn new(
        state: &mut RoundState<'a>,
        accounts: &mut Accounts,
        turns: &'a BTreeMap<JobKey, i64>,
        may: impl Fn(ClassId) -> bool,
    ) -> Self {
        let queues = accounts.tree.terms.len();
        let mut line = Self {
            ranks: Ranks::none(&accounts.tree),
            jobs: (0..queues).map(|_| BTreeMap::new()).collect(),
            next: vec![None; queues],
            heads: BTreeMap::new(),
            behind: BTreeMap::new(),
            turns,
        };
        let mut open = BTreeSet::new();
        for (id, class) in state.snapshot.wait_queue.classes().filter(|(id, _)| may(*id)) {
            let mut jobs = class.jobs();
            let Some(first) = jobs.next() else { continue };
            let Some(queue) = accounts.find(&first.queue) else { continue };
            line.behind.insert(id, Box::new(jobs));
            line.put(
                state,
                accounts,
                Turn {
                    job: first,
                    queue,
                    class: id,
                    standing: Standing::Waits,
                    place: (Reverse(0), Time(0)),
                },
            );
            open.insert(queue);
        }
        open.into_iter().for_each(|queue| line.has_changed(accounts, queue));
        line
    }

    fn put(&mut self, state: &mut RoundState<'a>, accounts: &mut Accounts, turn: Turn<'a>) {
        let job = turn.job;
        let Some(queue) = state.queues.get(&job.queue) else { return };
        let shape = state.shape_for(queue, job);
        let asks = accounts.asks(state, shape);
        let asks = if turn.standing == Standing::Waits { asks.least } else { asks.each };
        let by_turn = self.turns.get(&job.key).map(|turn| turn.saturating_neg());
        let own = || priority(&state.snapshot.policy, job.qos.as_ref(), job.nice);
        let place = Place {
            priority: Reverse(by_turn.unwrap_or_else(own)),
            standing: turn.standing,
            since: job.since(),
            key: job.key,
        };
        if turn.standing == Standing::Waits {
            self.heads.insert(turn.class, place);
        }
        let turn = Turn { place: (place.priority, place.since), ..turn };
        self.jobs[turn.queue.0].insert(place, First { turn, asks });
    }

    /// Puts a job that has started in line for more tasks. `standing`: what it has by now.
    pub fn grows(
        &mut self,
        state: &mut RoundState<'a>,
        accounts: &mut Accounts,
        turn: Turn<'a>,
        standing: Standing,
    ) {
        self.put(state, accounts, Turn { standing, ..turn });
        self.has_changed(accounts, turn.queue);
    }

    /// Takes the next job out of the line; the next job of its class takes its place.
    pub fn pop(&mut self, state: &mut RoundState<'a>, accounts: &mut Accounts) -> Option<Turn<'a>> {
        let mut at = None;
        let queue = loop {
            let (_, first) = self.ranks.below(at).first()?;
            if !self.jobs[first.0].is_empty() {
                break *first;
            }
            at = Some(*first);
        };
        let (_, First { turn, .. }) = self.jobs[queue.0].pop_first()?;
        if turn.standing == Standing::Waits
            && let Some(job) = self.behind.get_mut(&turn.class).and_then(Iterator::next)
        {
            self.put(state, accounts, Turn { job, ..turn });
        }
        self.has_changed(accounts, queue);
        Some(turn)
    }

    /// Takes the rest of a class out of the line.
    pub fn drop_class(&mut self, accounts: &Accounts, turn: &Turn<'a>) {
        self.behind.remove(&turn.class);
        if let Some(place) = self.heads.remove(&turn.class) {
            self.jobs[turn.queue.0].remove(&place);
        }
        self.has_changed(accounts, turn.queue);
    }

    /// Ranks a queue and its ancestors again, after its jobs or what it holds changed.
    pub fn has_changed(&mut self, accounts: &Accounts, queue: QueueAt) {
        let tree = &accounts.tree;
        for at in tree.path(queue) {
            let own = self.jobs[at.0].first_key_value().map(|(_, first)| first.asks);
            let below = || self.ranks.below(Some(*at)).first().and_then(|(_, at)| self.next[at.0]);
            let next = own.or_else(below);
            self.next[at.0] = next;
            let held = &tree.accounts[at.0].allocated;
            let rank = next.map(|asks| Rank::of(tree, &accounts.total, *at, (held, &asks)));
            self.ranks.set(tree, *at, rank);
        }
    }
}
