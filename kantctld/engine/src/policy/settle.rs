//! What is computed again before a round: the groups of new nodes, the tree of queues, and ranks
//! that change with time.

use crate::model::cluster::freed::Freed;
use crate::model::job::WaitingJob;
use crate::model::queues::Queues;
use crate::model::snapshot::Snapshot;
use crate::model::usage_accounting::UsageAccounting;
use crate::policy::order::ranker::Ranker;
use crate::policy::sharing::terms::sharing_terms;
use common::policy::Order;
use common::time::{Span, Time};

/// How long ranks that change with time are kept.
const RANKS_KEPT: Span = Span::from_minutes(1);

impl Snapshot {
    /// Prepares for rounds at `now`: puts new nodes into groups, and lets jobs whose begin time has
    /// come join the queue. A round that gets an unsettled snapshot settles a copy.
    pub fn prepare_for_round(&mut self, now: Time) {
        if !self.cluster.is_grouped() {
            let policy = self.policy.clone();
            self.cluster.group_nodes(&policy);
            self.recompute_yardsticks();
            self.freed = Freed::Everywhere;
            self.capacity = self.cluster.capacity();
            self.ranked_at = None;
            self.rebuild_accounting();
            self.accounting_alone =
                UsageAccounting::new(&self.policy, &self.cluster.capacity_of_all());
            self.rebuild_queue_tree();
        }
        if std::mem::take(&mut self.is_capacity_old) {
            self.capacity = self.cluster.capacity();
            self.accounting.set_capacity(&self.capacity);
            self.ledger.set_capacity(&self.cluster);
            self.ranked_at = None;
            self.recompute_yardsticks();
            self.rebuild_queue_tree();
        }
        self.wait_queue.unpark_due_jobs(now);
        let all = self.is_rank_due(now);
        let at = self.ranked_at.filter(|_| !all).unwrap_or(now);
        self.ranked_at = Some(at);
        let queues = Queues::new(&self.policy, &self.places);
        let ranker = Ranker::new((&self.policy, queues), &self.usage, &self.capacity, at);
        let sharing = |job: &WaitingJob| sharing_terms(&self.queues, &self.policy, job);
        self.wait_queue.compute_ranks(all, |job| ranker.rank(job), sharing);
    }

    /// Ranks that change with time are computed once a minute (man slurm.conf, PriorityCalcPeriod),
    /// and when policy or usage changed.
    pub(super) fn is_rank_due(&self, now: Time) -> bool {
        let moves = || self.policy.queues.iter().any(|queue| queue.order == Order::Multifactor);
        self.ranked_at.is_none_or(|at| now.since(at) >= RANKS_KEPT && moves())
    }

    /// Whether the snapshot is ready for a round at `now`.
    #[must_use]
    pub fn is_ready_for_round(&self, now: Time) -> bool {
        self.cluster.is_grouped()
            && !self.is_capacity_old
            && self.wait_queue.is_settled(now)
            && !self.is_rank_due(now)
    }
}
