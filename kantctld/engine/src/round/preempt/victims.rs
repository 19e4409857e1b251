//! The choice of victims among the candidates: enough of them and none without need, or none at
//! all.
//!
//! Source: Kueue, "Preemption": candidates in order until the job fits, then the list backwards,
//! dropping each that proves unnecessary.
//! Reads: what is free once jobs that are leaving are gone, reservations and promises to earlier
//! jobs, quotas. No job is stopped if the waiting one still did not fit.
//! Knobs: none; `TRIALS_MAX_EACH` bounds the search.
//!
//! No job is preempted for one that would borrow: with the job and without its victims, its queue
//! and that queue's ancestors are within their quotas. Otherwise one queue would take by priority
//! what another reclaims, and so on for ever (Kueue allows it only with borrowWithinCohort).
//!
//! Order: jobs that borrowed, then lowest priority, then fewest GPU-seconds lost (since the start
//! or last checkpoint), then latest start.
//! A job that can run on with less (`--nodes=1-4`) gives up its last nodes: first that alone is
//! tried, then together with stopping others; an elastic job is stopped as a whole last.
//! Dropping is exact for up to 64 victims while trials last; larger sets are dropped in bundles
//! first.
//!
//! Example. Nodes a and b have 8 GPUs each. Job 1 holds 2 GPUs of a and job 2 holds 8 of b, both
//! preemptible; other jobs hold the rest of a and are not. Job 3 needs 8 GPUs. Job 1 is first in
//! the order and does not make room; with job 2 there is room on b, and without job 1, too: only
//! job 2 is stopped.

use super::lower_bound::Could;
use super::room::{Room, Search};
use super::victim_cache::{ToCome, VictimList};
use super::{Asker, Candidate, TRIALS_MAX_EACH};
use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::model::hold::GivenUp;
use crate::model::job::UNLIMITED;
use crate::model::shape::Placing;
use crate::round::planner::RoundState;
use common::job::PreemptReason;
use common::time::Span;

/// At most this many victims are dropped one by one.
const ONE_BY_ONE_MAX: usize = 64;

pub(crate) struct Chosen<'a> {
    pub victims: Vec<Candidate<'a>>,
    pub room: Room,
}

/// Chooses the victims.
///
/// # Errors
/// No job of its class with this time limit or a longer one finds any; 0 where the limit does not
/// matter.
pub(super) fn choose<'a>(
    state: &mut RoundState<'a>,
    asker: &Asker<'a>,
    to_come: &ToCome,
    victim_list: &VictimList<'a>,
) -> Result<Chosen<'a>, Span> {
    let (job, limit) = (asker.job, asker.job.time_limit.unwrap_or(UNLIMITED));
    let could = victim_list.freed.could_suffice(state, asker);
    let is_empty = victim_list.victims.is_empty() && victim_list.smaller.is_empty();
    if is_empty || could == Could::No {
        return Err(Span(0));
    }
    let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
    let principal = state.accounting.principal(&job.queue, job.owner, account, qos);
    // Wherever it goes, it will hold at least this.
    let asked = crate::model::claims::of_shape(&asker.shape, principal, &state.accounting);
    if !victim_list.quotas.iter().any(|quotas| quotas.is_within_quota_with(&asked)) {
        return Err(Span(0));
    }
    let ends_by = job.time_limit.map(|limit| state.now + limit);
    if could == Could::NotSoLong
        || state.broken_future_claim(job.key, &asked, state.now, ends_by).is_some()
    {
        return Err(limit);
    }
    let (sides, quotas) = (asker.shape.sides(), to_come.quotas.clone());
    let (trials_left, looked) = (TRIALS_MAX_EACH, Vec::new());
    let before = cfg!(debug_assertions).then(|| state.counted_on_by_each());
    let needs_no_victim = false;
    let mut search = Search { state, asker, sides, quotas, trials_left, needs_no_victim, looked };
    let chosen = search.least_harm(victim_list).ok_or(limit);
    // The next job to start asks the shadows whether it delays a promise.
    debug_assert!(
        before.is_none_or(|before| search.state.are_shadow_changes_correct(&before)),
        "a search for victims of job {} left its trials in the shadows",
        job.key
    );
    chosen
}

impl<'a> Search<'_, 'a> {
    /// First asks elastic jobs to give up nodes. If that is not enough, stops others, and shrinks
    /// those that can run on with less.
    fn least_harm(&mut self, victim_list: &VictimList<'a>) -> Option<Chosen<'a>> {
        let runs_on = |one: &&Candidate<'a>| one.keeps.is_some();
        let elastic: Vec<Candidate<'a>> =
            victim_list.smaller.iter().filter(runs_on).copied().collect();
        for victims in [&elastic, &victim_list.smaller, &victim_list.victims] {
            if victims.is_empty() || self.needs_no_victim {
                continue;
            }
            self.trials_left = TRIALS_MAX_EACH;
            if let Some(chosen) = self.minimal_victims(victims) {
                return Some(self.let_victims_keep_more(chosen));
            }
        }
        None
    }

    /// Lets each victim keep as much as the others leave it, from the last in preemption order.
    fn let_victims_keep_more(&mut self, mut chosen: Chosen<'a>) -> Chosen<'a> {
        let mut parts: Vec<Option<GivenUp>> = chosen.victims.iter().map(|_| None).collect();
        for at in (0..chosen.victims.len()).rev() {
            let victim = chosen.victims[at];
            let Some(most) = victim.surplus else { continue };
            let all = victim.job.allocation.shares().len();
            // With `enough` kept there is room, with `more` there is none: search between them.
            let (mut enough, mut more) = (most.keeps.0 as usize, all);
            if victim.keeps.is_none() && !self.try_keep_nodes(&mut chosen, &mut parts, at, enough) {
                continue;
            }
            while enough + 1 < more {
                let middle = enough + (more - enough) / 2;
                match self.try_keep_nodes(&mut chosen, &mut parts, at, middle) {
                    true => enough = middle,
                    false => more = middle,
                }
            }
        }
        for (victim, part) in chosen.victims.iter_mut().zip(parts) {
            victim.keeps = part.map(|part| part.keeps).or(victim.keeps);
        }
        chosen
    }

    /// Whether there is room if one of them keeps this many nodes. If so, it keeps them.
    fn try_keep_nodes(
        &mut self,
        chosen: &mut Chosen<'a>,
        parts: &mut [Option<GivenUp>],
        at: usize,
        keeps: usize,
    ) -> bool {
        let job = chosen.victims[at].job;
        let before = parts[at].replace(self.state.snapshot.given_up_beyond(job, keeps));
        let with = chosen.victims.iter().zip(&*parts);
        let victims: Vec<Candidate<'_>> = with
            .map(|(victim, part)| part.as_ref().map_or(*victim, |part| victim.keeping(part)))
            .collect();
        let room = self.room_without(&victims).filter(|room| self.is_allowed(&victims, room));
        drop(victims);
        match room {
            Some(room) => chosen.room = room,
            None => parts[at] = before,
        }
        parts[at].as_ref().is_some_and(|part| part.keeps.0 as usize == keeps)
    }

    /// A minimal set of these that makes room.
    fn minimal_victims(&mut self, victims: &[Candidate<'a>]) -> Option<Chosen<'a>> {
        let (first, mut room) = self.first_sufficient_count(victims)?;
        let mut victims = victims[..first].to_vec();
        self.drop_unneeded_victims(&mut victims, &mut room);
        self.is_allowed(&victims, &room).then_some(Chosen { victims, room })
    }

    /// The number of first candidates that have to leave until there is room, and the place.
    /// `None`: there is none, or the jobs that are leaving anyway make enough room.
    fn first_sufficient_count(&mut self, victims: &[Candidate<'a>]) -> Option<(usize, Room)> {
        let checkpoint = self.state.trial.checkpoint();
        let found = self.first_promising(victims);
        self.go_back(checkpoint);
        let (mut low, known) = match found? {
            (0, Some(_)) => {
                self.needs_no_victim = true;
                return None;
            }
            (many, Some(room)) => return Some((many, room)),
            (many, None) => (many + 1, self.room_without(victims)?),
        };
        let (mut high, mut room) = (victims.len(), known);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.room_without(&victims[..middle]) {
                Some(found) => (high, room) = (middle, found),
                None => low = middle + 1,
            }
        }
        Some((high, room))
    }

    /// Stops one after the other, on trial, until as many nodes as the job needs hold a part of it.
    /// Returns how many were stopped, and the place if nothing else prevents it. `None`: never
    /// enough.
    fn first_promising(&mut self, victims: &[Candidate<'a>]) -> Option<(usize, Option<Room>)> {
        self.state.release_all();
        let Some(need) = self.asker.shape.node_count() else {
            return Some((0, self.room_now(&[])));
        };
        let part = self.asker.shape.demand.even_part(need, need.0.saturating_sub(1));
        let mut holding = self.nodes_holding_part(part);
        for many in 0..=victims.len() {
            if holding.iter().any(|nodes| *nodes >= need.0) {
                return Some((many, self.room_now(&victims[..many])));
            }
            let Some(victim) = victims.get(many) else { break };
            for (at, _) in victim.nodes {
                let before = self.holds(*at, part);
                self.state.trial.give_back(*at, victim.job.key);
                let after = self.holds(*at, part);
                for (nodes, (before, after)) in holding.iter_mut().zip(before.iter().zip(after)) {
                    *nodes += u32::from(after && !before);
                }
            }
        }
        None
    }

    /// The number of nodes on each side that hold a part of the job.
    fn nodes_holding_part(&self, part: Part) -> Vec<u32> {
        let count = |side: &Placing| {
            let search = self.state.node_search_of(self.asker.job, &self.asker.shape, *side, &[]);
            u32::try_from(search.all_that_hold(part).count()).unwrap_or(u32::MAX)
        };
        self.sides.iter().map(count).collect()
    }

    /// Whether this node holds a part, on each side.
    fn holds(&self, at: NodeIndex, part: Part) -> Vec<bool> {
        let holds = |side: &Placing| {
            let search = self.state.node_search_of(self.asker.job, &self.asker.shape, *side, &[]);
            search.holds(at, part)
        };
        self.sides.iter().map(holds).collect()
    }

    /// Drops each victim that proves unnecessary, from the back.
    fn drop_unneeded_victims(&mut self, victims: &mut Vec<Candidate<'a>>, room: &mut Room) {
        let at: Vec<NodeIndex> = room.layout.iter().map(|(at, _)| *at).collect();
        let is_there =
            |victim: &&Candidate<'a>| victim.nodes.iter().any(|(node, _)| at.contains(node));
        let there: Vec<Candidate<'a>> = victims.iter().filter(is_there).copied().collect();
        if there.len() < victims.len()
            && let Some(found) = self.room_without(&there)
        {
            (*victims, *room) = (there, found);
        }
        let mut bundle = victims.len().div_ceil(ONE_BY_ONE_MAX).max(1);
        loop {
            let mut end = victims.len();
            while end > 0 {
                let from = end.saturating_sub(bundle);
                let rest = [&victims[..from], &victims[end..]].concat();
                if let Some(found) = self.room_without(&rest) {
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

    /// Whether what is reclaimed is guaranteed to the job, now that its place is known.
    fn is_allowed(&self, victims: &[Candidate<'_>], room: &Room) -> bool {
        let mut quotas = self.quotas.clone();
        victims.iter().all(|victim| {
            let may = victim.reason != PreemptReason::Reclaim
                || quotas.may_reclaim(&room.claim, victim.claim);
            quotas.remove(victim.claim, victim.job.ends_by);
            may
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::model::job::WaitingJob;
    use crate::round::preempt::tests::{World, high, low, queue};
    use crate::testing::{gpu_node, key};

    #[test]
    fn the_example() {
        let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], vec![queue("q")]);
        let stays = WaitingJob { preemptible: Some(false), ..low(4, 6) };
        world.submit(low(1, 2)).submit(low(2, 8)).submit(stays);
        world.round();
        let nodes = |job| {
            let allocation = &world.snapshot.running_job(key(job)).unwrap().allocation;
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
        let request = crate::round::preempt::tests::on_nodes(15, 8);
        world.at(5).submit(crate::round::preempt::tests::with_request(high(200, 8), request));
        assert_eq!(world.round().len(), 120);
        for victim in world.snapshot.ending.keys().copied().collect::<Vec<_>>() {
            world.snapshot.remove_job(victim);
        }
        assert_eq!(world.round().len(), 1);
    }
}
