//! The preemption candidates for one waiting job, one after the other: from the queue furthest
//! above its share, its job of the lowest priority. The running jobs stand in this order in an
//! index that is kept from round to round; only those that are taken are read.
//!
//! Source: KAI Scheduler: the reverse of the order in which jobs have their turns; a job that can
//! run on with less gives that up first. Reads: shares, priorities, run times. Knobs:
//! `runtime_min`, `reclaim_runtime_min`, `yields_first`.

use super::accounts::Accounts;
use super::claim::{Claim, Lose};
use super::moves::may_move;
use super::wanted::Sought;
use crate::model::cluster::NodeIndex;
use crate::model::job::RunningJob;
use crate::model::shares::held;
use crate::model::shares::runtime::{
    Method, is_protected, protection_from_all, reclaim_protection,
};
use crate::model::shares::tree::{QueueAt, Tree};
use crate::model::shares::{Amount, Place, Row};
use crate::policy::sharing::order::Rank;
use crate::policy::sharing::taking::{may_have_stopped, may_have_victims};
use crate::round::planner::RoundState;
use common::job::PreemptReason;
use common::time::{Span, Time};
use common::unit::Nodes;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::sync::Arc;

/// A running job, or the last of its nodes.
#[derive(Debug, Clone)]
pub(super) struct Candidate<'a> {
    pub job: &'a Arc<RunningJob>,
    pub queue: QueueAt,
    /// How many of its first nodes it keeps. `None`: none.
    pub keeps: Option<Nodes>,
    /// The nodes that it leaves now, in addition to those of an earlier candidate.
    pub nodes: Vec<NodeIndex>,
    /// For a job that moves: how it will wait, with its fewest tasks.
    pub again: Option<Sought<'a>>,
}

type Yielding<'a> = Box<dyn Iterator<Item = (&'a Place, Time)> + 'a>;

/// What is left of the candidates of one queue.
struct Cursor<'a> {
    row: Peekable<Yielding<'a>>,
    /// Jobs that have given up what they had beyond their minimum.
    back: BTreeSet<(Place, Time)>,
    /// The job that is giving up nodes, how many it keeps, and its minimum.
    shrinks: Option<(Place, Time, usize, usize)>,
    /// For how long after its start a job is protected from the claimant.
    least: Span,
}

pub(super) struct Candidates<'a> {
    claim: Claim,
    /// The queues with candidates.
    rows: BTreeMap<QueueAt, &'a Row>,
    /// For each queue: how many queues have candidates, it and those below it.
    rows_below: Vec<u32>,
    /// What is left of those of which a candidate was taken.
    cursors: BTreeMap<QueueAt, Cursor<'a>>,
    /// The children of a queue (`None`: of the top) that have candidates, with their ranks. Few
    /// families are asked for, so a family is ranked when it is.
    families: BTreeMap<Option<QueueAt>, Vec<(Rank, QueueAt)>>,
    /// What each queue has lost to the candidates so far.
    lost: BTreeMap<QueueAt, Amount>,
}

impl<'a> Candidates<'a> {
    pub fn new(state: &RoundState<'a>, accounts: &Accounts<'a>, claim: Claim, lose: Lose) -> Self {
        let tree = &accounts.tree;
        let own = claim.claimant.queue;
        let has_some = |at: QueueAt| match claim.why {
            PreemptReason::Priority => at == own,
            PreemptReason::Reclaim if at == own => false,
            PreemptReason::Reclaim => match lose {
                Lose::Stopped => may_have_stopped(tree, &claim.claimant, at),
                Lose::StoppedOrMoved => may_have_victims(tree, &claim.claimant, at),
            },
            PreemptReason::Move => true,
            PreemptReason::HeadTimeout => false,
        };
        let rows = state.snapshot.running_index.rows().values().zip(&accounts.row_queues);
        let yielding = rows.filter(|(row, _)| row.preemptible_count() > 0);
        let rows = yielding.filter_map(|(row, at)| Some((at.filter(|at| has_some(*at))?, row)));
        let rows: BTreeMap<QueueAt, &'a Row> = rows.collect();
        let mut rows_below = vec![0; tree.terms.len()];
        for at in rows.keys().flat_map(|queue| tree.path(*queue)) {
            rows_below[at.0] += 1;
        }
        let (cursors, families, lost) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { claim, rows, rows_below, cursors, families, lost }
    }

    /// The number of queues that have some.
    pub fn queues(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// At most what all of them hold.
    pub fn upper_bound_held(&self, accounts: &Accounts<'a>) -> Amount {
        let each = self.rows.keys().map(|at| {
            let account = &accounts.tree.accounts[at.0];
            account.allocated.minus(&account.firm)
        });
        each.fold(Amount::default(), |sum, one| sum.plus(&one))
    }

    /// The next candidate.
    pub fn next(
        &mut self,
        state: &RoundState<'a>,
        accounts: &Accounts<'a>,
    ) -> Option<Candidate<'a>> {
        loop {
            let mut at = None;
            let queue = loop {
                let last = self.fullest_child(accounts, at)?;
                if self.rows.contains_key(&last) {
                    break last;
                }
                at = Some(last);
            };
            let found = self.next_of(state, accounts, queue);
            match &found {
                Some((_, gives)) => {
                    for at in accounts.tree.path(queue) {
                        let sum = self.lost.entry(*at).or_default();
                        *sum = sum.plus(gives);
                    }
                }
                None => {
                    self.rows.remove(&queue);
                    accounts.tree.path(queue).iter().for_each(|at| self.rows_below[at.0] -= 1);
                }
            }
            self.rerank_queue(accounts, queue);
            if let Some((candidate, _)) = found {
                return Some(candidate);
            }
        }
    }

    /// The next candidate of a queue, and what it gives up.
    fn next_of(
        &mut self,
        state: &RoundState<'a>,
        accounts: &Accounts<'a>,
        queue: QueueAt,
    ) -> Option<(Candidate<'a>, Amount)> {
        let is_move = self.claim.why == PreemptReason::Move;
        let (row, own) = (*self.rows.get(&queue)?, self.claim.claimant.queue);
        let least = || protected_for(&accounts.tree, own, queue, self.claim.why);
        let cursor = self.cursors.entry(queue).or_insert_with(|| Cursor::new(row, least()));
        loop {
            if let Some((place, started, keeps, least)) = cursor.shrinks.take()
                && let Some(found) = last_kept_node(state, queue, (place, keeps))
            {
                let more = (keeps - 1 > least).then_some((place, started, keeps - 1, least));
                if more.is_none() {
                    cursor.back.insert((place.at_minimum(), started));
                }
                cursor.shrinks = more;
                return Some(found);
            }
            let (place, started) = cursor.next()?;
            if self.claim.why == PreemptReason::Priority && place.priority() >= self.claim.priority
            {
                return None;
            }
            let Some(job) = state.snapshot.running_job(place.key()) else { continue };
            if state.is_already_preempted(place.key()) {
                continue;
            }
            let all = job.allocation.shares().len();
            if let Some(least) = job.nodes_min.filter(|_| place.is_above_minimum() && !is_move) {
                cursor.shrinks = Some((place, started, all, least.0 as usize));
                continue;
            }
            if is_move {
                if may_move(state, job) {
                    return Some(whole_job_candidate(state, queue, job));
                }
                continue;
            }
            if is_protected(Some(state.now.since(started)), cursor.least) {
                continue;
            }
            return Some(whole_job_candidate(state, queue, job));
        }
    }

    /// Of the children of a queue that have candidates, the one furthest above its share.
    fn fullest_child(&mut self, accounts: &Accounts<'a>, at: Option<QueueAt>) -> Option<QueueAt> {
        if !self.families.contains_key(&at) {
            let family = accounts.tree.below(at).iter().copied();
            let family = family.filter(|one| self.rows_below[one.0] > 0);
            let family = family.map(|one| (self.rank(accounts, one), one)).collect();
            self.families.insert(at, family);
        }
        self.families.get(&at)?.iter().max().map(|(_, last)| *last)
    }

    /// Ranks a queue and its ancestors again.
    fn rerank_queue(&mut self, accounts: &Accounts<'a>, queue: QueueAt) {
        for at in accounts.tree.path(queue) {
            let rank = self.rank(accounts, *at);
            let has_more = self.rows_below[at.0] > 0;
            let above = accounts.tree.path(*at).get(1).copied();
            let Some(family) = self.families.get_mut(&above) else { continue };
            family.retain(|(_, one)| one != at);
            family.extend(has_more.then_some((rank, *at)));
        }
    }

    fn rank(&self, accounts: &Accounts<'a>, at: QueueAt) -> Rank {
        let lost = self.lost.get(&at).copied().unwrap_or_default();
        let held = accounts.tree.accounts[at.0].allocated.minus(&lost);
        Rank::of(&accounts.tree, &accounts.total, at, (&held, &Amount::default()))
    }
}

impl<'a> Cursor<'a> {
    fn new(row: &'a Row, least: Span) -> Self {
        let row: Yielding<'a> = Box::new(row.preemptible_jobs());
        Self { row: row.peekable(), back: BTreeSet::new(), shrinks: None, least }
    }

    fn next(&mut self) -> Option<(Place, Time)> {
        let back = self.back.last().copied();
        let row = self.row.peek().map(|(place, started)| (**place, *started));
        if back.is_some() && back > row {
            return self.back.pop_last();
        }
        self.row.next().map(|(place, started)| (*place, started))
    }
}

/// The last of the nodes that a job keeps.
fn last_kept_node<'a>(
    state: &RoundState<'a>,
    queue: QueueAt,
    (place, keeps): (Place, usize),
) -> Option<(Candidate<'a>, Amount)> {
    let job = state.snapshot.running_job(place.key())?;
    let keeps = keeps.checked_sub(1)?;
    let share = job.allocation.shares().get(keeps)?;
    let cluster = &state.snapshot.cluster;
    let nodes = cluster.find(&share.node).into_iter().collect();
    let gives = held(cluster, [share]);
    let keeps = Some(Nodes(u32::try_from(keeps).ok()?));
    Some((Candidate { job, queue, keeps, nodes, again: None }, gives))
}

/// All that a job still holds once it has given up what it had beyond its minimum.
fn whole_job_candidate<'a>(
    state: &RoundState<'a>,
    queue: QueueAt,
    job: &'a Arc<RunningJob>,
) -> (Candidate<'a>, Amount) {
    let least = job.nodes_min.map_or(usize::MAX, |least| least.0 as usize);
    let shares = job.allocation.shares();
    let gives = held(&state.snapshot.cluster, &shares[..shares.len().min(least)]);
    let nodes = state.snapshot.nodes_of(job.key).iter().map(|(at, _)| *at).collect();
    (Candidate { job, queue, keeps: None, nodes, again: None }, gives)
}

/// For how long after its start a job of the victim's queue is protected from the claimant.
fn protected_for(tree: &Tree, claimant: QueueAt, victim: QueueAt, why: PreemptReason) -> Span {
    let says = |at: QueueAt| tree.terms[at.0].protection;
    let always = protection_from_all(tree.path(victim), says);
    if why != PreemptReason::Reclaim {
        return always;
    }
    let paths = (tree.path(claimant), tree.path(victim));
    reclaim_protection(paths, Method::Lca, says, Span(0)).max(always)
}
