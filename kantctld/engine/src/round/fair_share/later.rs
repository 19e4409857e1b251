//! Nodes reserved for a future time: the first job of a queue that finds no room gets certain nodes
//! from a certain time on, so that smaller jobs of its own queue do not delay it for ever. It gets
//! none while another queue waits for its fair share.
//!
//! Source: ours, by the time limits of running jobs; KAI Scheduler has no such rule, and a large
//! gang waits until enough happens to be free. Reads: time limits, shares. Knobs: none.
//!
//! Example, two nodes of 8 GPUs, one queue. Job 1 runs on the first with 8, for an hour more. Job 2
//! asks for both nodes: they are reserved for it in an hour. Job 3 asks for 4 GPUs for two hours,
//! and waits; job 4 asks for 4 for half an hour, and starts on the second.

use super::gang::Gang;
use super::line::Turn;
use super::place::Lacking;
use super::round::FairRound;
use crate::model::shares::tree::QueueAt;
use crate::policy::sharing::taking::{Claimant, may_claim};
use std::collections::{BTreeMap, BTreeSet};

impl<'a> FairRound<'a> {
    /// Reserves nodes for the first job of each queue that lacks room, and drops reservations that
    /// may not be kept any longer.
    pub fn keep_for_later(&mut self) {
        let due = self.queues_below_fair_share();
        let others_are_due = |queue: QueueAt| due.iter().any(|other| *other != queue);
        let has_one = self.keep_reservations_unless(others_are_due);
        if due.len() > 1 {
            // For each queue, another one is due.
            return;
        }
        let mut firsts: BTreeMap<QueueAt, Lacking<'a>> = BTreeMap::new();
        let alone = |one: &&Lacking<'a>| one.turn.job.together.is_none();
        for one in self.lacking.iter().flatten().filter(alone).filter(|one| self.lacks_room(one)) {
            let job = one.turn.job;
            let first = firsts.entry(one.turn.queue).or_insert(*one);
            if (one.turn.place, job.key) < (first.turn.place, first.turn.job.key) {
                *first = *one;
            }
        }
        for (queue, one) in firsts {
            let asks = self.accounts.facts(one.turn.at).asks.least;
            // The queue is entitled to this capacity once its own jobs end.
            let is_within = asks.is_within(&self.accounts.tree.accounts[queue.0].fair);
            let may = is_within && !has_one.contains(&queue) && !others_are_due(queue);
            if may && self.state.may_start_at_all(one.turn.job, one.shape).is_ok() {
                self.state.keep_for_later(one.turn.job, one.shape);
            }
        }
    }

    /// Whether the job still waits for room.
    fn lacks_room(&self, one: &Lacking<'a>) -> bool {
        one.excess.is_none() && !self.is_served(one.turn.job.key)
    }

    /// The queues with a job that waits for room within their fair share.
    pub fn queues_below_fair_share(&mut self) -> BTreeSet<QueueAt> {
        let (alone, together): (Vec<&Lacking<'a>>, Vec<&Lacking<'a>>) =
            self.lacking.iter().flatten().partition(|one| one.turn.job.together.is_none());
        let is_due = |one: &&Lacking<'a>| {
            may_claim(&self.accounts.tree, &one.turn.claimant(&self.accounts))
                && self.lacks_room(one)
        };
        let mut due: BTreeSet<QueueAt> =
            alone.into_iter().filter(is_due).map(|one| one.turn.queue).collect();
        let together: Vec<Turn<'a>> =
            together.into_iter().filter(|one| self.lacks_room(one)).map(|one| one.turn).collect();
        for turn in together {
            let gang = Gang::of_turn(&mut self.state, &mut self.accounts, &turn);
            let Some(Gang { asks, is_preemptible, .. }) = gang else { continue };
            let queue = turn.queue;
            if may_claim(&self.accounts.tree, &Claimant { queue, asks, is_preemptible }) {
                due.insert(queue);
            }
        }
        due
    }

    /// Keeps the reservations of queues unless others are due. Returns the queues with one.
    fn keep_reservations_unless(
        &mut self,
        others_are_due: impl Fn(QueueAt) -> bool,
    ) -> BTreeSet<QueueAt> {
        let mut has_one = BTreeSet::new();
        let keys: Vec<_> = self.state.planned_starts.keys().copied().collect();
        for key in keys {
            let Some(job) = self.state.snapshot.waiting_job(key) else { continue };
            let Some(queue) = self.accounts.find(&job.queue) else { continue };
            if self.state.has_started(key) || !self.state.has_planned_start(key) {
                continue;
            }
            if others_are_due(queue) {
                self.state.give_up(key);
                self.state.schedule_next_round(Some(self.state.now));
            } else {
                has_one.insert(queue);
            }
        }
        has_one
    }
}
