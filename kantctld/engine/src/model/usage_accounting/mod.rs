//! Usage accounting: what running jobs hold by queue, user, account and QoS, and the limits and
//! quotas for it. Admission checks them before any node is considered, as in Kant.
//!
//! [`UsageAccounting`] is kept from round to round: a start is one [`UsageAccounting::add`], an end
//! one [`UsageAccounting::remove`], and both cost the depth of the queue tree, whatever the size of
//! the cluster. A new policy needs a new accounting.

pub mod claim;
mod columns;
mod limits;
mod minutes;
mod names;
mod quota;
mod reclaim;
pub mod tree;

pub use claim::{AccountIndex, Claim, KindIndex, Principal, QosIndex};
pub use quota::QuotaStatus;
pub use tree::{QueueIndex, Tree};

use columns::{CPUS, Columns, GPUS, MEMORY};
use common::gpu::GpuKind;
use common::id::{AccountName, QosName, QueueName, Uid};
use common::policy::{Amounts, Policy};
use common::reason::WaitReason;
use common::time::{Span, Time};
use limits::LimitUsage;
use names::Names;
use quota::QuotaUsage;
use std::sync::Arc;

/// What running jobs hold, and the bounds.
///
/// Parties, kinds and queue indices belong to the accounting that gave them, not to that of another
/// policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageAccounting {
    tree: Arc<Tree>,
    columns: Columns,
    names: Names,
    limits: LimitUsage,
    quotas: QuotaUsage,
}

/// What a queue with its descendants holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    pub jobs: u64,
    pub gpu_milli: u64,
    pub cpus: u64,
    /// Memory, in bytes.
    pub memory_bytes: u64,
}

/// The accounting of a cluster without queues or nodes.
impl Default for UsageAccounting {
    fn default() -> Self {
        Self::new(&Policy::default(), &Amounts::default())
    }
}

impl UsageAccounting {
    /// An empty accounting of this policy. `capacity` is the capacity of all nodes that are up or
    /// in use. CPUs and memory that it leaves out are unbounded; a kind of GPU that it leaves out
    /// does not exist.
    #[must_use]
    pub fn new(policy: &Policy, capacity: &Amounts) -> Self {
        let tree = Arc::new(Tree::new(policy));
        let columns = Columns::new(policy);
        let names = Names::new(policy);
        let limits = LimitUsage::new(policy, &tree, &names);
        let quotas = QuotaUsage::new(policy, &tree, &columns, capacity);
        Self { tree, columns, names, limits, quotas }
    }

    /// The same quotas without limits.
    #[must_use]
    pub(crate) fn quotas_alone(&self) -> Self {
        let (tree, columns) = (self.tree.clone(), self.columns.clone());
        let (names, quotas) = (self.names.clone(), self.quotas.clone());
        Self { tree, columns, names, limits: self.limits.without_limits(), quotas }
    }

    /// The same accounting, where limits are kept only as far as they count this principal.
    #[must_use]
    pub(crate) fn for_principal(&self, who: Principal) -> Self {
        let (tree, columns) = (self.tree.clone(), self.columns.clone());
        let (names, quotas) = (self.names.clone(), self.quotas.clone());
        let limits = self.limits.for_principal(&tree, who);
        Self { tree, columns, names, limits, quotas }
    }

    /// Sets the capacity after nodes were added or removed.
    pub fn set_capacity(&mut self, capacity: &Amounts) {
        self.quotas.set_capacity(&self.columns, capacity);
    }

    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The party that a job is counted for.
    pub fn principal(
        &mut self,
        queue: &QueueName,
        user: Uid,
        account: Option<&AccountName>,
        qos: Option<&QosName>,
    ) -> Principal {
        if let Some(account) = account {
            self.names.learn(account);
        }
        self.known_principal(queue, user, account, qos)
    }

    /// Like [`Self::principal`], but adds no account: one without any claim so far counts as none.
    #[must_use]
    pub fn known_principal(
        &self,
        queue: &QueueName,
        user: Uid,
        account: Option<&AccountName>,
        qos: Option<&QosName>,
    ) -> Principal {
        Principal {
            queue: self.tree.index(queue),
            user,
            account: account.and_then(|account| self.names.account(account)),
            qos: qos.and_then(|qos| self.names.qos(qos)),
        }
    }

    /// The number of a kind of GPU; `None`: no quota names it.
    #[must_use]
    pub fn kind(&self, kind: &GpuKind) -> Option<KindIndex> {
        self.columns.kind(kind)
    }

    /// The kind of all whole GPUs in the cluster. `None`: there are several, or no quota names it.
    #[must_use]
    pub const fn only_kind(&self) -> Option<KindIndex> {
        self.quotas.only_kind()
    }

    /// Adds a running job; `ends_by` is the end of its time limit.
    pub fn add(&mut self, claim: &Claim, ends_by: Option<Time>) {
        self.limits.add(&self.tree, claim, ends_by);
        self.quotas.add(&self.tree, claim);
    }

    /// Takes back one [`Self::add`] of exactly the same claim and end.
    pub fn remove(&mut self, claim: &Claim, ends_by: Option<Time>) {
        self.limits.remove(&self.tree, claim, ends_by);
        self.quotas.remove(&self.tree, claim);
    }

    /// Checks whether every limit would hold if the job started now with this time limit.
    ///
    /// # Errors
    /// [`WaitReason::LimitReached`] with the first limit that would not: those of its queue, of its
    /// user and its account there, then of each ancestor, of its QoS, and of its account.
    pub fn check_limits(
        &self,
        claim: &Claim,
        time_limit: Option<Span>,
        now: Time,
    ) -> Result<(), WaitReason> {
        self.limits.check(&self.tree, &self.names, claim, time_limit, now)
    }

    /// Checks the quotas of the job's queue and its ancestors.
    ///
    /// # Errors
    /// [`WaitReason::QuotaExceeded`] with the first quota that the job may not exceed.
    pub fn admit(&self, claim: &Claim) -> Result<QuotaStatus, WaitReason> {
        self.quotas.admit(&self.tree, &self.columns, claim)
    }

    /// The standing of a job that one queue's quota refuses, against the quotas below that queue. A
    /// job that its own queue refuses would borrow.
    #[must_use]
    pub fn quota_status_below(&self, refused_by: &QueueName, claim: &Claim) -> QuotaStatus {
        let path = claim.who.queue.map(|queue| self.tree.path(queue)).unwrap_or_default();
        let below = path.iter().take_while(|at| self.tree.name(**at) != refused_by).count();
        let below = &path[..below];
        if below.is_empty() || self.quotas.would_be_over(below, claim) {
            return QuotaStatus::Borrowing;
        }
        QuotaStatus::WithinQuota
    }

    /// Whether the queue with its descendants holds more of something than its quota.
    #[must_use]
    pub fn is_over_quota(&self, queue: QueueIndex) -> bool {
        self.quotas.is_over(queue)
    }

    /// Whether the job's queue and its ancestors, with the job, are within their quotas for what it
    /// asks.
    #[must_use]
    pub fn is_within_quota_with(&self, claim: &Claim) -> bool {
        let path = claim.who.queue.map(|queue| self.tree.path(queue)).unwrap_or_default();
        !self.quotas.would_be_over(path, claim)
    }

    /// Whether quotas allow a waiting job to preempt this running one. The victim is counted.
    #[must_use]
    pub fn may_reclaim(&self, claimant: &Claim, victim: &Claim) -> bool {
        reclaim::may_reclaim(&self.quotas, &self.tree, claimant, victim)
    }

    /// What a queue with its descendants holds.
    #[must_use]
    pub fn used(&self, queue: QueueIndex) -> Held {
        Held {
            jobs: self.quotas.jobs[queue.0],
            gpu_milli: self.quotas.used_of(queue, GPUS),
            cpus: self.quotas.used_of(queue, CPUS),
            memory_bytes: self.quotas.used_of(queue, MEMORY),
        }
    }
}

#[cfg(test)]
mod tests;
