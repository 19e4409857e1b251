//! The judge's own sums of what running jobs hold, kept up to date as jobs start and end, so that
//! judging a round costs as much as its changes. It does not use the engine's accounting, which it
//! verifies; `check` sums again from scratch, and tests compare the two.

pub(crate) mod sums;
pub(crate) mod who;

use crate::model::cluster::ClusterIndex;
use crate::model::job::RunningJob;
use crate::model::judge_ledger::sums::{Column, Held, kind_in, to_go};
use crate::model::judge_ledger::who::{
    Who, has_any_bound, holders_counting, limits, principal_of_running,
};
use crate::model::node_snapshot::Unusable;
use common::gpu::GpuKind;
use common::id::{GpuIndex, JobKey, NodeName};
use common::policy::Policy;
use common::time::Time;
use std::collections::BTreeMap;

/// What running jobs hold; empty where no bound is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// Without GPU-time, which changes with time.
    held: BTreeMap<Who, Held>,
    /// Thousandths of GPUs and end of each job that counts for a bound on GPU-minutes.
    ends: BTreeMap<Who, BTreeMap<JobKey, (u64, Option<Time>)>>,
    /// The capacity of nodes that are not down.
    pub(crate) capacity: Held,
}

impl Ledger {
    /// Sums the capacity of the nodes again.
    pub fn set_capacity(&mut self, cluster: &ClusterIndex) {
        self.capacity = Held::default();
        let mut known = None;
        for (_, node) in cluster.nodes().filter(|(_, node)| node.unusable != Some(Unusable::Down)) {
            let has = &node.class.inventory;
            // Most nodes have the same inventory as the one before.
            let all = match known.take() {
                Some((same, all)) if std::sync::Arc::ptr_eq(same, has) => all,
                _ => Held::all_of(has),
            };
            self.capacity.add_all(&all);
            known = Some((has, all));
        }
    }

    pub fn add_running(&mut self, policy: &Policy, cluster: &ClusterIndex, job: &RunningJob) {
        if !has_any_bound(policy) {
            return;
        }
        let held = amounts(cluster, job);
        for who in holders_counting(policy, &principal_of_running(job)) {
            self.held.entry(who).or_default().add_all(&held);
        }
        for (who, limits) in limits(policy, &principal_of_running(job)) {
            if limits.gpu_minutes.is_some() {
                let gpus = held.get(&Column::Gpus);
                self.ends.entry(who).or_default().insert(job.key, (gpus, job.ends_by));
            }
        }
    }

    /// Removes a job that no longer runs. Policy and nodes must be those under which it was added.
    pub fn remove_running(&mut self, policy: &Policy, cluster: &ClusterIndex, job: &RunningJob) {
        if !has_any_bound(policy) {
            return;
        }
        let held = amounts(cluster, job);
        for who in holders_counting(policy, &principal_of_running(job)) {
            if let Some(sum) = self.held.get_mut(&who) {
                sum.subtract(&held);
                if sum.jobs == 0 {
                    self.held.remove(&who);
                }
            }
            if let Some(ends) = self.ends.get_mut(&who) {
                ends.remove(&job.key);
            }
        }
    }

    /// What a holder has, without GPU-time; `None`: nothing.
    pub(crate) fn amounts(&self, who: &Who) -> Option<&Held> {
        self.held.get(who)
    }

    pub(crate) fn held(&self, who: &Who, now: Time) -> Held {
        let mut held = self.held.get(who).cloned().unwrap_or_default();
        let left = |(gpus, ends): &(u64, Option<Time>)| {
            to_go(*ends, now).map_or(0, |left| u128::from(*gpus) * u128::from(left.0))
        };
        held.gpu_time = self.ends.get(who).into_iter().flat_map(BTreeMap::values).map(left).sum();
        held
    }
}

fn amounts(cluster: &ClusterIndex, job: &RunningJob) -> Held {
    let kind = |name: &NodeName, index: GpuIndex| -> Option<GpuKind> {
        kind_in(&cluster.node(cluster.find(name)?).class.inventory, index)
    };
    Held::of(job.allocation.shares(), kind, None)
}
