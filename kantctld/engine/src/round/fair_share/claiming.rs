//! Which waiting jobs have a claim on what others hold, as queues stand now.

use super::claim::Claim;
use super::gang::Gang;
use super::line::Turn;
use super::place::Lacking;
use super::round::FairRound;
use crate::model::shares::tree::QueueAt;
use crate::model::wait_queue::ClassId;
use crate::policy::sharing::bounds::{Excess, within_bounds};
use crate::policy::sharing::taking::{Claimant, may_claim};
use common::job::PreemptReason;
use std::collections::BTreeSet;

impl<'a> FairRound<'a> {
    /// The classes in line of which a job has a claim now. What queues hold changes only when one
    /// succeeds, so without any no other will have one.
    pub fn classes_with_claim(
        &self,
        why: PreemptReason,
        is_in_line: impl Fn(&Turn<'a>) -> bool,
    ) -> BTreeSet<ClassId> {
        let may_claim = |one: &Lacking<'a>| {
            self.may_preempt_others(one, why)
                && (one.turn.job.together.is_some() || self.claim_of(&one.turn, why).is_some())
                && is_in_line(&one.turn)
        };
        let all = self.lacking.iter().flatten().filter(|one| may_claim(one));
        all.map(|one| one.turn.class).collect()
    }

    /// Whether jobs of a class may ask others at all.
    pub fn may_preempt_others(&self, one: &Lacking<'a>, why: PreemptReason) -> bool {
        let may = match why {
            PreemptReason::Reclaim => self.accounts.facts(one.turn.at).reclaims,
            PreemptReason::Priority => self.accounts.facts(one.turn.at).preempts,
            PreemptReason::Move => true,
            PreemptReason::HeadTimeout => false,
        };
        may && !matches!(one.excess, Some(Excess::Quota(..)))
    }

    /// The claim of a gang. `None`: its queue has its fair share or its quota.
    pub fn claim(&self, at: QueueAt, gang: &Gang<'a>, why: PreemptReason) -> Option<Claim> {
        let (asks, is_preemptible) = (gang.asks, gang.is_preemptible);
        self.claim_if_allowed(Claimant { queue: at, asks, is_preemptible }, gang.priority, why)
    }

    /// The claim of a job that waits alone.
    fn claim_of(&self, turn: &Turn<'a>, why: PreemptReason) -> Option<Claim> {
        let priority = self.accounts.facts(turn.at).priority;
        self.claim_if_allowed(turn.claimant(&self.accounts), priority, why)
    }

    fn claim_if_allowed(
        &self,
        claimant: Claimant,
        priority: i64,
        why: PreemptReason,
    ) -> Option<Claim> {
        let tree = &self.accounts.tree;
        let Claimant { queue, asks, is_preemptible } = claimant;
        if why == PreemptReason::Reclaim && !may_claim(tree, &claimant) {
            return None;
        }
        let bounded = within_bounds(tree, queue, &asks, is_preemptible);
        let may = match why {
            PreemptReason::Move => is_preemptible && bounded.is_ok() && self.moves_left > 0,
            PreemptReason::Reclaim | PreemptReason::Priority | PreemptReason::HeadTimeout => true,
        };
        let may = may && !matches!(bounded, Err(Excess::Quota(..)));
        // Nothing moves for a job that is not preemptible.
        let may_move = is_preemptible && self.moves_left > 0;
        may.then_some(Claim { claimant, priority, why, may_move })
    }
}
