//! The hard bounds of quotas, which idle resources do not raise: the quota of an isolated queue,
//! and the most that a queue may borrow.
//!
//! Source: Kant (arXiv 2510.01256), section 3.2.1, isolation; KAI Scheduler, "Scheduling Queues": a
//! limit holds for the queue and its ancestors.
//! Reads: quotas and what queues have. Knobs: `quota` of a queue: mode, amounts, at_most.
//!
//! Example, two nodes of 8 GPUs. Queue `a` has a quota of 4 and may go to 6. Job 1 runs there with
//! 4 GPUs. Job 2 asks for 3, and waits for job 1 to end; job 3 asks for 7, and waits for ever.

use super::super::columns::Column;
use super::super::tree::QueueIndex;
use super::QuotaUsage;
use common::reason::QuotaBound;

impl QuotaUsage {
    /// The first queue whose isolated quota or `at_most` the job would exceed. A bound that the job
    /// alone exceeds comes first, as no job's end helps it.
    pub(super) fn hard_bound(
        &self,
        path: &[QueueIndex],
        column: Column,
        asked: u64,
    ) -> Option<(QueueIndex, QuotaBound, u64)> {
        let first = |with_it: &dyn Fn(QueueIndex) -> u64| {
            path.iter().find_map(|at| self.bound_below(*at, column, with_it(*at)))
        };
        let exceeded = first(&|at| self.used[at.0][column.0].saturating_add(asked))?;
        Some(first(&|_| asked).unwrap_or(exceeded))
    }

    /// The bound of this queue that is less than an amount, if there is one.
    fn bound_below(
        &self,
        at: QueueIndex,
        column: Column,
        amount: u64,
    ) -> Option<(QueueIndex, QuotaBound, u64)> {
        let rule = &self.rules[at.0];
        let owed = rule.owed[column.0];
        let isolated = owed.filter(|quota| rule.isolated && amount > *quota);
        let at_most = rule.at_most[column.0].filter(|limit| amount > *limit);
        let isolated = isolated.map(|quota| (at, QuotaBound::Isolated, quota));
        isolated.or_else(|| {
            let owed = owed.unwrap_or(0);
            at_most.map(|limit| (at, QuotaBound::AtMost { owed }, limit))
        })
    }
}
