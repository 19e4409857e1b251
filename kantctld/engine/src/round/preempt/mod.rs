//! Step 6: preemption for a job that may start and has no room (or no quota). The job does not
//! start in this round: it starts when its victims are gone, and until then what they release is
//! reserved for it (`planner::preempting`).
//!
//! A job preempts when it has its turn, so later jobs see what it takes. Each rule decides which
//! jobs it may preempt; [`victims`] chooses among them. Components of a job that start together
//! preempt no others: which of them lacks room depends on where the others would go. An elastic job
//! asks for its minimum of tasks.
//!
//! No job is preempted twice: jobs that are leaving are no candidates, and a job that has victims
//! chooses no more. A victim by priority or head timeout comes strictly after the job in an order
//! that does not change with time, and a victim by reclaim gives back what the other queue is
//! guaranteed. So requeued victims never preempt in return, and without new jobs the preemptions
//! end.

pub(crate) mod head_timeout;
mod lower_bound;
pub(crate) mod priority;
pub(crate) mod reclaim;
mod room;
mod victim_cache;
pub(crate) mod victims;

#[cfg(test)]
pub(crate) mod tests;

use crate::model::cluster::NodeIndex;
use crate::model::hold::GivenUp;
use crate::model::job::{RunningJob, UNLIMITED, WaitingJob};
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::usage_accounting::{Claim, QuotaStatus};
use crate::model::victim_index::PriorityKey;
use crate::round::planner::RoundState;
use common::id::{JobKey, ReservationName};
use common::job::PreemptReason;
use common::policy::queue::Queue;
use common::time::{Span, Time};
use common::unit::Nodes;
use reclaim::Owed;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use victim_cache::VictimCache;

/// At most this many trial placements per round to find victims, over all jobs.
pub(crate) const TRIALS_MAX: u32 = 1_000;

/// At most this many for one job.
pub(crate) const TRIALS_MAX_EACH: u32 = 250;

/// A waiting job that may preempt others.
pub(crate) struct Asker<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub queue: &'a Queue,
    pub index: ShapeIndex,
    /// Its request, with the minimum of tasks.
    pub shape: Shape<'a>,
    pub priority_key: PriorityKey,
    pub quota_status: QuotaStatus,
    /// Whether it is the first of its queue without room.
    pub is_head: bool,
    /// Whether it lacks quota. Then candidates on nodes that it could not use matter, too.
    pub lacks_quota: bool,
}

/// Rule, priority, what is lost, start, key.
type Place = (u8, Option<Reverse<PriorityKey>>, u128, Reverse<Time>, Reverse<JobKey>);

/// A running job that may be preempted.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub job: &'a Arc<RunningJob>,
    pub claim: &'a Claim,
    pub reason: PreemptReason,
    /// The nodes where it holds something, and its number of GPUs there.
    pub nodes: &'a [(NodeIndex, u32)],
    /// What it would lose: thousandths of GPUs times milliseconds since its start or last
    /// checkpoint.
    lost: u128,
    priority_key: PriorityKey,
    /// The number of its first nodes on which it runs on; `None`: it is stopped. Claim and nodes
    /// are those that it gives up.
    pub keeps: Option<Nodes>,
    /// The most that it could give up and run on.
    surplus: Option<&'a GivenUp>,
}

impl<'a> Candidate<'a> {
    /// The same job, giving up all that it can while it runs on.
    fn giving_up_most(self) -> Option<Self> {
        self.surplus.map(|part| self.keeping(part))
    }

    /// The same job, giving up only this.
    fn keeping<'b>(self, part: &'b GivenUp) -> Candidate<'b>
    where
        'a: 'b,
    {
        let (keeps, claim, nodes) = (Some(part.keeps), &part.claim, &part.nodes[..]);
        Candidate { keeps, claim, nodes, ..self }
    }

    /// Preemption order: the smaller goes first.
    fn order(&self) -> Place {
        let rule = match self.reason {
            PreemptReason::Reclaim => 0,
            PreemptReason::Priority => 1,
            PreemptReason::HeadTimeout => 2,
            // Not used here: moves are planned by fair sharing.
            PreemptReason::Move => 3,
        };
        // Among jobs that passed the head only the loss counts.
        let priority_key =
            (self.reason != PreemptReason::HeadTimeout).then_some(Reverse(self.priority_key));
        (rule, priority_key, self.lost, Reverse(self.job.started_at), Reverse(self.job.key))
    }
}

/// The state of preemption in one round.
pub(crate) struct Asks<'a> {
    pub trials_left: u32,
    /// The victims chosen in this round.
    pub chosen: BTreeSet<JobKey>,
    /// The candidates of each class of waiting jobs that asked.
    victim_cache: VictimCache<'a>,
    /// The shortest time limit with which a job of this class found no victims: with this limit or
    /// a longer one, none will. 0 where the limit does not matter.
    refused: BTreeMap<SearchKey, Span>,
}

impl Default for Asks<'_> {
    fn default() -> Self {
        let (chosen, refused) = (BTreeSet::new(), BTreeMap::new());
        Self { trials_left: TRIALS_MAX, chosen, victim_cache: VictimCache::default(), refused }
    }
}

/// The class of jobs that find the same victims; the last field: whether it lacks quota.
type SearchKey = (ShapeIndex, PriorityKey, QuotaStatus, Option<ReservationName>, bool);

/// Whether the job may preempt at all, by configuration and by results for its class. Schedules a
/// round for when its head timeout expires.
pub(crate) fn may_preempt(state: &mut RoundState<'_>, asker: &Asker<'_>) -> bool {
    if asker.job.together.is_some() {
        return false;
    }
    let strike = head_timeout::expires_at(asker);
    state.schedule_next_round(strike.filter(|strike| *strike > state.now));
    let has_struck = strike.is_some_and(|strike| strike <= state.now);
    let may = asker.queue.preemption.by_priority
        || has_struck
        || reclaim::may_ask(asker, &state.accounting, &state.queues);
    if !may || state.asks.trials_left == 0 {
        return false;
    }
    let limit = asker.job.time_limit.unwrap_or(UNLIMITED);
    let refused = state.asks.refused.get(&search_key(asker));
    has_struck || refused.is_none_or(|known| limit < *known)
}

fn search_key(asker: &Asker<'_>) -> SearchKey {
    let reservation = asker.job.reservation.clone();
    (asker.index, asker.priority_key, asker.quota_status, reservation, asker.lacks_quota)
}

/// The victims for this job, and where it goes then. `None`: there are no candidates, or they are
/// not enough.
pub(crate) fn choose<'a>(
    state: &mut RoundState<'a>,
    asker: &Asker<'a>,
) -> Option<victims::Chosen<'a>> {
    let owed = Owed::new(asker, state);
    let (accounting, victim_list) = VictimCache::get_or_build(state, asker, &owed);
    match victims::choose(state, asker, &accounting, &victim_list) {
        Ok(chosen) => Some(chosen),
        Err(limit) => {
            state.schedule_next_round(victim_list.safe_until);
            let known = state.asks.refused.entry(search_key(asker)).or_insert(limit);
            *known = limit.min(*known);
            None
        }
    }
}
