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
mod room;
mod roster;
mod suffice;
pub(crate) mod victims;

#[cfg(test)]
pub(crate) mod tests;

use crate::books::{Claim, Standing};
use crate::desk::Desk;
use crate::floor::NodeIndex;
use crate::line::UNLIMITED;
use crate::shape::{Shape, ShapeIndex};
use crate::snapshot::{GivenUp, RunningJob, WaitingJob};
use common::id::{JobKey, QosName, ReservationName};
use common::job::PreemptReason;
use common::policy::Policy;
use common::queue::Queue;
use common::time::{Span, Time};
use common::unit::Nodes;
pub(crate) use crowd::Crowd;
use reclaim::Owed;
use roster::Rosters;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many placements may be tried in one round to find victims, over all jobs that ask.
pub(crate) const TRIALS_MAX: u32 = 1_000;

/// So many for one job.
pub(crate) const TRIALS_MAX_EACH: u32 = 250;

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

/// Rule, tier, what is lost, when it started, which job.
type Place = (u8, Option<Reverse<Tier>>, u128, Reverse<Time>, Reverse<JobKey>);

/// A running job that may be made to yield.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub job: &'a Arc<RunningJob>,
    pub claim: &'a Claim,
    pub reason: PreemptReason,
    /// Where it holds something, and how many GPUs there.
    pub nodes: &'a [(NodeIndex, u32)],
    /// Thousandths of GPUs times milliseconds since it started or saved its work: it would lose
    /// that.
    lost: u128,
    tier: Tier,
    /// On so many of its first nodes it runs on; `None`: all of it goes. Claim and nodes are those
    /// that it gives up.
    pub keeps: Option<Nodes>,
    /// The most that it could give up and run on.
    surplus: Option<&'a GivenUp>,
}

impl<'a> Candidate<'a> {
    /// The same, but it runs on, with as little as it is content with.
    fn smallest(self) -> Option<Self> {
        self.surplus.map(|part| self.keeping(part))
    }

    /// The same, but it gives up only this.
    fn keeping<'b>(self, part: &'b GivenUp) -> Candidate<'b>
    where
        'a: 'b,
    {
        let (keeps, claim, nodes) = (Some(part.keeps), &part.claim, &part.nodes[..]);
        Candidate { keeps, claim, nodes, ..self }
    }

    /// The smaller yields first.
    fn order(&self) -> Place {
        let rule = match self.reason {
            PreemptReason::Reclaim => 0,
            PreemptReason::Priority => 1,
            PreemptReason::HeadTimeout => 2,
            // Nobody is asked to: where queues share fairly a plan moves them.
            PreemptReason::Move => 3,
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
    /// Whom jobs may ask, as far as somebody asked.
    rosters: Rosters<'a>,
    /// The shortest time limit with which a job like this found nobody: no longer one will. 0 where
    /// the limit does not matter.
    refused: BTreeMap<Alike, Span>,
}

impl Default for Asks<'_> {
    fn default() -> Self {
        let (chosen, refused) = (BTreeSet::new(), BTreeMap::new());
        Self { trials_left: TRIALS_MAX, chosen, rosters: Rosters::default(), refused }
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
    let (books, roster) = Rosters::of(desk, asker, &owed);
    match victims::choose(desk, asker, &books, &roster) {
        Ok(chosen) => Some(chosen),
        Err(limit) => {
            desk.look_again(roster.safe_until);
            let known = desk.asks.refused.entry(alike(asker)).or_insert(limit);
            *known = limit.min(*known);
            None
        }
    }
}
