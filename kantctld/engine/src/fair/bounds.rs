//! Whether a queue, and all above it, may hold so much more: limits bind everybody, quotas what
//! yields to nobody.
//!
//! Source: KAI Scheduler, capacity policy: only resources that are asked for are looked at; the
//! first that is exceeded is named, CPU before memory before GPU.
//! Reads: limits, quotas, what is held. Never: fair shares: borrowing is free.
//! Knobs: `quota` and `at_most` of queues.
//!
//! Example, two nodes of 8 GPUs. Queue `lab` has a limit of 12 GPUs and a quota of 4. Job 1, which
//! may be preempted, runs with 8. Job 2, which may, asks for 6: over the limit. Job 3, which may
//! not, asks for 4: within the quota.

use super::amount::{Amount, Resource};
use super::tree::{QueueAt, Tree};

/// What stands against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// This queue would hold more than its limit.
    Limit(QueueAt, Resource),
    /// Jobs of this queue that yield to nobody would hold more than its quota.
    Quota(QueueAt, Resource),
}

/// The first resource asked for of which this would be too much.
#[must_use]
pub fn exceeded(held: &Amount, asked: &Amount, bound: &Amount) -> Option<Resource> {
    Resource::ALL.into_iter().find(|resource| {
        let asked = asked.of(*resource);
        asked > 0 && held.of(*resource).saturating_add(asked) > bound.of(*resource)
    })
}

/// Is it within the limits of the queue and of all above it?
///
/// # Errors
/// The lowest queue that it is too much for.
pub fn within_limits(tree: &Tree, at: QueueAt, asked: &Amount) -> Result<(), Excess> {
    for at in tree.path(at) {
        let held = &tree.accounts[at.0].allocated;
        if let Some(resource) = exceeded(held, asked, &tree.terms[at.0].limit) {
            return Err(Excess::Limit(*at, resource));
        }
    }
    Ok(())
}

/// Is it, as something that yields to nobody, within the quotas of the queue and of all above it?
///
/// # Errors
/// The lowest queue that it is too much for.
pub fn within_quotas(tree: &Tree, at: QueueAt, asked: &Amount) -> Result<(), Excess> {
    for at in tree.path(at) {
        let firm = &tree.accounts[at.0].firm;
        if let Some(resource) = exceeded(firm, asked, &tree.terms[at.0].firm) {
            return Err(Excess::Quota(*at, resource));
        }
    }
    Ok(())
}

/// Both, as a job that may be preempted or not.
///
/// # Errors
/// What it would exceed.
pub fn within_bounds(
    tree: &Tree,
    at: QueueAt,
    asked: &Amount,
    is_preemptible: bool,
) -> Result<(), Excess> {
    within_limits(tree, at, asked)?;
    if is_preemptible { Ok(()) } else { within_quotas(tree, at, asked) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::runtime::Protection;
    use crate::fair::tree::Terms;

    #[test]
    fn the_example() {
        let gpus = |gpus: i64| Amount { gpu_milli: gpus * 1000, ..Amount::default() };
        let limit = Amount { gpu_milli: 12_000, ..Amount::UNLIMITED };
        let lab = Terms {
            name: "lab".to_owned(),
            parent: None,
            priority: 0,
            created: 0,
            quota: gpus(4),
            limit,
            firm: gpus(4),
            weight: [1.0; 3],
            protection: Protection::default(),
        };
        let mut tree = Tree::new(vec![lab]);
        let lab = QueueAt(0);
        tree.charge(lab, &gpus(8), false, true);
        let over = Err(Excess::Limit(lab, Resource::Gpu));
        assert_eq!(within_bounds(&tree, lab, &gpus(6), true), over);
        assert_eq!(within_bounds(&tree, lab, &gpus(4), false), Ok(()));
    }
}
