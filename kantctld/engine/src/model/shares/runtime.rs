//! The time for which a running job is protected from preemption.
//!
//! Source: KAI Scheduler, minruntime plugin: one value against preemption inside a queue, one
//! against reclaim by others; the nearest queue that sets it decides, from the victim's own
//! upwards. Against reclaim only queues below the lowest common ancestor are considered (`Lca`), so
//! that a department can protect its jobs from others and not from its own.
//! Reads: the queues' settings and parents. Never: when a job started.
//! Knobs: `reclaim_runtime_min` of a queue protects from other queues; `runtime_min`, which is
//! ours, from all jobs: the nearest queue that sets it applies.
//!
//! Example, two nodes. Queue `dev` sets 10 s, its child `dev-a` 8 s, `dev-b` nothing; `prod` is
//! another top-level queue. Job 1 of `dev-a` is protected for 8 s from job 2 of `dev-b`, and for 10
//! s from job 3 of `prod`: between top-level queues only the victim's is considered.

use super::tree::QueueAt;
use common::time::Span;

/// The queues whose settings apply to reclaim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// From the child of the lowest common ancestor upwards.
    #[default]
    Lca,
    /// From the victim's own queue upwards.
    Queue,
}

/// The protection settings of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protection {
    /// From jobs of its own queue.
    pub preempt: Option<Span>,
    pub reclaim: Option<Span>,
    /// From all jobs, wherever their queues are in the tree.
    pub always: Option<Span>,
}

impl Protection {
    /// All time spans that are set: after each, some job may become able to preempt this one.
    pub fn all(self) -> impl Iterator<Item = Span> {
        [self.preempt, self.reclaim, self.always].into_iter().flatten()
    }
}

/// The protection from jobs of its own queue. `path`: the victim's queue and its ancestors.
#[must_use]
pub fn preempt_protection(
    path: &[QueueAt],
    says: impl Fn(QueueAt) -> Protection,
    default: Span,
) -> Span {
    path.iter().find_map(|at| says(*at).preempt).unwrap_or(default)
}

/// The protection from jobs of another queue, given both paths.
#[must_use]
pub fn reclaim_protection(
    (claimant, victim): (&[QueueAt], &[QueueAt]),
    method: Method,
    says: impl Fn(QueueAt) -> Protection,
    default: Span,
) -> Span {
    let from = match method {
        Method::Queue => 0,
        Method::Lca => {
            let both = claimant.iter().rev().zip(victim.iter().rev());
            let common = both.take_while(|(a, b)| a == b).count();
            // Different top-level queues: only the victim's. The same queue: that queue.
            victim.len().saturating_sub(common + 1)
        }
    };
    victim[from..].iter().find_map(|at| says(*at).reclaim).unwrap_or(default)
}

/// The protection from all jobs.
#[must_use]
pub fn protection_from_all(path: &[QueueAt], says: impl Fn(QueueAt) -> Protection) -> Span {
    path.iter().find_map(|at| says(*at).always).unwrap_or_default()
}

/// Whether a job that has run for this long is still protected. A job whose start is unknown is
/// not.
#[must_use]
pub fn is_protected(ran: Option<Span>, least: Span) -> bool {
    ran.is_some_and(|ran| ran < least)
}

/// Whether a protected job keeps its minimum if `go` of its tasks leave.
#[must_use]
pub const fn leaves_least(runs: usize, go: usize, least: usize) -> bool {
    runs.saturating_sub(go) >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example() {
        let (dev, dev_a, dev_b, prod) = (QueueAt(0), QueueAt(1), QueueAt(2), QueueAt(3));
        let says = |at: QueueAt| Protection {
            reclaim: [Some(10), Some(8), None, None][at.0].map(Span::from_seconds),
            ..Protection::default()
        };
        let min = |claimant: &[QueueAt]| {
            reclaim_protection((claimant, &[dev_a, dev]), Method::Lca, says, Span::from_seconds(1))
        };
        assert_eq!(min(&[dev_b, dev]), Span::from_seconds(8));
        assert_eq!(min(&[prod]), Span::from_seconds(10));
    }
}
