//! Checks limits and quotas, by what is held and not by what was asked for. A bound on resources
//! that a job does not ask for does not apply to it.

use super::left::Left;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::judge_ledger::Ledger;
use crate::model::judge_ledger::sums::{Column, Held, kind_in, named_amount, to_go};
use crate::model::judge_ledger::who::{
    Principal, Who, holders_counting, limits, path, principal_of_running, principal_of_waiting,
};
use crate::model::node_snapshot::NodeSnapshot;
use common::gpu::GpuKind;
use common::id::{GpuIndex, NodeName, QueueName};
use common::policy::queue::Queue;
use common::policy::{Policy, QuotaMode};
use common::resource::{Allocation, Share};
use common::time::Time;
use std::collections::BTreeMap;

/// All bounds, and what is held under each.
pub(super) struct Bounds<'a> {
    policy: &'a Policy,
    now: Time,
    /// What was held before the round, where that was not summed again.
    before: Option<&'a Ledger>,
    held: BTreeMap<Who, Held>,
    capacity: Held,
}

impl<'a> Bounds<'a> {
    /// The bounds of a policy, with nothing held.
    pub fn new(policy: &'a Policy, now: Time) -> Self {
        let (held, capacity) = (BTreeMap::new(), Held::default());
        Self { policy, now, before: None, held, capacity }
    }

    /// Uses the ledger for what runs already.
    pub fn use_ledger(&mut self, ledger: &'a Ledger) {
        self.capacity = ledger.capacity.clone();
        self.before = Some(ledger);
    }

    /// Sums the capacity of nodes that are not down.
    pub fn add_capacity(&mut self, nodes: &[&NodeSnapshot]) {
        for node in nodes.iter().filter(|node| node.unusable != Some(crate::Unusable::Down)) {
            self.capacity.add_all(&Held::all_of(&node.inventory));
        }
    }

    pub fn add_running(&mut self, job: &RunningJob, nodes: &BTreeMap<NodeName, Left>) {
        let held = Held::of(job.allocation.shares(), kind_on(nodes), to_go(job.ends_by, self.now));
        self.add(&principal_of_running(job), &held);
    }

    /// Subtracts these shares of a running job; with all of them, the job itself.
    pub fn subtract_shares(
        &mut self,
        job: &RunningJob,
        shares: &[Share],
        nodes: &BTreeMap<NodeName, Left>,
    ) {
        let mut held = Held::of(shares, kind_on(nodes), to_go(job.ends_by, self.now));
        held.jobs = u64::from(shares.len() == job.allocation.shares().len());
        for who in holders_counting(self.policy, &principal_of_running(job)) {
            self.sum_of(who).subtract(&held);
        }
    }

    fn add(&mut self, principal: &Principal<'_>, held: &Held) {
        for who in holders_counting(self.policy, principal) {
            self.sum_of(who).add_all(held);
        }
    }

    /// The sum of one holder, for changes.
    fn sum_of(&mut self, who: Who) -> &mut Held {
        let (before, now) = (self.before, self.now);
        self.held.entry(who).or_insert_with_key(|who| {
            before.map(|ledger| ledger.held(who, now)).unwrap_or_default()
        })
    }

    /// One amount of one holder.
    fn held(&self, who: &Who, of: impl Fn(&Held) -> u64) -> u64 {
        let before = || self.before.and_then(|ledger| ledger.amounts(who));
        self.held.get(who).or_else(before).map_or(0, of)
    }

    /// Adds a job that starts. Returns the bounds that it breaks.
    pub fn add_start(
        &mut self,
        job: &WaitingJob,
        allocation: &Allocation,
        nodes: &BTreeMap<NodeName, Left>,
    ) -> Vec<String> {
        let held = Held::of(allocation.shares(), kind_on(nodes), job.time_limit);
        self.add_and_check(job, held)
    }

    /// Adds what a running job grows by. `job`: the running job as if it waited. Returns the bounds
    /// that it breaks.
    pub fn add_growth(
        &mut self,
        job: &WaitingJob,
        shares: &[Share],
        nodes: &BTreeMap<NodeName, Left>,
    ) -> Vec<String> {
        let held = Held::of(shares, kind_on(nodes), job.time_limit);
        self.add_and_check(job, Held { jobs: 0, ..held })
    }

    /// Adds what a job will hold that is promised a start. Returns the bounds that it breaks.
    pub fn add_planned_start(&mut self, job: &WaitingJob, held: &Held) -> Vec<String> {
        self.add_and_check(job, held.clone())
    }

    fn add_and_check(&mut self, job: &WaitingJob, held: Held) -> Vec<String> {
        let principal = principal_of_waiting(job);
        let mut faults = Vec::new();
        for (who, limits) in limits(self.policy, &principal) {
            let with_it = |of: fn(&Held) -> u64| self.held(&who, of) + of(&held);
            let gpus = |held: &Held| held.get(&Column::Gpus);
            let cpus = |held: &Held| held.get(&Column::Cpus);
            let more = |limit: Option<u64>, of: fn(&Held) -> u64| {
                of(&held) > 0 && limit.is_some_and(|limit| with_it(of) > limit)
            };
            let is_more = more(limits.jobs.map(u64::from), |held| held.jobs)
                || more(limits.gpus.map(|gpus| u64::from(gpus.0) * 1000), gpus)
                || more(limits.cpus.map(|cpus| u64::from(cpus.0)), cpus);
            let endless = job.time_limit.is_none();
            let is_longer = gpus(&held) > 0
                && limits.gpu_minutes.is_some_and(|minutes| {
                    let time = self.sum_of(who.clone()).gpu_time + held.gpu_time;
                    endless || time > u128::from(minutes) * 60_000 * 1000
                });
            if is_more || is_longer {
                faults.push(format!("is more than the limits of {who} allow"));
            }
        }
        faults.extend(self.exceeded_quotas(&principal, &held));
        self.add(&principal, &held);
        faults
    }

    fn exceeded_quotas(&self, principal: &Principal<'_>, asked: &Held) -> Vec<String> {
        let mut faults = Vec::new();
        let path = self.path(principal.queue);
        for (column, amount) in &asked.amounts {
            for queue in &path {
                let with_it = self.quota_used(queue, column) + amount;
                let quota = named_amount(&queue.quota.amounts, column);
                let is_isolated = queue.quota.mode == QuotaMode::Isolated;
                if is_isolated && quota.is_some_and(|quota| with_it > quota) {
                    faults.push(format!("takes isolated queue {} over its quota", queue.name));
                }
                if named_amount(&queue.quota.at_most, column).is_some_and(|most| with_it > most) {
                    faults.push(format!("takes queue {} further than at_most", queue.name));
                }
            }
            if self.takes_isolated_reserve(&path, column, *amount) {
                faults.push("borrows what is kept for isolated queues".to_owned());
            }
        }
        faults
    }

    /// Whether a borrowing job outside isolated queues leaves less of the cluster than isolated
    /// queues may still take.
    fn takes_isolated_reserve(&self, path: &[&Queue], column: &Column, asked: u64) -> bool {
        let names = |queue: &Queue| named_amount(&queue.quota.amounts, column);
        let isolated =
            |queue: &Queue| names(queue).filter(|_| queue.quota.mode == QuotaMode::Isolated);
        if path.iter().any(|queue| isolated(queue).is_some()) {
            return false;
        }
        let over = |queue: &&Queue| {
            names(queue).map(|quota| self.quota_used(queue, column) + asked > quota)
        };
        let is_owed = path.iter().any(|queue| names(queue).is_some())
            && path.iter().filter_map(over).all(|over| !over);
        let is_top = |queue: &&Queue| {
            self.path(&queue.name).iter().skip(1).all(|above| isolated(above).is_none())
        };
        let kept: u64 = self
            .policy
            .queues
            .iter()
            .filter(is_top)
            .filter_map(|queue| {
                Some(isolated(queue)?.saturating_sub(self.quota_used(queue, column)))
            })
            .sum();
        let used = self.held(&Who::All, |held| held.get(column));
        !is_owed && kept > 0 && used + asked + kept > self.capacity.get(column)
    }

    /// What a queue with its descendants holds.
    pub fn quota_used(&self, queue: &Queue, column: &Column) -> u64 {
        self.held(&Who::Quota(queue.name.clone()), |held| held.get(column))
    }

    pub fn path(&self, name: &QueueName) -> Vec<&'a Queue> {
        path(self.policy, name)
    }
}

/// The kind of a GPU on these nodes.
pub(super) fn kind_on(
    nodes: &BTreeMap<NodeName, Left>,
) -> impl Fn(&NodeName, GpuIndex) -> Option<GpuKind> {
    |name, index| kind_in(&nodes.get(name)?.node.inventory, index)
}
