//! Lists of preemption candidates, in preemption order. Jobs of one queue and priority with equal
//! claims have the same candidates, so a list is made once for all of them, with the sum of what
//! the candidates hold. Whether that is enough is decided in `lower_bound`.
//!
//! Source: ours.

use super::lower_bound::{Freed, gpus_to_come};
use super::reclaim::{Lent, Owed};
use super::{Asker, Candidate, Place, head_timeout, priority};
use crate::model::shape_cache::ShapeIndex;
use crate::model::usage_accounting::UsageAccounting;
use crate::model::victim_index::{Member, PriorityKey, Row, RowKey};
use crate::round::planner::{RoundState, Version};
use common::id::{JobKey, QueueName};
use common::job::PreemptReason;
use common::time::{Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::rc::Rc;

/// At most this many running jobs are considered for one job; the first in preemption order.
const CANDIDATES_MAX: usize = 2_048;

/// The candidates for one class of waiting jobs.
pub(super) struct VictimList<'a> {
    /// In order. Jobs that borrowed are included only while there is more to be reclaimed.
    pub victims: Vec<Candidate<'a>>,
    /// The same list if all that can run on with less do so; empty if none can.
    pub smaller: Vec<Candidate<'a>>,
    /// When the next job that is within its minimum run time may be preempted.
    pub safe_until: Option<Time>,
    /// The quotas once all of them are gone, for each of the lists.
    pub quotas: Vec<UsageAccounting>,
    /// What becomes free on nodes then.
    pub freed: Freed,
}

/// What the candidates depend on: queue, priority, claims, and the nodes that the job could use;
/// `None`: it does not matter which nodes they hold.
type Key<'a> = (&'a QueueName, PriorityKey, Vec<Lent>, Option<Nodes>);

/// The nodes that a job could use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nodes {
    /// All that are up.
    All,
    /// Those of its shape.
    Of(ShapeIndex),
}

/// What there is once all jobs that are leaving are gone.
pub(super) struct ToCome {
    /// Quotas, and what is held of them; no limits.
    pub quotas: UsageAccounting,
    /// Whole GPUs of each node.
    gpus: Vec<u32>,
}

/// The lists of a round, valid until a job starts or is preempted.
#[derive(Default)]
pub(super) struct VictimCache<'a> {
    made_at: Version,
    to_come: Option<Rc<ToCome>>,
    lists: BTreeMap<Key<'a>, Rc<VictimList<'a>>>,
}

impl<'a> VictimCache<'a> {
    /// What becomes free anyway, and the candidates for the job.
    pub fn get_or_build(
        state: &mut RoundState<'a>,
        asker: &Asker<'a>,
        owed: &Owed,
    ) -> (Rc<ToCome>, Rc<VictimList<'a>>) {
        let version = state.version();
        if state.asks.victim_cache.made_at != version {
            state.asks.victim_cache = VictimCache { made_at: version, ..VictimCache::default() };
        }
        let known = state.asks.victim_cache.to_come.clone();
        let to_come = known.unwrap_or_else(|| Rc::new(ToCome::of(state)));
        state.asks.victim_cache.to_come = Some(to_come.clone());
        let lent = owed.lent(&to_come.quotas, &state.snapshot.victim_index);
        let nodes = match asker.lacks_quota {
            true => None,
            false if asker.shape.may_have_all() => Some(Nodes::All),
            false => Some(Nodes::Of(asker.index)),
        };
        let has_struck = head_timeout::has_expired(asker, state.now);
        let list = Listing { state, asker, nodes, has_struck };
        if has_struck {
            let victim_list = list.victim_list(&lent, &to_come, owed);
            return (to_come, Rc::new(victim_list));
        }
        let key = (&asker.queue.name, asker.priority_key, lent, nodes);
        if let Some(known) = state.asks.victim_cache.lists.get(&key) {
            return (to_come, known.clone());
        }
        let victim_list = Rc::new(list.victim_list(&key.2, &to_come, owed));
        state.asks.victim_cache.lists.insert(key, victim_list.clone());
        (to_come, victim_list)
    }
}

impl ToCome {
    fn of(state: &RoundState<'_>) -> Self {
        let mut quotas = state.accounting.quotas_alone();
        state.claims_to_go().for_each(|claim| quotas.remove(claim, None));
        Self { quotas, gpus: gpus_to_come(state) }
    }
}

/// A list that is being made.
struct Listing<'s, 'a> {
    state: &'s RoundState<'a>,
    asker: &'s Asker<'a>,
    nodes: Option<Nodes>,
    /// Whether the head timeout has expired. Then members of a row may be preempted for different
    /// reasons.
    has_struck: bool,
}

impl<'s, 'a> Listing<'s, 'a> {
    fn victim_list(&self, lent: &[Lent], to_come: &ToCome, owed: &Owed) -> VictimList<'a> {
        let (candidates, safe_until) = self.candidates(lent);
        let mut smaller: Vec<Candidate<'a>> = Vec::new();
        if candidates.iter().any(|one| one.surplus.is_some()) {
            smaller = candidates.iter().map(|one| one.giving_up_most().unwrap_or(*one)).collect();
        }
        let (victims, quotas) = still_reclaimable(candidates, to_come, owed);
        let mut quotas = vec![quotas];
        let mut freed = Freed::of(&to_come.gpus, &victims);
        if !smaller.is_empty() {
            let (less, rest) = still_reclaimable(smaller, to_come, owed);
            // More jobs may be asked for a part than may be stopped.
            let named: BTreeSet<JobKey> = victims.iter().map(|victim| victim.job.key).collect();
            let beside = less.iter().filter(|one| !named.contains(&one.job.key)).copied();
            let all: Vec<Candidate<'a>> = victims.iter().copied().chain(beside).collect();
            freed = Freed::of(&to_come.gpus, &all);
            (smaller, quotas) = (less, vec![quotas.remove(0), rest]);
        }
        VictimList { victims, smaller, safe_until, quotas, freed }
    }

    /// The candidates in order, and when the next job within its minimum run time becomes one.
    fn candidates(&self, lent: &[Lent]) -> (Vec<Candidate<'a>>, Option<Time>) {
        let mut rows = Vec::new();
        let mut safe_until: Option<Time> = None;
        for (number, group) in self.state.snapshot.victim_index.groups().enumerate() {
            let is_lent = lent.iter().any(|lent| lent.groups[number]);
            if !is_lent && group.queue != self.asker.queue.name {
                continue;
            }
            let queue = self.state.queues.get(&group.queue);
            let least = queue.map_or(Span(0), |queue| queue.preemption.runtime_min);
            for (key, row) in group.rows() {
                for reason in self.reasons(key, row, is_lent) {
                    let may = move |member: &&'a Member| {
                        (!self.has_struck
                            || self.reason(key.priority_key, member, is_lent) == Some(reason))
                            && self.is_in_the_way(member)
                            && !self.state.is_already_preempted(member.job.key)
                    };
                    let safe = row.next_unprotected(self.state.now, least, may);
                    let safe = safe.map(|member| member.job.started_at + least);
                    safe_until = safe_until.into_iter().chain(safe).min();
                    let candidate = move |member| self.candidate(key.priority_key, member, reason);
                    rows.push(row.ran_for(self.state.now, least).filter(may).map(candidate));
                }
            }
        }
        (merged(rows), safe_until)
    }

    /// The reasons for which members of a row may be preempted: the same for all, unless the head
    /// timeout has expired, as that applies only to members that passed the job.
    fn reasons(&self, key: &RowKey, row: &'a Row, is_lent: bool) -> Vec<PreemptReason> {
        if self.has_struck {
            return vec![
                PreemptReason::Priority,
                PreemptReason::HeadTimeout,
                PreemptReason::Reclaim,
            ];
        }
        let first = row.members().next();
        first
            .and_then(|member| self.reason(key.priority_key, member, is_lent))
            .into_iter()
            .collect()
    }

    fn reason(
        &self,
        priority_key: PriorityKey,
        member: &Member,
        is_lent: bool,
    ) -> Option<PreemptReason> {
        if priority::may_preempt(self.asker, &member.job, priority_key) {
            Some(PreemptReason::Priority)
        } else if head_timeout::may_preempt(self.asker, self.state.now, &member.job, priority_key) {
            Some(PreemptReason::HeadTimeout)
        } else {
            is_lent.then_some(PreemptReason::Reclaim)
        }
    }

    fn candidate(
        &self,
        priority_key: PriorityKey,
        member: &'a Member,
        reason: PreemptReason,
    ) -> Candidate<'a> {
        let (job, claim, nodes) = (&member.job, &member.hold.claim, &member.hold.nodes[..]);
        let surplus = member.hold.surplus.as_ref();
        let unsaved = u128::from(self.state.now.since(job.unsaved_since()).0);
        let lost = u128::from(claim.gpu_milli()) * unsaved;
        Candidate { job, claim, reason, nodes, lost, priority_key, keeps: None, surplus }
    }

    /// Whether it holds something on a node that the job could use.
    fn is_in_the_way(&self, member: &Member) -> bool {
        let cluster = &self.state.snapshot.cluster;
        let mut nodes = member.hold.nodes.iter().map(|(at, _)| *at);
        match self.nodes {
            None => true,
            Some(Nodes::All) => nodes.any(|at| cluster.node(at).is_usable()),
            Some(Nodes::Of(_)) => {
                let shape = &self.asker.shape;
                nodes.any(|at| cluster.node(at).is_usable() && shape.may_ever_use(cluster, at))
            }
        }
    }
}

/// Those candidates that still hold what is guaranteed to the job once the earlier ones are gone,
/// and the quotas then.
fn still_reclaimable<'a>(
    mut candidates: Vec<Candidate<'a>>,
    to_come: &ToCome,
    owed: &Owed,
) -> (Vec<Candidate<'a>>, UsageAccounting) {
    let mut quotas = to_come.quotas.clone();
    candidates.retain(|candidate| {
        let may = candidate.reason != PreemptReason::Reclaim
            || owed.may_reclaim(&quotas, candidate.claim);
        if may {
            quotas.remove(candidate.claim, None);
        }
        may
    });
    (candidates, quotas)
}

/// Merges rows that are each in order.
fn merged<'a>(mut rows: Vec<impl Iterator<Item = Candidate<'a>>>) -> Vec<Candidate<'a>> {
    let mut firsts: Vec<Option<Candidate<'a>>> = rows.iter_mut().map(Iterator::next).collect();
    let place = |(at, first): (usize, &Option<Candidate<'a>>)| {
        first.as_ref().map(|first| Reverse((first.order(), at)))
    };
    let mut heap: BinaryHeap<Reverse<(Place, usize)>> =
        firsts.iter().enumerate().filter_map(place).collect();
    let mut merged = Vec::new();
    while merged.len() < CANDIDATES_MAX
        && let Some(Reverse((_, at))) = heap.pop()
    {
        merged.extend(firsts[at].take());
        firsts[at] = rows[at].next();
        heap.extend(firsts[at].as_ref().map(|first| Reverse((first.order(), at))));
    }
    merged
}
