//! The bounds of a queue and its ancestors: limits bind all jobs, quotas bind jobs that are not
//! preemptible.
//!
//! Source: KAI Scheduler, capacity policy: only requested resources are checked; the first that is
//! exceeded is reported, CPU before memory before GPU.
//! Reads: limits, quotas, what is held. Fair shares are not bounds: borrowing is free.
//! Knobs: `quota` and `at_most` of queues.
//!
//! Example, two nodes of 8 GPUs. Queue `lab` has a limit of 12 GPUs and a quota of 4. Job 1, which
//! is preemptible, runs with 8. Job 2, which is preemptible, asks for 6: over the limit. Job 3,
//! which is not, asks for 4: within the quota.

use crate::model::shares::tree::{QueueAt, Tree};
use crate::model::shares::{Amount, Resource};

/// The bound that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// This queue would hold more than its limit.
    Limit(QueueAt, Resource),
    /// Jobs of this queue that are not preemptible would hold more than its quota.
    Quota(QueueAt, Resource),
}

/// The first requested resource that would exceed the bound.
#[must_use]
pub fn exceeded(held: &Amount, asked: &Amount, bound: &Amount) -> Option<Resource> {
    Resource::ALL.into_iter().find(|resource| {
        let asked = asked.get(*resource);
        asked > 0 && held.get(*resource).saturating_add(asked) > bound.get(*resource)
    })
}

/// Checks the limits of the queue and of its ancestors.
///
/// # Errors
/// The lowest queue whose limit is exceeded.
pub fn within_limits(tree: &Tree, at: QueueAt, asked: &Amount) -> Result<(), Excess> {
    for at in tree.path(at) {
        let held = &tree.accounts[at.0].allocated;
        if let Some(resource) = exceeded(held, asked, &tree.terms[at.0].limit) {
            return Err(Excess::Limit(*at, resource));
        }
    }
    Ok(())
}

/// Checks the quotas of the queue and of its ancestors, for a job that is not preemptible.
///
/// # Errors
/// The lowest queue whose quota is exceeded.
pub fn within_quotas(tree: &Tree, at: QueueAt, asked: &Amount) -> Result<(), Excess> {
    for at in tree.path(at) {
        let firm = &tree.accounts[at.0].firm;
        if let Some(resource) = exceeded(firm, asked, &tree.terms[at.0].firm) {
            return Err(Excess::Quota(*at, resource));
        }
    }
    Ok(())
}

/// Checks limits and, for a job that is not preemptible, quotas.
///
/// # Errors
/// The first bound that is exceeded.
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
    use crate::model::shares::runtime::Protection;
    use crate::model::shares::tree::Terms;

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
