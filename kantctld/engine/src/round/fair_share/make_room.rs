//! Room for a job whose queue is entitled to it, or that has a higher priority: victims are sought,
//! and then judged as a whole. Either all of them are stopped and the room is kept, or nothing
//! changes.
//!
//! Source: KAI Scheduler, reclaim and preempt: the most over-served queue first, the fewest that
//! make room, and no side of the claimant ends up fuller than one that loses.
//! Reads: what is free, shares, run times. Knobs: those of [`super::candidates`].
//!
//! Example, two nodes of 8 GPUs. Queues a and b have a fair share of 8 each; jobs 1 and 2 of b run
//! with 8 each, 2 is younger. Job 3 of a asks for 4: 2 is stopped, and its node is kept for 3.

use super::accounts::ClassAt;
use super::candidates::{Candidate, Candidates};
use super::claim::{Claim, Lose};
use super::gang::Gang;
use super::line::Line;
use super::round::FairRound;
use super::search::{Bounds, Found, Search};
use super::wanted::Wanted;
use crate::model::cluster::{ClusterIndex, NodeIndex};
use crate::model::shape_cache::RoomIndex;
use crate::model::shares::Amount;
use crate::model::shares::held;
use crate::model::shares::tree::{QueueAt, Tree};
use crate::policy::sharing::bounds::{Excess, within_bounds};
use crate::policy::sharing::order::Rank;
use crate::policy::sharing::taking::{Claimant, may_claim, may_take};
use crate::round::planner::{Mover, Victim};
use common::id::JobKey;
use common::job::PreemptReason;
use common::time::Time;
use std::collections::BTreeSet;

/// Jobs for which this is equal find the same victims, or none: queue, room, end, priority, and
/// whether they are preemptible.
type Equivalent = (QueueAt, RoomIndex, Time, i64, bool);

/// For at most this many jobs others make room in one pass; the next round goes on. Each of them
/// costs more than the one before, because all jobs that leave are released on trial.
const CLAIMS_MAX: u32 = 200;

impl<'a> FairRound<'a> {
    /// Lets the jobs without room take it from others, in the order of their queues.
    pub fn make_room_for_all(&mut self, why: PreemptReason) {
        let mut claiming = self.classes_with_claim(why, |_| true);
        if claiming.is_empty() {
            return;
        }
        let turns = self.turns;
        let in_line = |class: ClassAt| {
            let lacking = self.lacking[class.0].as_ref();
            lacking.is_some_and(|one| self.may_preempt_others(one, why))
        };
        let mut line = Line::new(&self.state, &self.accounts, turns, in_line);
        let mut in_vain: BTreeSet<Equivalent> = BTreeSet::new();
        let due = if why == PreemptReason::Move {
            self.queues_below_fair_share()
        } else {
            BTreeSet::new()
        };
        let mut claims_left = CLAIMS_MAX;
        // Without another claim nothing changes any more.
        while (claims_left == 0 || !claiming.is_empty())
            && let Some(turn) = line.pop(&self.accounts)
        {
            if !line.has(&turn) {
                claiming.remove(&turn.class);
            }
            let job = turn.job;
            if self.is_served(job.key) {
                continue;
            }
            if claims_left == 0 {
                return self.state.schedule_next_round(Some(self.state.now));
            }
            let gang = Gang::of_turn(&mut self.state, &mut self.accounts, &turn);
            let Some(gang) = gang else { continue };
            let Some(claim) = self.claim(turn.queue, &gang, why) else {
                line.drop_class(&self.accounts, &turn);
                claiming.remove(&turn.class);
                continue;
            };
            // Room beyond its fair share would be taken from it for the other queue.
            if due.iter().any(|other| *other != turn.queue) && !self.is_within_fair_share(&claim) {
                continue;
            }
            let equivalent =
                self.equivalence_key(turn.queue, &gang).filter(|_| job.together.is_none());
            let is_known = equivalent.is_some_and(|equivalent| in_vain.contains(&equivalent));
            if is_known || !self.may_start_then(&gang, turn.queue) {
                continue;
            }
            if self.make_room(&gang, claim) {
                in_vain.clear();
                claims_left -= 1;
                line.rerank_queue(&self.accounts, turn.queue);
                claiming = self.classes_with_claim(why, |turn| line.has(turn));
            } else {
                in_vain.extend(equivalent);
            }
        }
    }

    /// Whether the claimant's queue holds at most its fair share with the job.
    fn is_within_fair_share(&self, claim: &Claim) -> bool {
        may_claim(&self.accounts.tree, &claim.claimant)
    }

    /// Whether the job has started, or has room kept.
    pub fn is_served(&self, key: JobKey) -> bool {
        self.state.has_started(key) || !self.state.room_kept_for(key).is_empty()
    }

    /// Whether all of a gang may start at all now, whatever is free.
    pub fn may_start_at_all(&mut self, gang: &Gang<'a>) -> bool {
        gang.parts.iter().all(|(job, shape)| self.state.may_start_at_all(job, *shape).is_ok())
    }

    /// The same, once others have made room: where the queue's limit is exceeded, the jobs that are
    /// stopped may be its own.
    fn may_start_then(&mut self, gang: &Gang<'a>, queue: QueueAt) -> bool {
        let bounded = within_bounds(&self.accounts.tree, queue, &gang.asks, gang.is_preemptible);
        if bounded.is_ok() {
            return self.may_start_at_all(gang);
        }
        gang.parts.iter().all(|(job, shape)| self.state.may_start_within_quota(job, *shape))
    }

    fn equivalence_key(&self, queue: QueueAt, gang: &Gang<'a>) -> Option<Equivalent> {
        let (job, shape) = gang.parts.first()?;
        let room = self.state.shapes.room_of(*shape);
        let ends = self.state.ends_by(job.time_limit);
        Some((queue, room, ends, gang.priority, gang.is_preemptible))
    }

    /// Finds victims, stops them and keeps the room. Returns whether it is kept.
    fn make_room(&mut self, gang: &Gang<'a>, claim: Claim) -> bool {
        if claim.why == PreemptReason::Move {
            return self.move_for(gang, claim);
        }
        // A job of a queue that may lose nothing, which cannot move either, would end the search.
        let some = Candidates::new(&self.state, &self.accounts, claim, Lose::Stopped);
        let queues = some.queues();
        if self.make_room_among(gang, claim, some) {
            return true;
        }
        let may_more = claim.may_move && claim.why == PreemptReason::Reclaim;
        let new = || Candidates::new(&self.state, &self.accounts, claim, Lose::StoppedOrMoved);
        let all = may_more.then(new).filter(|all| all.queues() > queues);
        all.is_some_and(|all| self.make_room_among(gang, claim, all))
    }

    fn make_room_among(
        &mut self,
        gang: &Gang<'a>,
        claim: Claim,
        mut candidates: Candidates<'a>,
    ) -> bool {
        let free = self.accounts.total.minus(&self.held_in_all());
        let at_most = free.plus(&candidates.upper_bound_held(&self.accounts));
        if candidates.is_empty() || claim.claimant.asks.gpu_milli > at_most.gpu_milli {
            return false;
        }
        let accounts = &self.accounts;
        let wanted = self.wanted(gang);
        let keys: Vec<JobKey> = gang.parts.iter().map(|(job, _)| job.key).collect();
        let Claimant { queue, asks, is_preemptible } = claim.claimant;
        let moves_max = if claim.may_move { self.moves_left } else { 0 };
        let cluster = &self.state.snapshot.cluster;
        let is_within = |victims: &[Candidate<'a>]| {
            let after = tree_without(&accounts.tree, &lost_by(cluster, victims));
            within_bounds(&after, queue, &asks, is_preemptible).is_ok()
        };
        let exceeded = within_bounds(&accounts.tree, queue, &asks, is_preemptible).err();
        let is_counted = |exceeded: QueueAt| {
            Box::new(move |of: QueueAt| accounts.tree.path(of).contains(&exceeded))
        };
        let bounds = exceeded.map(|(Excess::Limit(at, _) | Excess::Quota(at, _))| Bounds {
            is_within: Box::new(is_within),
            is_counted: is_counted(at),
        });
        let found = self.state.without_own_bookings(&keys, |state| {
            let search = Search::new(state, wanted).with_moves(moves_max);
            let mut search = match bounds {
                Some(bounds) => search.within(bounds),
                None => search,
            };
            search.find_fewest_victims(|state| candidates.next(state, accounts))
        });
        found.is_some_and(|found| self.stop_for(gang, &claim, &found))
    }

    /// The jobs of a gang with their fewest tasks.
    pub fn wanted(&self, gang: &Gang<'a>) -> Wanted<'a> {
        let shape = |shape| self.state.shapes.get(shape).with_fewest_tasks().into_owned();
        let parts = gang.parts.iter().map(|(job, at)| (*job, shape(*at))).collect();
        Wanted { parts, near: gang.near }
    }

    /// Stops these jobs for a gang, if the whole is allowed.
    fn stop_for(&mut self, gang: &Gang<'a>, claim: &Claim, (victims, places): &Found<'a>) -> bool {
        let lost = lost_by(&self.state.snapshot.cluster, victims);
        let claimant = &claim.claimant;
        let is_reclaim = claim.why == PreemptReason::Reclaim;
        if is_reclaim && !self.may_take_it(claimant, &lost) {
            return false;
        }
        let mut after = tree_without(&self.accounts.tree, &lost);
        if is_reclaim && !self.goes_first(&after, claimant, &lost) {
            return false;
        }
        let is_preemptible = claimant.is_preemptible;
        if within_bounds(&after, claimant.queue, &claimant.asks, is_preemptible).is_err() {
            return false;
        }
        if !self.keep_rooms(gang, (victims, places), claim.why) {
            return false;
        }
        after.charge(claimant.queue, &claimant.asks, !is_preemptible, true);
        self.accounts.tree = after;
        true
    }

    /// Stops or moves these jobs and keeps these places for a gang. Returns whether they are kept.
    pub fn keep_rooms(
        &mut self,
        gang: &Gang<'a>,
        (victims, places): (&[Candidate<'a>], &[Vec<NodeIndex>]),
        why: PreemptReason,
    ) -> bool {
        let (own, again) = places.split_at(gang.parts.len());
        let (moved, stopped): (Vec<&Candidate<'a>>, Vec<&Candidate<'a>>) =
            victims.iter().partition(|one| one.again.is_some());
        let movers: Vec<Mover<'a>> =
            moved.iter().zip(again).map(|(one, nodes)| (one.job, nodes.clone())).collect();
        let victim = |one: &&Candidate<'a>| Victim { job: one.job, reason: why, keeps: one.keeps };
        let stopped: Vec<Victim<'a>> = stopped.iter().map(victim).collect();
        if !self.state.preempt_for_all(&gang.at(own), &stopped, &movers) {
            return false;
        }
        let moved = u32::try_from(movers.len()).unwrap_or(u32::MAX);
        self.moves_left = self.moves_left.saturating_sub(moved);
        true
    }

    /// Whether the claimant may take these, as queues stand now; and as they would if jobs that
    /// started in this round had only their minimum, and those that wait for others to leave or to
    /// move had nothing yet, as the judge counts them.
    fn may_take_it(&self, claimant: &Claimant, lost: &[(QueueAt, Amount)]) -> bool {
        let tree = &self.accounts.tree;
        if !may_take(tree, claimant, lost, 1.0) {
            return false;
        }
        if self.extra.is_empty() {
            return true;
        }
        let mut least = tree.clone();
        for (queue, extra) in &self.extra {
            extra.iter().for_each(|amount| least.charge(*queue, amount, false, false));
        }
        may_take(&least, claimant, lost, 1.0)
    }

    /// Whether the claimant's queue has its turn before each queue that loses something, once that
    /// is free. Otherwise the victims would have the first claim to what they left.
    fn goes_first(&self, after: &Tree, claimant: &Claimant, lost: &[(QueueAt, Amount)]) -> bool {
        let rank = |at: QueueAt, asks: &Amount| {
            let held = &after.accounts[at.0].allocated;
            Rank::of(after, &self.accounts.total, at, (held, asks))
        };
        lost.iter().all(|(queue, amount)| {
            let sides = after.siblings_on_paths(claimant.queue, *queue);
            sides.is_none_or(|(own, other)| rank(own, &claimant.asks) < rank(other, amount))
        })
    }

    /// What all queues hold.
    fn held_in_all(&self) -> Amount {
        let tree = &self.accounts.tree;
        let tops = tree.below(None).iter().map(|at| tree.accounts[at.0].allocated);
        tops.fold(Amount::default(), |sum, one| sum.plus(&one))
    }
}

/// What the queues of these victims lose.
fn lost_by(cluster: &ClusterIndex, victims: &[Candidate<'_>]) -> Vec<(QueueAt, Amount)> {
    let gives = |victim: &Candidate<'_>| {
        let keeps = victim.keeps.map_or(0, |keeps| keeps.0 as usize);
        held(cluster, &victim.job.allocation.shares()[keeps..])
    };
    let stopped = victims.iter().filter(|victim| victim.again.is_none());
    stopped.map(|victim| (victim.queue, gives(victim))).collect()
}

/// The queues once these amounts are gone.
fn tree_without(tree: &Tree, lost: &[(QueueAt, Amount)]) -> Tree {
    let mut after = tree.clone();
    lost.iter().for_each(|(queue, amount)| after.charge(*queue, amount, false, false));
    after
}
