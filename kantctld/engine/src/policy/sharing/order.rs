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
//! 7. The smaller allowance: GPUs, then CPUs, then memory (ours; KAI compares all at once).
//! 8. The older queue.
//!
//! Example, two nodes of 8 GPUs. Queues a and b have a quota of 8 each. Job 1 of a runs with 8.
//! Jobs 2 of a and 3 of b ask for 4: with its job a would borrow, b would not, so job 3 goes first.

use crate::model::shares::tree::{QueueAt, Tree};
use crate::model::shares::{Amount, Resource, UNLIMITED};
use std::cmp::Reverse;

/// A queue's rank among its siblings; the smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    is_over: bool,
    borrows: bool,
    priority: Reverse<i64>,
    uses_undue: bool,
    /// Dominant shares, as ordered bits.
    with_job: u64,
    without: u64,
    /// GPUs, CPUs, memory.
    allowance: [i64; 3],
    seniority: usize,
}

impl Rank {
    /// The rank of a queue that holds `held`, when its next job asks for `asks`. `total`: the
    /// capacity of the cluster.
    #[must_use]
    pub fn of(tree: &Tree, total: &Amount, at: QueueAt, (held, asks): (&Amount, &Amount)) -> Self {
        let (terms, account) = (&tree.terms[at.0], &tree.accounts[at.0]);
        let with_job = held.plus(asks);
        let allowance = tree.allowance(at);
        let is_undue = |one: &Resource| allowance.get(*one) == 0 && with_job.get(*one) > 0;
        Self {
            is_over: Resource::ALL.iter().all(|one| held.get(*one) > account.fair.get(*one)),
            borrows: !with_job.is_within(&terms.quota),
            priority: Reverse(terms.priority),
            uses_undue: Resource::ALL.iter().any(is_undue),
            with_job: dominant_share(&with_job, &allowance, total),
            without: dominant_share(held, &allowance, total),
            allowance: [allowance.gpu_milli, allowance.cpu_milli, allowance.memory_bytes],
            seniority: tree.seniority(at),
        }
    }
}

/// The dominant share: the largest ratio of held to allowance over all resources. The bits of
/// floats that are not negative sort as the floats do.
fn dominant_share(held: &Amount, allowance: &Amount, total: &Amount) -> u64 {
    let part = |resource: Resource| {
        let held = held.get(resource) as f64;
        match allowance.get(resource) {
            0 => held / resource.unit() as f64 * 1000.0,
            UNLIMITED if total.get(resource) == 0 => 0.0,
            UNLIMITED => held / total.get(resource) as f64,
            allowed => held / allowed as f64,
        }
    };
    Resource::ALL.into_iter().map(part).fold(0.0, f64::max).to_bits()
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
            quota: gpus(8),
            limit: Amount::UNLIMITED,
            firm: gpus(8),
            weight: [1.0; 3],
            protection: Protection::default(),
        };
        let mut tree = Tree::new(vec![queue("a"), queue("b")]);
        tree.add_request(QueueAt(0), &gpus(12));
        tree.add_request(QueueAt(1), &gpus(4));
        tree.charge(QueueAt(0), &gpus(8), false, true);
        tree.share_out(&gpus(16), 0.0);
        let rank = |at: usize| {
            let held = tree.accounts[at].allocated;
            Rank::of(&tree, &gpus(16), QueueAt(at), (&held, &gpus(4)))
        };
        assert!(rank(0) > rank(1));
    }
}
