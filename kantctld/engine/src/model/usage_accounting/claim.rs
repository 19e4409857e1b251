//! The claim of one job: what it holds or asks for, as far as quotas and limits count it. Nodes are
//! not part of it.
//!
//! Source: Slurm, "Resource Limits": jobs, TRES and run-minutes are what limits count; Kant (arXiv
//! 2510.01256), section 3.2.1: quota by type of GPU.
//! Reads: numbers it is given. Knobs: none.
//!
//! Names are turned into numbers once, in [`super::UsageAccounting::principal`] and
//! [`super::UsageAccounting::kind`], so that a check compares no strings and allocates nothing.
//!
//! Example, two nodes. Job 1 runs with 8 h100: its claim is 8 GPUs, and 8 of the kind h100. Job 2
//! waits for 8 GPUs, h100 or a100: until nodes are chosen, its claim is 8 GPUs and no kind. Job 3
//! has half an h100: it claims half a GPU and half an h100, not a whole one.

use super::tree::QueueIndex;
use common::id::Uid;
use common::unit::{Bytes, Cpus, GpuMilli};

/// The number of an account in the usage accounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountIndex(pub usize);

/// The index of a QoS in the sorted names of all QoS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QosIndex(pub usize);

/// The index of a kind in the sorted kinds of GPU that quotas name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindIndex(pub usize);

/// The queue, user, account and QoS that a claim is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal {
    /// `None`: the queue is no longer configured and has no bounds.
    pub queue: Option<QueueIndex>,
    pub user: Uid,
    /// The account, if one was given.
    pub account: Option<AccountIndex>,
    /// `None`: no QoS was given, or it is no longer configured.
    pub qos: Option<QosIndex>,
}

/// What one job holds or asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub who: Principal,
    /// Running jobs: 1, or 0 for what a running job asks for in addition.
    pub jobs: u32,
    pub cpus: Cpus,
    pub memory: Bytes,
    gpu_milli: u64,
    kinds: Vec<(KindIndex, u64)>,
}

impl Claim {
    /// One job without any resources.
    #[must_use]
    pub const fn new(who: Principal) -> Self {
        Self {
            who,
            jobs: 1,
            cpus: Cpus::ZERO,
            memory: Bytes::ZERO,
            gpu_milli: 0,
            kinds: Vec::new(),
        }
    }

    /// Adds GPUs. The kind is `None` where no quota names it ([`super::UsageAccounting::kind`]) and
    /// where it is open: bounds on GPUs of any kind count those, bounds on a kind do not.
    pub fn add_gpus(&mut self, kind: Option<KindIndex>, amount: GpuMilli) {
        let amount = u64::from(amount.0);
        self.gpu_milli = self.gpu_milli.saturating_add(amount);
        let Some(kind) = kind.filter(|_| amount > 0) else { return };
        match self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, sum)) => *sum = sum.saturating_add(amount),
            None => self.kinds.push((kind, amount)),
        }
    }

    /// Thousandths of GPUs, of all kinds together.
    #[must_use]
    pub const fn gpu_milli(&self) -> u64 {
        self.gpu_milli
    }

    /// Thousandths of GPUs of each kind that a quota names; none of them is zero.
    #[must_use]
    pub fn kinds(&self) -> &[(KindIndex, u64)] {
        &self.kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::usage_accounting::UsageAccounting;
    use common::gpu::GpuKind;
    use common::id::QueueName;
    use common::policy::queue::Queue;
    use common::policy::{Amounts, Policy, Quota};
    use common::unit::Gpus;
    use std::collections::BTreeMap;

    #[test]
    fn the_example() {
        let h100 = GpuKind("h100".to_owned());
        let name = QueueName::new("q").unwrap();
        let gpus = BTreeMap::from([(h100.clone(), Gpus(16))]);
        let amounts = Amounts { gpus, ..Amounts::default() };
        let quota = Quota { amounts, ..Quota::default() };
        let queues = vec![Queue { quota, ..Queue::with_defaults(name.clone()) }];
        let policy = Policy { queues, ..Policy::default() };
        let mut accounting = UsageAccounting::new(&policy, &Amounts::default());
        let who = accounting.principal(&name, Uid(1), None, None);
        let kind = accounting.kind(&h100);
        assert_eq!(kind, Some(KindIndex(0)));
        let of = |kind, milli| {
            let mut claim = Claim::new(who);
            claim.add_gpus(kind, GpuMilli(milli));
            (claim.gpu_milli(), claim.kinds().to_vec())
        };
        assert_eq!(of(kind, 8_000), (8_000, vec![(KindIndex(0), 8_000)]));
        assert_eq!(of(None, 8_000), (8_000, vec![]));
        assert_eq!(of(kind, 500), (500, vec![(KindIndex(0), 500)]));
    }

    #[test]
    fn parts_of_one_kind_are_added_up() {
        let who = Principal { queue: None, user: Uid(1), account: None, qos: None };
        let mut claim = Claim::new(who);
        for (kind, milli) in [(0, 2_000), (1, 1_000), (0, 3_000), (2, 0)] {
            claim.add_gpus(Some(KindIndex(kind)), GpuMilli(milli));
        }
        assert_eq!(claim.gpu_milli(), 6_000);
        assert_eq!(claim.kinds(), [(KindIndex(0), 5_000), (KindIndex(1), 1_000)]);
    }
}
