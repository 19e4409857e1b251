//! The judge's own sums: what all that runs holds, by whom it is counted for, kept up to date as
//! jobs start and end, so that a round is judged by what it changes. Never asks the books, whose
//! word it would be to judge; [`super::check`] adds up anew, and tests hold one against the other.

use super::sums::{Column, Held, kind_in, to_go};
use super::who::{Who, bound_anybody, counted_for, limits, of_running};
use crate::floor::Floor;
use crate::snapshot::{RunningJob, Unusable};
use common::gpu::GpuKind;
use common::id::{GpuIndex, JobKey, NodeName};
use common::policy::Policy;
use common::time::Time;
use std::collections::BTreeMap;

/// What all that runs holds; empty where nobody is bounded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// Without GPU-time, which passes.
    held: BTreeMap<Who, Held>,
    /// Thousandths of GPUs and ends of those who count for a bound on GPU-minutes.
    ends: BTreeMap<Who, BTreeMap<JobKey, (u64, Option<Time>)>>,
    /// What the nodes have that are not down.
    pub(super) capacity: Held,
}

impl Ledger {
    /// Adds up anew what the nodes have.
    pub fn set_capacity(&mut self, floor: &Floor) {
        self.capacity = Held::default();
        let mut known = None;
        for (_, node) in floor.nodes().filter(|(_, node)| node.unusable != Some(Unusable::Down)) {
            let has = &node.class.inventory;
            // Most nodes are as the one before.
            let all = match known.take() {
                Some((same, all)) if std::sync::Arc::ptr_eq(same, has) => all,
                _ => Held::all_of(has),
            };
            self.capacity.join(&all);
            known = Some((has, all));
        }
    }

    pub fn run(&mut self, policy: &Policy, floor: &Floor, job: &RunningJob) {
        if !bound_anybody(policy) {
            return;
        }
        let held = amounts(floor, job);
        for who in counted_for(policy, &of_running(job)) {
            self.held.entry(who).or_default().join(&held);
        }
        for (who, limits) in limits(policy, &of_running(job)) {
            if limits.gpu_minutes.is_some() {
                let gpus = held.get(&Column::Gpus);
                self.ends.entry(who).or_default().insert(job.key, (gpus, job.ends_by));
            }
        }
    }

    /// It no longer does; policy and nodes are those under which it did.
    pub fn stop(&mut self, policy: &Policy, floor: &Floor, job: &RunningJob) {
        if !bound_anybody(policy) {
            return;
        }
        let held = amounts(floor, job);
        for who in counted_for(policy, &of_running(job)) {
            if let Some(sum) = self.held.get_mut(&who) {
                sum.leave(&held);
                if sum.jobs == 0 {
                    self.held.remove(&who);
                }
            }
            if let Some(ends) = self.ends.get_mut(&who) {
                ends.remove(&job.key);
            }
        }
    }

    /// What somebody holds, but for GPU-time; `None`: nothing.
    pub(super) fn amounts(&self, who: &Who) -> Option<&Held> {
        self.held.get(who)
    }

    pub(super) fn held(&self, who: &Who, now: Time) -> Held {
        let mut held = self.held.get(who).cloned().unwrap_or_default();
        let left = |(gpus, ends): &(u64, Option<Time>)| {
            to_go(*ends, now).map_or(0, |left| u128::from(*gpus) * u128::from(left.0))
        };
        held.gpu_time = self.ends.get(who).into_iter().flat_map(BTreeMap::values).map(left).sum();
        held
    }
}

fn amounts(floor: &Floor, job: &RunningJob) -> Held {
    let kind = |name: &NodeName, index: GpuIndex| -> Option<GpuKind> {
        kind_in(&floor.node(floor.find(name)?).class.inventory, index)
    };
    Held::of(job.allocation.shares(), kind, None)
}
