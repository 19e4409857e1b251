//! The conditions on which a queue may reclaim from others what a job of it needs.
//!
//! Source: KAI Scheduler, reclaim ("reclaimable"): conditions where the paths of claimant and
//! victim part, and saturation on every level above the claimant.
//! Reads: what queues hold, their quotas and fair shares. Never: which jobs run where, nor for how
//! long.
//! Knobs: `quota`, `at_most`, `weight` of queues.
//!
//! Example, two nodes of 8 GPUs. Queues a and b have a fair share of 8 each; jobs 1 and 2 of b run
//! with 8 each. Job 3 of a asks for 8: a is not above its share with it, b is above its own, so job
//! 2 is stopped. Then b holds its share, and job 1 stays.

use super::bounds::within_quotas;
use crate::model::shares::tree::{QueueAt, Tree};
use crate::model::shares::{Amount, Resource, UNLIMITED};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy)]
pub struct Claimant {
    pub queue: QueueAt,
    /// What the job asks for.
    pub asks: Amount,
    /// Whether the job is preemptible itself.
    pub is_preemptible: bool,
}

/// Whether the claimant may try at all: with the job its queue holds at most its fair share and, if
/// the job is not preemptible, at most its quota.
#[must_use]
pub fn may_claim(tree: &Tree, claimant: &Claimant) -> bool {
    let account = &tree.accounts[claimant.queue.0];
    let is_within = |held: &Amount, bound: &Amount| held.plus(&claimant.asks).is_within(bound);
    is_within(&account.allocated, &account.fair)
        && (claimant.is_preemptible || is_within(&account.firm, &tree.terms[claimant.queue.0].firm))
}

/// Whether jobs of that queue could be victims; a cheap check before any trial. It holds more than
/// its allowance, or the claimant's side stays within its quota: then jobs of a queue that is
/// within its own may move, which loses nothing.
#[must_use]
pub fn may_have_victims(tree: &Tree, claimant: &Claimant, victim: QueueAt) -> bool {
    let Some((own, other)) = tree.siblings_on_paths(claimant.queue, victim) else { return false };
    let held = &tree.accounts[other.0].allocated;
    let is_over = exceeds_bound(held, &tree.allowance(other), &claimant.asks);
    is_over
        || stays_in_quota(tree, own, &claimant.asks) && quota_names_any(tree, own, &claimant.asks)
}

/// Whether jobs of that queue could be stopped: what [`may_take`] requires of a first victim.
#[must_use]
pub fn may_have_stopped(tree: &Tree, claimant: &Claimant, victim: QueueAt) -> bool {
    let sides = tree.siblings_on_paths(claimant.queue, victim);
    sides.is_some_and(|sides| may_lose(tree, sides, &tree.accounts[sides.1.0].allocated, claimant))
}

/// Whether the other side, which holds this, may lose a job to the claimant.
fn may_lose(
    tree: &Tree,
    (own, other): (QueueAt, QueueAt),
    held: &Amount,
    claimant: &Claimant,
) -> bool {
    let asks = &claimant.asks;
    exceeds_bound(held, &tree.allowance(other), asks)
        || stays_in_quota(tree, own, asks) && is_above_quota(tree, (own, other), held, asks)
}

/// Whether a requested resource exceeds its bound.
fn exceeds_bound(held: &Amount, bound: &Amount, asks: &Amount) -> bool {
    let is_asked = |resource: &Resource| asks.get(*resource) > 0;
    Resource::ALL.into_iter().filter(is_asked).any(|one| held.get(one) > bound.get(one))
}

/// Whether the queue's quota names a requested resource. No queue is guaranteed what its quota does
/// not name.
fn quota_names_any(tree: &Tree, own: QueueAt, asks: &Amount) -> bool {
    let quota = &tree.terms[own.0].quota;
    let is_named = |one: &Resource| asks.get(*one) > 0 && quota.get(*one) < UNLIMITED;
    Resource::ALL.iter().any(is_named)
}

fn stays_in_quota(tree: &Tree, own: QueueAt, asks: &Amount) -> bool {
    tree.accounts[own.0].allocated.plus(asks).is_within(&tree.terms[own.0].quota)
}

/// Whether the claimant may take these victims, one after the other. `slack`: a factor of at least
/// 1, by which the claimant's side may be fuller than a sibling's.
#[must_use]
pub fn may_take(
    tree: &Tree,
    claimant: &Claimant,
    victims: &[(QueueAt, Amount)],
    slack: f64,
) -> bool {
    let mut held: BTreeMap<QueueAt, Amount> = BTreeMap::new();
    let mut involved = requested_resources(&claimant.asks);
    for (queue, amount) in victims {
        let Some((own, other)) = tree.siblings_on_paths(claimant.queue, *queue) else {
            return false;
        };
        let before = *held.entry(other).or_insert(tree.accounts[other.0].allocated);
        if !may_lose(tree, (own, other), &before, claimant) {
            return false;
        }
        for at in tree.path(*queue) {
            let sum = held.entry(*at).or_insert(tree.accounts[at.0].allocated);
            *sum = sum.minus(amount);
        }
        involved.extend(requested_resources(amount));
    }
    let is_firm =
        !claimant.is_preemptible && within_quotas(tree, claimant.queue, &claimant.asks).is_err();
    !is_firm && is_no_fuller(tree, claimant, &held, &involved, slack)
}

/// Whether the other side is above its quota in a requested resource that the claimant's quota
/// names.
fn is_above_quota(
    tree: &Tree,
    (own, other): (QueueAt, QueueAt),
    held: &Amount,
    asks: &Amount,
) -> bool {
    let (quota, theirs) = (&tree.terms[own.0].quota, &tree.terms[other.0].quota);
    let is_owed = |one: &Resource| asks.get(*one) > 0 && quota.get(*one) < UNLIMITED;
    Resource::ALL.into_iter().filter(is_owed).any(|one| held.get(one) > theirs.get(one))
}

fn requested_resources(amount: &Amount) -> BTreeSet<Resource> {
    Resource::ALL.into_iter().filter(|resource| amount.get(*resource) > 0).collect()
}

/// On every level above the claimant: whether its side is within its share, or less full than each
/// sibling that loses something.
fn is_no_fuller(
    tree: &Tree,
    claimant: &Claimant,
    held: &BTreeMap<QueueAt, Amount>,
    involved: &BTreeSet<Resource>,
    slack: f64,
) -> bool {
    for at in tree.path(claimant.queue) {
        let now = held.get(at).unwrap_or(&tree.accounts[at.0].allocated);
        let own = now.plus(&claimant.asks);
        let family = tree.below(tree.path(*at).get(1).copied());
        for sibling in family.iter().filter(|one| *one != at) {
            let Some(left) = held.get(sibling) else { continue };
            let is_fuller = |resource: &Resource| {
                let due = |at: QueueAt| tree.accounts[at.0].fair.get(*resource);
                let own = fullness(own.get(*resource), due(*at));
                let theirs = fullness(left.get(*resource), due(*sibling));
                own > 1.0 && due(*sibling) > 0 && own * slack >= theirs
            };
            if involved.iter().any(is_fuller) {
                return false;
            }
        }
    }
    true
}

/// The ratio of held to fair share; 0 of 0 is empty.
fn fullness(held: i64, due: i64) -> f64 {
    match (held, due) {
        (0, 0) => 0.0,
        (_, 0) => f64::INFINITY,
        _ => held as f64 / due as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shares::runtime::Protection;
    use crate::model::shares::tree::Terms;

    #[test]
    fn the_example() {
        let gpus = |gpus: i64| Amount { gpu_milli: gpus * 1000, ..Amount::default() };
        let queue = |name: &str| Terms {
            name: name.to_owned(),
            parent: None,
            priority: 0,
            created: 0,
            quota: Amount::default(),
            limit: Amount::UNLIMITED,
            firm: Amount::default(),
            weight: [1.0; 3],
            protection: Protection::default(),
        };
        let mut tree = Tree::new(vec![queue("a"), queue("b")]);
        let (a, b) = (QueueAt(0), QueueAt(1));
        tree.add_request(a, &gpus(8));
        tree.add_request(b, &gpus(16));
        tree.charge(b, &gpus(16), false, true);
        tree.share_out(&gpus(16), 0.0);
        let third = Claimant { queue: a, asks: gpus(8), is_preemptible: true };
        assert!(may_claim(&tree, &third) && may_have_victims(&tree, &third, b));
        assert!(may_take(&tree, &third, &[(b, gpus(8))], 1.0));
        tree.charge(b, &gpus(8), false, false);
        tree.charge(a, &gpus(8), false, true);
        assert!(!may_take(&tree, &third, &[(b, gpus(8))], 1.0));
    }
}
