//! The order of two sibling queues.
//!
//! Source: KAI Scheduler, proportion plugin, queue order: the first difference decides.
//! Reads: what the queues hold, their quotas and fair shares, and what their next jobs ask for.
//! Never: where those jobs would go.
//! Knobs: `quota`, `priority`, `weight` of queues.
//!
//! 1. The queue that is not above its fair share in every resource.
//! 2. The queue that stays within its quota with its next job.
//! 3. The higher priority.
//! 4. The queue that uses nothing of which its share is zero.
//! 5. The smaller dominant share with the job.
//! 6. The smaller dominant share without it.
//! 7. The smaller allowance.
//! 8. The older queue.
//!
//! Example, two nodes of 8 GPUs. Queues a and b have a quota of 8 each. Job 1 of a runs with 8.
//! Jobs 2 of a and 3 of b ask for 4: with its job a would borrow, b would not, so job 3 goes first.

use super::amount::{Amount, Resource, UNLIMITED};
use super::tree::{QueueAt, Tree};
use std::cmp::Ordering;

/// A queue, what its next job asks for, and what its named victims hold.
#[derive(Debug, Clone, Copy)]
pub struct Next<'a> {
    pub queue: QueueAt,
    pub asks: &'a Amount,
    /// What its victims named so far hold; counted as lost.
    pub lost: &'a Amount,
}

/// Which queue goes first. `total`: the capacity of the cluster.
#[must_use]
pub fn first(tree: &Tree, total: &Amount, a: &Next<'_>, b: &Next<'_>) -> Ordering {
    let standing = |next: &Next<'_>| Standing::of(tree, total, next);
    let (left, right) = (standing(a), standing(b));
    left.is_over
        .cmp(&right.is_over)
        .then(left.borrows.cmp(&right.borrows))
        .then(right.priority.cmp(&left.priority))
        .then(left.uses_undue.cmp(&right.uses_undue))
        .then(left.with_job.total_cmp(&right.with_job))
        .then(left.without.total_cmp(&right.without))
        .then(by_allowance(&left.allowance, &right.allowance))
        .then_with(|| tree.seniority(a.queue).cmp(&tree.seniority(b.queue)))
}

struct Standing {
    is_over: bool,
    borrows: bool,
    priority: i64,
    uses_undue: bool,
    with_job: f64,
    without: f64,
    allowance: Amount,
}

impl Standing {
    fn of(tree: &Tree, total: &Amount, next: &Next<'_>) -> Self {
        let (terms, account) = (&tree.terms[next.queue.0], &tree.accounts[next.queue.0]);
        let held = account.allocated.minus(next.lost);
        let with_job = held.plus(next.asks);
        let allowance = tree.allowance(next.queue);
        let is_undue =
            |resource: Resource| allowance.of(resource) == 0 && with_job.of(resource) > 0;
        Self {
            is_over: Resource::ALL.into_iter().all(|one| held.of(one) > account.fair.of(one)),
            borrows: !with_job.is_within(&terms.quota),
            priority: terms.priority,
            uses_undue: Resource::ALL.into_iter().any(is_undue),
            with_job: dominant(&with_job, &allowance, total),
            without: dominant(&held, &allowance, total),
            allowance,
        }
    }
}

/// The dominant share: the largest ratio of held to allowance over all resources.
fn dominant(held: &Amount, allowance: &Amount, total: &Amount) -> f64 {
    let part = |resource: Resource| {
        let held = held.of(resource) as f64;
        match allowance.of(resource) {
            0 => held / resource.unit() as f64 * 1000.0,
            UNLIMITED if total.of(resource) == 0 => 0.0,
            UNLIMITED => held / total.of(resource) as f64,
            allowed => held / allowed as f64,
        }
    };
    Resource::ALL.into_iter().map(part).fold(0.0, f64::max)
}

fn by_allowance(a: &Amount, b: &Amount) -> Ordering {
    match (a.is_within(b), b.is_within(a)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::runtime::Protection;
    use crate::fair::tree::Terms;

    #[test]
    fn the_example() {
        let gpus = |gpus: i64| Amount { gpu_milli: gpus * 1000, ..Amount::default() };
        let queue = |name: &str| Terms {
            name: name.to_owned(),
            parent: None,
            priority: 0,
            created: 0,
            quota: gpus(8),
            limit: Amount::UNLIMITED,
            firm: gpus(8),
            weight: [1.0; 3],
            protection: Protection::default(),
        };
        let mut tree = Tree::new(vec![queue("a"), queue("b")]);
        tree.ask(QueueAt(0), &gpus(12));
        tree.ask(QueueAt(1), &gpus(4));
        tree.charge(QueueAt(0), &gpus(8), false, true);
        tree.share_out(&gpus(16), 0.0);
        let (four, none) = (gpus(4), Amount::default());
        let next = |at| Next { queue: QueueAt(at), asks: &four, lost: &none };
        assert_eq!(first(&tree, &gpus(16), &next(0), &next(1)), Ordering::Greater);
    }
}
