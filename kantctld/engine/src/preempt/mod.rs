//! Step 6: who yields to a job that may start and has no room (or no quota). Never starts that
//! job: it starts when the others are gone, and until then what they leave is kept for it
//! (`desk::yielding`).
//!
//! A job asks when it has its turn, so what it takes is seen by those behind it. Each rule says
//! whom it may ask, [`victims`] who of them has to go. Components of a job that start together ask
//! nobody: which of them lacks room depends on where the others would go. An elastic job asks for
//! the fewest tasks it runs with.
//!
//! Nobody is asked twice: not who is on the way out, nor by a job that some already yield to. Who
//! yields by priority or by head timeout stands strictly behind the job in an order that does not
//! change with time, and who yields by reclaim hands over what the other is owed; so victims that
//! are queued again never ask it back, and a history without arrivals comes to rest.

mod crowd;
pub(crate) mod head_timeout;
pub(crate) mod priority;
pub(crate) mod reclaim;
mod suffice;
pub(crate) mod victims;

#[cfg(test)]
mod tests;

use crate::books::{Books, Claim, Standing};
use crate::desk::Desk;
use crate::floor::NodeIndex;
use crate::line::UNLIMITED;
use crate::shape::{Shape, ShapeIndex};
use crate::snapshot::{RunningJob, WaitingJob};
use common::id::{JobKey, QosName, ReservationName};
use common::job::PreemptReason;
use common::policy::Policy;
use common::queue::Queue;
use common::time::{Span, Time};
use crowd::Crowd;
use reclaim::Owed;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many placements may be tried in one round to find victims, over all jobs that ask.
pub(crate) const TRIALS_MAX: u32 = 1_000;

/// So many for one job.
pub(crate) const TRIALS_MAX_EACH: u32 = 250;

/// So many running jobs are looked at for one job; the best ones.
const CANDIDATES_MAX: usize = 2_048;

/// A job's priority without its age: the smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tier {
    queue: Reverse<i32>,
    qos: Reverse<i32>,
    nice: i32,
}

impl Tier {
    pub fn new(policy: &Policy, queue: Option<&Queue>, qos: Option<&QosName>, nice: i32) -> Self {
        let qos = qos.and_then(|name| policy.qos.iter().find(|qos| qos.name == *name));
        Self {
            queue: Reverse(queue.map_or(i32::MIN, |queue| queue.priority)),
            qos: Reverse(qos.map_or(0, |qos| qos.priority)),
            nice,
        }
    }
}

/// A job that asks others to yield.
pub(crate) struct Asker<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub queue: &'a Queue,
    pub index: ShapeIndex,
    /// What it asks for, with the fewest tasks.
    pub shape: Shape<'a>,
    pub tier: Tier,
    pub standing: Standing,
    /// Is it the first of its queue without room?
    pub is_head: bool,
    /// It lacks quota, so nodes that it could not use matter, too.
    pub lacks_quota: bool,
}

/// A running job that may be made to yield.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub job: &'a Arc<RunningJob>,
    pub claim: &'a Claim,
    pub reason: PreemptReason,
    /// Thousandths of GPUs times milliseconds that it has run for, and would lose.
    lost: u128,
    tier: Tier,
}

impl Candidate<'_> {
    /// The smaller yields first.
    fn order(&self) -> (u8, Option<Reverse<Tier>>, u128, Reverse<Time>, Reverse<JobKey>) {
        let rule = match self.reason {
            PreemptReason::Reclaim => 0,
            PreemptReason::Priority => 1,
            PreemptReason::HeadTimeout => 2,
        };
        // Among those that passed the head only the loss counts.
        let tier = (self.reason != PreemptReason::HeadTimeout).then_some(Reverse(self.tier));
        (rule, tier, self.lost, Reverse(self.job.started_at), Reverse(self.job.key))
    }
}

/// What is known in a round about asking.
pub(crate) struct Asks<'a> {
    pub trials_left: u32,
    /// Who was made to yield in this round.
    pub chosen: BTreeSet<JobKey>,
    /// Who runs, once somebody asked.
    crowd: Option<Crowd<'a>>,
    /// The shortest time limit with which a job like this found nobody: no longer one will. 0 where
    /// the limit does not matter.
    refused: BTreeMap<Alike, Span>,
}

impl Default for Asks<'_> {
    fn default() -> Self {
        let (chosen, refused) = (BTreeSet::new(), BTreeMap::new());
        Self { trials_left: TRIALS_MAX, chosen, crowd: None, refused }
    }
}

/// What jobs have in common that find the same; the last: does it lack quota?
type Alike = (ShapeIndex, Tier, Standing, Option<ReservationName>, bool);

/// May this job ask anybody at all, by what is configured and what is known of jobs like it? Notes
/// when it may for having waited too long.
pub(crate) fn may_ask(desk: &mut Desk<'_>, asker: &Asker<'_>) -> bool {
    if asker.job.together.is_some() {
        return false;
    }
    let strike = head_timeout::strike(asker);
    desk.look_again(strike.filter(|strike| *strike > desk.now));
    let has_struck = strike.is_some_and(|strike| strike <= desk.now);
    let may = asker.queue.preemption.by_priority
        || has_struck
        || reclaim::may_ask(asker, &desk.books, &desk.queues);
    if !may || desk.asks.trials_left == 0 {
        return false;
    }
    let limit = asker.job.time_limit.unwrap_or(UNLIMITED);
    let refused = desk.asks.refused.get(&alike(asker));
    has_struck || refused.is_none_or(|known| limit < *known)
}

fn alike(asker: &Asker<'_>) -> Alike {
    let reservation = asker.job.reservation.clone();
    (asker.index, asker.tier, asker.standing, reservation, asker.lacks_quota)
}

/// Who yields to this job, and where it goes then. `None`: nobody, because nobody may be asked,
/// or it would not be enough.
pub(crate) fn choose<'a>(desk: &mut Desk<'a>, asker: &Asker<'a>) -> Option<victims::Chosen<'a>> {
    let owed = Owed::new(asker, desk);
    let crowd = desk.asks.crowd.take().unwrap_or_else(|| Crowd::of(desk));
    let mut books = (!owed.is_nothing()).then(|| books_to_come(desk));
    let (candidates, safe_until) = candidates(desk, asker, &crowd, (books.as_ref(), &owed));
    desk.asks.crowd = Some(crowd);
    let found = if candidates.is_empty() {
        Err(Span(0))
    } else {
        let books = books.take().unwrap_or_else(|| books_to_come(desk));
        victims::choose(desk, asker, books, &owed, candidates)
    };
    match found {
        Ok(chosen) => Some(chosen),
        Err(limit) => {
            desk.look_again(safe_until);
            let known = desk.asks.refused.entry(alike(asker)).or_insert(limit);
            *known = limit.min(*known);
            None
        }
    }
}

/// The books when all are gone that are on their way out.
fn books_to_come(desk: &Desk<'_>) -> Books {
    let mut books = desk.books.clone();
    for key in desk.on_the_way_out() {
        if let (Some(claim), Some(job)) = (desk.snapshot.claim_of(key), desk.snapshot.running(key))
        {
            books.remove(claim, job.ends_by);
        }
    }
    books
}

/// Whom the job may ask, who yields first first; and when the next that still has its least run
/// time may be asked.
fn candidates<'a>(
    desk: &Desk<'a>,
    asker: &Asker<'a>,
    crowd: &Crowd<'a>,
    (books, owed): (Option<&Books>, &Owed),
) -> (Vec<Candidate<'a>>, Option<Time>) {
    let mut found = Vec::new();
    let mut safe_until: Option<Time> = None;
    for alike in crowd.groups() {
        let is_lent = books.is_some_and(|books| owed.may_reclaim(books, alike.claim));
        if !is_lent && alike.queue.is_none_or(|queue| queue.name != asker.queue.name) {
            continue;
        }
        let least = alike.queue.map_or(Span(0), |queue| queue.preemption.runtime_min);
        for one in alike.members.iter().filter(|one| !desk.asks.chosen.contains(&one.job.key)) {
            let reason = if priority::yields(asker, one.job, one.tier) {
                PreemptReason::Priority
            } else if head_timeout::yields(asker, desk.now, one.job, one.tier) {
                PreemptReason::HeadTimeout
            } else if is_lent {
                PreemptReason::Reclaim
            } else {
                continue;
            };
            if !asker.lacks_quota && !is_in_the_way(desk, asker, &one.nodes) {
                continue;
            }
            if one.job.started_at + least > desk.now {
                safe_until = safe_until.into_iter().chain([one.job.started_at + least]).min();
                continue;
            }
            let (job, claim) = (one.job, one.claim);
            found.push(Candidate { job, claim, reason, lost: one.lost, tier: one.tier });
        }
    }
    found.sort_by_cached_key(Candidate::order);
    found.truncate(CANDIDATES_MAX);
    (found, safe_until)
}

/// Does it hold anything where the job could go?
fn is_in_the_way(desk: &Desk<'_>, asker: &Asker<'_>, nodes: &[NodeIndex]) -> bool {
    let floor = &desk.snapshot.floor;
    let sides = asker.shape.sides();
    nodes.iter().copied().any(|at| {
        floor.node(at).is_usable()
            && asker.shape.allows(at)
            && sides.iter().any(|(side, _)| asker.shape.is_on_side(floor, at, *side))
    })
}
