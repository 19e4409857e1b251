//! For how long a job that runs is safe from those that would take its place.
//!
//! Source: KAI Scheduler, minruntime plugin: one value against preemption inside a queue, one
//! against reclaim by others; the nearest queue that sets it decides, from the victim's own
//! upwards. Against reclaim only queues below what both have in common are asked (`Lca`), so that
//! a department can protect its jobs from others and not from its own.
//! Reads: the queues' settings and parents. Never: when a job started.
//! Knobs: `reclaim_runtime_min` of a queue is against other queues; `runtime_min`, which is ours,
//! against everybody: the nearest queue that sets it, whoever asks.
//!
//! Example, two nodes. Queue `dev` says 10 s, its child `dev-a` 8 s, `dev-b` nothing; `prod` is
//! another top. Job 1 of `dev-a` is safe for 8 s from job 2 of `dev-b`, and for 10 s from job 3 of
//! `prod`: between tops only the victim's top is asked.

use super::tree::QueueAt;
use common::time::Span;

/// Which queues are asked about reclaim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// From just below what both have in common upwards.
    #[default]
    Lca,
    /// From the victim's own queue upwards.
    Queue,
}

/// What one queue says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protection {
    /// Against those of its own queue.
    pub preempt: Option<Span>,
    pub reclaim: Option<Span>,
    /// Against everybody, wherever they stand in the tree.
    pub always: Option<Span>,
}

impl Protection {
    /// The ends of all that it says: how long a job may have run when somebody may ask it to yield.
    pub fn all(self) -> impl Iterator<Item = Span> {
        [self.preempt, self.reclaim, self.always].into_iter().flatten()
    }
}

/// Safe for so long from jobs of its own queue. `path`: the victim's queue, and so on to the top.
#[must_use]
pub fn preempt_min(path: &[QueueAt], says: impl Fn(QueueAt) -> Protection, default: Span) -> Span {
    path.iter().find_map(|at| says(*at).preempt).unwrap_or(default)
}

/// Safe for so long from jobs of a queue with this path.
#[must_use]
pub fn reclaim_min(
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
            // Different tops: the victim's top alone. The same queue: that queue.
            victim.len().saturating_sub(common + 1)
        }
    };
    victim[from..].iter().find_map(|at| says(*at).reclaim).unwrap_or(default)
}

/// Safe for so long from everybody.
#[must_use]
pub fn always_min(path: &[QueueAt], says: impl Fn(QueueAt) -> Protection) -> Span {
    path.iter().find_map(|at| says(*at).always).unwrap_or_default()
}

/// Is a job that has run for so long still safe? Not one of which nobody knows when it started.
#[must_use]
pub fn is_safe(ran: Option<Span>, least: Span) -> bool {
    ran.is_some_and(|ran| ran < least)
}

/// Does a safe job keep what it needs, when so many of its tasks go?
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
            reclaim_min((claimant, &[dev_a, dev]), Method::Lca, says, Span::from_seconds(1))
        };
        assert_eq!(min(&[dev_b, dev]), Span::from_seconds(8));
        assert_eq!(min(&[prod]), Span::from_seconds(10));
    }
}
