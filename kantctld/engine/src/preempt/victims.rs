//! Who of those that may be asked has to go: enough, and nobody in vain. All or nothing.
//!
//! Source: Kueue, "Preemption": candidates in order until the job fits, then the list backwards,
//! leaving out whoever proves unnecessary.
//! Reads: what is free when all are gone that are on their way out, reservations and promises to
//! those before the job, quotas. Never: lets somebody go if the job still did not fit.
//! Knobs: none; `TRIALS_MAX_EACH` bounds the search.
//!
//! Nobody yields to a job that would borrow: with it, and without them, its queue and all above it
//! are within their quotas. Else what one takes by priority another queue takes back, and so on for
//! ever (Kueue allows it only where borrowWithinCohort is asked for).
//!
//! Order: who borrowed, then lowest priority, then fewest GPU-seconds lost, then started last.
//! Leaving out is exact for up to 64 victims as long as trials last; of more, they are left out in
//! bundles first.
//!
//! Example. Nodes a and b have 8 GPUs each. Job 1 holds 2 GPUs of a and job 2 holds 8 of b, both
//! preemptible; other jobs hold the rest of a and are not. Job 3 needs 8 GPUs. Job 1 is first in
//! the order and does not make room; with job 2 there is room on b, and without job 1, too: only
//! job 2 yields.

use super::reclaim::Owed;
use super::suffice::could_suffice;
use super::{Asker, Candidate, TRIALS_MAX_EACH};
use crate::books::{Books, Claim};
use crate::desk::Desk;
use crate::fit::gang::{Layout, lay_out};
use crate::floor::NodeIndex;
use crate::floor::node::{Holder, NEVER};
use crate::line::UNLIMITED;
use crate::place::{Placed, filled_in};
use common::id::JobKey;
use common::job::PreemptReason;
use common::time::Span;
use std::sync::Arc;

/// Up to so many victims are left out one by one.
const ONE_BY_ONE_MAX: usize = 64;

/// Who yields.
pub(crate) struct Chosen<'a> {
    pub victims: Vec<Candidate<'a>>,
    pub room: Room,
}

/// Where a job goes when they are gone.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    pub layout: Layout,
    pub claim: Claim,
}

/// Chooses the victims.
///
/// # Errors
/// No job like it with this time limit or a longer one finds any; 0 where the limit does not
/// matter.
pub(super) fn choose<'a>(
    desk: &mut Desk<'a>,
    asker: &Asker<'a>,
    books: Books,
    owed: &Owed,
    candidates: Vec<Candidate<'a>>,
) -> Result<Chosen<'a>, Span> {
    let victims = allowed(&books, owed, candidates);
    if victims.is_empty() || !could_suffice(desk, asker, &victims) {
        return Err(Span(0));
    }
    let limit = asker.job.time_limit.unwrap_or(UNLIMITED);
    enough(desk, asker, books, victims).ok_or(limit)
}

/// As few of them as make room.
fn enough<'a>(
    desk: &mut Desk<'a>,
    asker: &Asker<'a>,
    books: Books,
    mut victims: Vec<Candidate<'a>>,
) -> Option<Chosen<'a>> {
    let mut search = Search { desk, asker, books, trials_left: TRIALS_MAX_EACH };
    if search.room(&[]).is_some() {
        // It has room when those are gone who go anyway.
        return None;
    }
    let mut room = search.room(&victims)?;
    let (mut low, mut high) = (1, victims.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match search.room(&victims[..middle]) {
            Some(found) => (high, room) = (middle, found),
            None => low = middle + 1,
        }
    }
    victims.truncate(high);
    search.leave_out(&mut victims, &mut room);
    search.is_allowed(&victims, &room).then_some(Chosen { victims, room })
}

/// Those that may be asked one after the other: who borrowed only as long as there is more to be
/// taken back.
fn allowed<'a>(books: &Books, owed: &Owed, candidates: Vec<Candidate<'a>>) -> Vec<Candidate<'a>> {
    let mut books = books.clone();
    let mut allowed = candidates;
    allowed.retain(|candidate| {
        let may =
            candidate.reason != PreemptReason::Reclaim || owed.may_reclaim(&books, candidate.claim);
        if may {
            books.remove(candidate.claim, candidate.job.ends_by);
        }
        may
    });
    allowed
}

struct Search<'s, 'a> {
    desk: &'s mut Desk<'a>,
    asker: &'s Asker<'a>,
    /// Without those on their way out.
    books: Books,
    trials_left: u32,
}

impl<'a> Search<'_, 'a> {
    /// Where the job goes if these are gone; `None`: nowhere, or there were too many trials.
    fn room(&mut self, victims: &[Candidate<'a>]) -> Option<Room> {
        if self.trials_left == 0 || self.desk.asks.trials_left == 0 {
            return None;
        }
        self.trials_left -= 1;
        self.desk.asks.trials_left -= 1;
        let checkpoint = self.desk.trial.checkpoint();
        let gone: Vec<JobKey> = self.desk.on_the_way_out().collect();
        let gone = gone.into_iter().chain(victims.iter().map(|victim| victim.job.key));
        gone.for_each(|key| self.desk.let_go(key));
        let found = self.place();
        self.desk.trial.roll_back(checkpoint);
        let (layout, placed) = found?;
        self.desk.look(&nodes(&layout), NEVER);
        let shares = placed.shares.iter().map(|(_, share)| share);
        let (job, floor) = (self.asker.job, self.desk.trial.floor);
        let claim = crate::claims::of_start(job, shares, floor, &mut self.books);
        let mut books = self.books.clone();
        victims.iter().for_each(|victim| books.remove(victim.claim, victim.job.ends_by));
        let ends_by = job.time_limit.map(|limit| self.desk.now + limit);
        let may_have = books.admit(&claim).is_ok()
            && books.is_within_quota_with(&claim)
            && self.desk.broken_pledge(job.key, &claim, (self.desk.now, ends_by)).is_none();
        may_have.then_some(Room { layout, claim })
    }

    /// A place that hurts nobody's reservation, as the trial is now.
    fn place(&mut self) -> Option<(Layout, Placed)> {
        let (job, shape) = (self.asker.job, &self.asker.shape);
        for side in shape.sides() {
            let mut avoid: Vec<bool> = Vec::new();
            for _ in 0..2 {
                let hall = self.desk.hall_of(job, shape, side, &avoid);
                let Some(layout) = lay_out(&hall) else { break };
                let placed = filled_in(&hall, layout.clone());
                avoid = self.hurt(&placed);
                if avoid.is_empty() {
                    return Some((layout, placed));
                }
            }
        }
        None
    }

    /// The nodes that those count on who would be delayed; empty: nobody would be.
    fn hurt(&mut self, placed: &Placed) -> Vec<bool> {
        if self.desk.shadows.is_empty() {
            return Vec::new();
        }
        let (job, ends) = (self.asker.job, self.desk.ends_by(self.asker.job.time_limit));
        let checkpoint = self.desk.trial.checkpoint();
        let nodes: Vec<NodeIndex> = placed.shares.iter().map(|(at, _)| *at).collect();
        for (at, share) in &placed.shares {
            let whole_node = job.request.exclusive;
            let share = share.clone();
            let holder = Holder { key: job.key, until: ends, share, whole_node, group: None };
            self.desk.trial.take(*at, Arc::new(holder));
        }
        let hurt = self.desk.hurt(&nodes, ends);
        let floor = self.desk.trial.floor;
        let counts_on = |at| hurt.iter().any(|which| self.desk.shadows[*which].1.counts_on(at));
        let avoid = match hurt.is_empty() {
            true => Vec::new(),
            false => floor.nodes().map(|(at, _)| counts_on(at)).collect(),
        };
        self.desk.trial.roll_back(checkpoint);
        self.desk.look(&nodes, NEVER);
        avoid
    }

    /// Leaves out whoever proves unnecessary, from the back.
    fn leave_out(&mut self, victims: &mut Vec<Candidate<'a>>, room: &mut Room) {
        let at = nodes(&room.layout);
        let floor = &self.desk.snapshot.floor;
        let is_there = |victim: &&Candidate<'a>| {
            let mut shares = victim.job.allocation.shares().iter();
            shares.any(|share| floor.find(&share.node).is_some_and(|node| at.contains(&node)))
        };
        let there: Vec<Candidate<'a>> = victims.iter().filter(is_there).copied().collect();
        if there.len() < victims.len()
            && let Some(found) = self.room(&there)
        {
            (*victims, *room) = (there, found);
        }
        let mut bundle = victims.len().div_ceil(ONE_BY_ONE_MAX).max(1);
        loop {
            let mut end = victims.len();
            while end > 0 {
                let from = end.saturating_sub(bundle);
                let rest = [&victims[..from], &victims[end..]].concat();
                if let Some(found) = self.room(&rest) {
                    (*victims, *room) = (rest, found);
                }
                end = from;
            }
            if bundle == 1 {
                return;
            }
            bundle = bundle.div_ceil(2);
        }
    }

    /// Is what is taken back owed, now that it is known what the job would get?
    fn is_allowed(&self, victims: &[Candidate<'a>], room: &Room) -> bool {
        let mut books = self.books.clone();
        victims.iter().all(|victim| {
            let may = victim.reason != PreemptReason::Reclaim
                || books.may_reclaim(&room.claim, victim.claim);
            books.remove(victim.claim, victim.job.ends_by);
            may
        })
    }
}

fn nodes(layout: &Layout) -> Vec<NodeIndex> {
    layout.iter().map(|(at, _)| *at).collect()
}

#[cfg(test)]
mod tests {
    use crate::preempt::tests::{World, high, low, queue};
    use crate::snapshot::WaitingJob;
    use crate::testing::{gpu_node, key};

    #[test]
    fn the_example() {
        let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], vec![queue("q")]);
        let stays = WaitingJob { preemptible: Some(false), ..low(4, 6) };
        world.submit(low(1, 2)).submit(low(2, 8)).submit(stays);
        world.round();
        let nodes = |job| {
            let allocation = &world.snapshot.running(key(job)).unwrap().allocation;
            allocation.shares()[0].node.to_string()
        };
        assert_eq!([nodes(1), nodes(2), nodes(4)], ["a", "b", "a"]);
        world.at(5).submit(high(3, 8));
        assert_eq!(world.round(), ["2 for 3"]);
    }

    #[test]
    fn hundreds_yield_to_one_and_not_one_too_many() {
        let nodes: Vec<_> = (10..30).map(|node| gpu_node(&format!("n{node}"), 8)).collect();
        let mut world = World::new(nodes, vec![queue("q")]);
        for job in 1..=160 {
            world.submit(low(job, 1));
        }
        assert_eq!(world.round().len(), 160);
        let request = crate::preempt::tests::on_nodes(15, 8);
        world.at(5).submit(crate::preempt::tests::with_request(high(200, 8), request));
        assert_eq!(world.round().len(), 120);
        for victim in world.snapshot.ending.keys().copied().collect::<Vec<_>>() {
            world.snapshot.remove_job(victim);
        }
        assert_eq!(world.round().len(), 1);
    }
}
