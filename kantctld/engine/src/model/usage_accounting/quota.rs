//! The quotas of queues: a queue gets what it is guaranteed, borrows what others do not use, and
//! cannot take what is reserved for isolated queues.
//!
//! Source: Kant (arXiv 2510.01256), section 3.2.1: quota by type of GPU, borrowing and isolation,
//! checked before placement; KAI Scheduler, "Scheduling Queues": quota and limit hold for the queue
//! and its ancestors. The rule for isolated queues is ours, as neither source has one.
//! Reads: what running jobs hold, quotas, and the cluster's capacity. Never: what is free on which
//! node, nor order. Knobs: `quota` of a queue: mode, amounts, at_most.
//!
//! Each resource that a quota names is judged by itself; what no quota names is not bounded. For
//! the job's queue and its ancestors:
//! 1. An isolated queue never exceeds its quota, and no queue its `at_most`.
//! 2. A job with which every queue that names the resource stays within its quota gets it, whatever
//!    others have borrowed: preemption takes that back.
//! 3. Any other job may have what is not reserved: in the cluster (or in the isolated queue that it
//!    is below), what is in use and what isolated queues there could still take by their quota
//!    comes first.
//!
//! Above an isolated queue, quotas do not decide what is borrowed: its use is guaranteed to it.
//!
//! Example, two nodes of 8 GPUs. Queue `a` has a quota of 4, queue `b` an isolated one of 8. Job 1
//! runs in `a` with 4 GPUs, within its quota. Job 2 of `a` asks for 4 and borrows them: 8 of 16 are
//! in use then, and 8 are reserved for `b`. Job 3 of `a` asks for 1 and waits, though half of the
//! cluster is free: `a` may have 8, including what it can borrow.

mod hard;

use super::claim::{Claim, KindIndex};
use super::columns::{Bounds, Column, Columns, GPUS, Rows, amounts};
use super::tree::{QueueIndex, Tree};
use common::id::QueueName;
use common::policy::{Amounts, Policy, Quota, QuotaMode};
use common::reason::{QuotaBound, WaitReason};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The standing of a job against the quotas on its path, if it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotaStatus {
    /// All queues that have a quota stay within it. Also where none has one.
    WithinQuota,
    /// Some queue exceeds its quota, so the job may be preempted by reclaim.
    Borrowing,
}

/// One queue's quota, by column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub isolated: bool,
    pub owed: Bounds,
    at_most: Bounds,
    /// Whether this queue or an ancestor has a hard bound.
    is_bound: bool,
}

impl Rule {
    fn has_hard_bound(&self) -> bool {
        let names_any = |bounds: &Bounds| bounds.iter().any(Option::is_some);
        names_any(&self.at_most) || self.isolated && names_any(&self.owed)
    }

    fn is_isolated_in(&self, column: Column) -> bool {
        self.isolated && self.owed[column.0].is_some()
    }
}

/// The pool that queues without an isolated quota share: the cluster, or the isolated queue that
/// they are below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pool {
    Cluster,
    Queue(QueueIndex),
}

/// All quotas, and what the queues hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuotaUsage {
    pub rules: Arc<Vec<Rule>>,
    pub jobs: Vec<u64>,
    pub used: Rows,
    capacity: Bounds,
    /// The kind of all whole GPUs, where a quota names it.
    only_kind: Option<KindIndex>,
    used_by_all: Vec<u64>,
    /// What isolated queues below each queue, with none between, may still take.
    kept_in: Rows,
    kept_in_cluster: Vec<u64>,
}

impl QuotaUsage {
    pub fn new(policy: &Policy, tree: &Tree, columns: &Columns, capacity: &Amounts) -> Self {
        let none = Amounts::default();
        let queues = policy.queues.iter().rev();
        let by_name: BTreeMap<&QueueName, &Quota> =
            queues.map(|queue| (&queue.name, &queue.quota)).collect();
        let rule = |queue: QueueIndex| {
            let quota = by_name.get(tree.name(queue)).copied();
            Rule {
                isolated: quota.is_some_and(|quota| quota.mode == QuotaMode::Isolated),
                owed: columns.bounds(quota.map_or(&none, |quota| &quota.amounts)),
                at_most: columns.bounds(quota.map_or(&none, |quota| &quota.at_most)),
                is_bound: false,
            }
        };
        let mut rules: Vec<Rule> = tree.indices().map(rule).collect();
        for queue in tree.indices() {
            let is_bound = tree.path(queue).iter().any(|at| rules[at.0].has_hard_bound());
            rules[queue.0].is_bound = is_bound;
        }
        let nothing = vec![0; columns.count()];
        let mut usage = Self {
            rules: Arc::new(rules),
            jobs: vec![0; tree.len()],
            used: Rows::zero(tree.len(), columns.count()),
            capacity: columns.capacity(capacity),
            only_kind: columns.only_kind(capacity),
            used_by_all: nothing.clone(),
            kept_in: Rows::zero(tree.len(), columns.count()),
            kept_in_cluster: nothing,
        };
        for queue in tree.indices() {
            for column in (0..columns.count()).map(Column) {
                let kept = usage.left_in_isolated_quota(queue, column);
                *usage.reserved_pool_mut(tree, queue, column) += kept;
            }
        }
        usage
    }

    pub fn set_capacity(&mut self, columns: &Columns, capacity: &Amounts) {
        self.capacity = columns.capacity(capacity);
        self.only_kind = columns.only_kind(capacity);
    }

    pub fn add(&mut self, tree: &Tree, claim: &Claim) {
        self.count(tree, claim, u64::wrapping_add);
    }

    pub fn remove(&mut self, tree: &Tree, claim: &Claim) {
        self.count(tree, claim, u64::wrapping_sub);
    }

    fn count(&mut self, tree: &Tree, claim: &Claim, change: fn(u64, u64) -> u64) {
        let path = claim.who.queue.map(|queue| tree.path(queue)).unwrap_or_default();
        for queue in path {
            let jobs = &mut self.jobs[queue.0];
            *jobs = change(*jobs, u64::from(claim.jobs));
        }
        for (column, amount) in amounts(claim) {
            let all = &mut self.used_by_all[column.0];
            *all = change(*all, amount);
            for queue in path {
                let kept_before = self.left_in_isolated_quota(*queue, column);
                let used = &mut self.used[queue.0][column.0];
                *used = change(*used, amount);
                let kept_after = self.left_in_isolated_quota(*queue, column);
                if kept_before != kept_after {
                    let kept = self.reserved_pool_mut(tree, *queue, column);
                    *kept = kept.wrapping_sub(kept_before).wrapping_add(kept_after);
                }
            }
        }
    }

    /// What an isolated queue may still take by its quota.
    fn left_in_isolated_quota(&self, queue: QueueIndex, column: Column) -> u64 {
        let rule = &self.rules[queue.0];
        let owed = rule.owed[column.0].filter(|_| rule.isolated).unwrap_or(0);
        owed.saturating_sub(self.used[queue.0][column.0])
    }

    /// The pool in which that is reserved: the next isolated ancestor, or the cluster.
    fn reserved_pool_mut(&mut self, tree: &Tree, queue: QueueIndex, column: Column) -> &mut u64 {
        let mut above = tree.path(queue).iter().skip(1);
        match above.find(|at| self.rules[at.0].is_isolated_in(column)) {
            Some(at) => &mut self.kept_in[at.0][column.0],
            None => &mut self.kept_in_cluster[column.0],
        }
    }

    pub fn admit(
        &self,
        tree: &Tree,
        columns: &Columns,
        claim: &Claim,
    ) -> Result<QuotaStatus, WaitReason> {
        let path = claim.who.queue.map(|queue| tree.path(queue)).unwrap_or_default();
        let Some(leaf) = path.first() else { return Ok(QuotaStatus::WithinQuota) };
        let mut quota_status = QuotaStatus::WithinQuota;
        let is_bound = self.rules[leaf.0].is_bound;
        for (column, asked) in amounts(claim) {
            let refusal = |queue: QueueIndex, bound, limit| {
                let used = self.used[queue.0][column.0];
                let counted = columns.counted_limit(column, limit, used, asked);
                Err(WaitReason::QuotaExceeded { queue: tree.name(queue).clone(), bound, counted })
            };
            let exceeded = is_bound.then(|| self.hard_bound(path, column, asked)).flatten();
            if let Some((queue, bound, limit)) = exceeded {
                return refusal(queue, bound, limit);
            }
            let view = self.view(path, column, asked);
            if view.is_within_named_quota() {
                continue;
            }
            if let Some(left) = self.left_to_borrow(view.pool, column).filter(|l| asked > *l) {
                let queue = view.names_it.unwrap_or(*leaf);
                let limit = self.used[queue.0][column.0].saturating_add(left);
                let owed = self.rules[queue.0].owed[column.0].unwrap_or(0);
                return refusal(queue, QuotaBound::Lent { owed }, limit);
            }
            if view.is_over {
                quota_status = QuotaStatus::Borrowing;
            }
        }
        Ok(quota_status)
    }

    /// The standing of one resource of a job, from its queue up to the first isolated one.
    fn view(&self, path: &[QueueIndex], column: Column, asked: u64) -> View {
        let mut view = View { names_it: None, is_over: false, pool: Pool::Cluster };
        for at in path {
            if let Some(quota) = self.rules[at.0].owed[column.0] {
                view.names_it.get_or_insert(*at);
                view.is_over |= self.used[at.0][column.0].saturating_add(asked) > quota;
                if self.rules[at.0].isolated {
                    view.pool = Pool::Queue(*at);
                    break;
                }
            }
        }
        view
    }

    /// What may be borrowed from a pool. `None`: nothing is reserved, so free resources decide.
    fn left_to_borrow(&self, pool: Pool, column: Column) -> Option<u64> {
        let (size, used, kept) = match pool {
            Pool::Cluster => {
                let kept = self.kept_in_cluster[column.0];
                (self.capacity[column.0], self.used_by_all[column.0], kept)
            }
            Pool::Queue(at) => {
                let owed = self.rules[at.0].owed[column.0];
                (owed, self.used[at.0][column.0], self.kept_in[at.0][column.0])
            }
        };
        let left = size?.saturating_sub(used).saturating_sub(kept);
        (kept > 0).then_some(left)
    }

    /// The kind of all whole GPUs, where a quota names it.
    pub const fn only_kind(&self) -> Option<KindIndex> {
        self.only_kind
    }

    /// Whether the queue holds more of something than its quota.
    pub fn is_over(&self, queue: QueueIndex) -> bool {
        let owed = self.rules[queue.0].owed.iter().zip(&self.used[queue.0]);
        owed.into_iter().any(|(owed, used)| owed.is_some_and(|owed| *used > owed))
    }

    /// Whether one of these queues, with the job, exceeds its quota in what the job asks for.
    pub fn would_be_over(&self, queues: &[QueueIndex], claim: &Claim) -> bool {
        amounts(claim).any(|(column, asked)| {
            queues.iter().any(|at| {
                let with_it = self.used[at.0][column.0].saturating_add(asked);
                self.rules[at.0].owed[column.0].is_some_and(|owed| with_it > owed)
            })
        })
    }

    /// Thousandths of GPUs, CPUs or bytes in use by a queue with its descendants.
    pub fn used_of(&self, queue: QueueIndex, column: Column) -> u64 {
        self.used[queue.0][column.0]
    }

    /// Whether the queue's quota names GPUs, of some kind or of any.
    pub fn names_gpus(&self, queue: QueueIndex) -> bool {
        let rule = &self.rules[queue.0];
        let kinds = rule.owed.iter().skip(super::columns::MEMORY.0 + 1);
        rule.owed[GPUS.0].is_some() || kinds.into_iter().any(Option::is_some)
    }
}

/// The standing of one resource of a job.
#[derive(Debug, Clone, Copy)]
struct View {
    /// The lowest queue whose quota names it.
    names_it: Option<QueueIndex>,
    is_over: bool,
    pool: Pool,
}

impl View {
    /// Whether some quota names it, and the job exceeds none that does.
    const fn is_within_named_quota(&self) -> bool {
        self.names_it.is_some() && !self.is_over
    }
}

#[cfg(test)]
mod tests;
