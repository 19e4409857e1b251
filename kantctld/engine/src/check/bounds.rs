//! Does anybody get more than limits and quotas allow? Counts what is held, not what was asked for.
//! Never looks at a job that asks for nothing of what is bounded: it takes nothing.

use super::left::Left;
use super::sums::{Column, Held, named, to_go};
use crate::snapshot::{NodeSnapshot, RunningJob, WaitingJob};
use common::cpuset::CpuSet;
use common::id::{AccountName, NodeName, QosName, QueueName, Uid};
use common::policy::{Limits, Policy, QuotaMode};
use common::queue::Queue;
use common::resource::Allocation;
use common::time::Time;
use std::collections::BTreeMap;

/// Whose job it is.
pub(super) struct Party<'j> {
    pub queue: &'j QueueName,
    pub owner: Uid,
    pub account: Option<&'j AccountName>,
    pub qos: Option<&'j QosName>,
}

/// All bounds, and what those they bound hold.
pub(super) struct Bounds<'a> {
    policy: &'a Policy,
    now: Time,
    /// By whom, in words.
    held: BTreeMap<String, Held>,
    capacity: Held,
}

impl<'a> Bounds<'a> {
    pub fn new(policy: &'a Policy, now: Time) -> Self {
        Self { policy, now, held: BTreeMap::new(), capacity: Held::default() }
    }

    /// Is there any limit or quota at all?
    pub fn bound_anybody(&self) -> bool {
        let limits = |all: &[&Limits]| all.iter().any(|limits| !limits.is_empty());
        let (queues, qos, accounts) =
            (&self.policy.queues, &self.policy.qos, &self.policy.accounts);
        queues.iter().any(|queue| {
            limits(&[&queue.limits, &queue.limits_per_user, &queue.limits_per_account])
                || !queue.quota.amounts.is_empty()
                || !queue.quota.at_most.is_empty()
        }) || qos.iter().any(|one| limits(&[&one.limits, &one.limits_per_user]))
            || accounts.iter().any(|one| limits(&[&one.limits, &one.limits_per_user]))
    }

    /// What the nodes have that are not down.
    pub fn capacity(&mut self, nodes: &[&NodeSnapshot]) {
        for node in nodes.iter().filter(|node| node.unusable != Some(crate::Unusable::Down)) {
            let has = &node.inventory;
            let cpus: u32 = has.cores.iter().map(CpuSet::len).sum();
            let mut all = Held::default();
            all.amounts.insert(Column::Cpus, cpus.into());
            all.amounts.insert(Column::Memory, has.memory.0);
            all.amounts.insert(Column::Gpus, has.gpus.len() as u64 * 1000);
            for gpu in &has.gpus {
                *all.amounts.entry(Column::Kind(gpu.kind.clone())).or_default() += 1000;
            }
            self.capacity.join(&all);
        }
    }

    /// A job runs.
    pub fn run(&mut self, job: &RunningJob, nodes: &BTreeMap<NodeName, Left>) {
        let held = Held::of(&job.allocation, nodes, to_go(job.ends_by, self.now));
        self.add(&of_running(job), &held);
    }

    /// A running job no longer counts.
    pub fn stop(&mut self, job: &RunningJob, nodes: &BTreeMap<NodeName, Left>) {
        let held = Held::of(&job.allocation, nodes, to_go(job.ends_by, self.now));
        for (who, _) in self.limits(&of_running(job)) {
            self.held.entry(who).or_default().leave(&held);
        }
        for queue in self.path(&job.queue) {
            self.held.entry(quota_of(queue)).or_default().leave(&held);
        }
        self.held.entry(EVERYBODY.to_owned()).or_default().leave(&held);
    }

    fn add(&mut self, party: &Party<'_>, held: &Held) {
        for (who, _) in self.limits(party) {
            self.held.entry(who).or_default().join(held);
        }
        for queue in self.path(party.queue) {
            self.held.entry(quota_of(queue)).or_default().join(held);
        }
        self.held.entry(EVERYBODY.to_owned()).or_default().join(held);
    }

    /// A job starts. Says which bounds it breaks.
    pub fn start(
        &mut self,
        job: &WaitingJob,
        allocation: &Allocation,
        nodes: &BTreeMap<NodeName, Left>,
    ) -> Vec<String> {
        let party = of_waiting(job);
        let held = Held::of(allocation, nodes, job.time_limit);
        let mut faults = Vec::new();
        for (who, limits) in self.limits(&party) {
            let with_it = |of: fn(&Held) -> u64| self.held.get(&who).map_or(0, of) + of(&held);
            let gpus = |held: &Held| held.get(&Column::Gpus);
            let cpus = |held: &Held| held.get(&Column::Cpus);
            let more = |limit: Option<u64>, of: fn(&Held) -> u64| {
                of(&held) > 0 && limit.is_some_and(|limit| with_it(of) > limit)
            };
            let is_more = more(limits.jobs.map(u64::from), |held| held.jobs)
                || more(limits.gpus.map(|gpus| u64::from(gpus.0) * 1000), gpus)
                || more(limits.cpus.map(|cpus| u64::from(cpus.0)), cpus);
            let time = self.held.get(&who).map_or(0, |sum| sum.gpu_time) + held.gpu_time;
            let endless = job.time_limit.is_none();
            let is_longer = gpus(&held) > 0
                && limits
                    .gpu_minutes
                    .is_some_and(|minutes| endless || time > u128::from(minutes) * 60_000 * 1000);
            if is_more || is_longer {
                faults.push(format!("is more than the limits of {who} allow"));
            }
        }
        faults.extend(self.quotas(&party, &held));
        self.add(&party, &held);
        faults
    }

    fn quotas(&self, party: &Party<'_>, asked: &Held) -> Vec<String> {
        let mut faults = Vec::new();
        let path = self.path(party.queue);
        for (column, amount) in &asked.amounts {
            for queue in &path {
                let with_it = self.quota_used(queue, column) + amount;
                let quota = named(&queue.quota.amounts, column);
                let is_isolated = queue.quota.mode == QuotaMode::Isolated;
                if is_isolated && quota.is_some_and(|quota| with_it > quota) {
                    faults.push(format!("takes isolated queue {} over its quota", queue.name));
                }
                if named(&queue.quota.at_most, column).is_some_and(|most| with_it > most) {
                    faults.push(format!("takes queue {} further than at_most", queue.name));
                }
            }
            if self.takes_what_is_kept(&path, column, *amount) {
                faults.push("borrows what is kept for isolated queues".to_owned());
            }
        }
        faults
    }

    /// Does a job that borrows, of queues of which none is isolated, leave less of the cluster than
    /// isolated queues may still take?
    fn takes_what_is_kept(&self, path: &[&Queue], column: &Column, asked: u64) -> bool {
        let names = |queue: &Queue| named(&queue.quota.amounts, column);
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
        let used = self.held.get(EVERYBODY).map_or(0, |held| held.get(column));
        !is_owed && kept > 0 && used + asked + kept > self.capacity.get(column)
    }

    /// What a queue and all below it hold.
    pub fn quota_used(&self, queue: &Queue, column: &Column) -> u64 {
        self.held.get(&quota_of(queue)).map_or(0, |held| held.get(column))
    }

    /// The queue and those above it.
    pub fn path(&self, name: &QueueName) -> Vec<&'a Queue> {
        let find = |name: &QueueName| self.policy.queues.iter().find(|queue| queue.name == *name);
        let mut path: Vec<&Queue> = find(name).into_iter().collect();
        while let Some(above) = path.last().and_then(|last| find(last.parent.as_ref()?)) {
            if path.iter().any(|queue| queue.name == above.name) {
                break;
            }
            path.push(above);
        }
        path
    }

    /// Who is bounded, and how.
    fn limits(&self, party: &Party<'_>) -> Vec<(String, Limits)> {
        let mut all = Vec::new();
        let user = party.owner;
        for queue in self.path(party.queue) {
            let name = &queue.name;
            all.push((format!("queue {name}"), queue.limits));
            all.push((format!("user {user} in queue {name}"), queue.limits_per_user));
            if let Some(account) = party.account {
                let who = format!("account {account} in queue {name}");
                all.push((who, queue.limits_per_account));
            }
        }
        for qos in self.policy.qos.iter().filter(|qos| Some(&qos.name) == party.qos) {
            all.push((format!("QoS {}", qos.name), qos.limits));
            all.push((format!("user {user} in QoS {}", qos.name), qos.limits_per_user));
        }
        for one in self.policy.accounts.iter().filter(|one| Some(&one.name) == party.account) {
            all.push((format!("account {}", one.name), one.limits));
            all.push((format!("user {user} in account {}", one.name), one.limits_per_user));
        }
        all.retain(|(_, limits)| !limits.is_empty());
        all
    }
}

const EVERYBODY: &str = "everybody";

fn quota_of(queue: &Queue) -> String {
    format!("quota of {}", queue.name)
}

fn of_running(job: &RunningJob) -> Party<'_> {
    let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
    Party { queue: &job.queue, owner: job.owner, account, qos }
}

pub(super) fn of_waiting(job: &WaitingJob) -> Party<'_> {
    let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
    Party { queue: &job.queue, owner: job.owner, account, qos }
}
