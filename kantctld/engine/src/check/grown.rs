//! Checks the nodes that a round gives to running jobs: the job gets what it asked for, on nodes
//! that are free and that it never had, within limits and quotas, and no waiting job could use
//! them. It does not check whether another job should have had them.

use super::Judge;
use super::order::waits_for_room;
use crate::model::decision::Decision;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::judge_ledger::who::{path, principal_of_running, principal_of_waiting};
use crate::model::node_snapshot::NodeSnapshot;
use crate::model::snapshot::Growing;
use crate::round::round_result::Round;
use common::id::{JobKey, NodeName, QueueName};
use common::reason::{Bound, WaitReason};
use common::resource::{Allocation, GpuRequest, MemoryRequest, Share};
use common::time::{Span, Time};
use common::unit::GpuMilli;
use std::sync::Arc;

/// A job that ends sooner than this does not grow.
const LEFT_MS_MIN: u64 = 5 * 60_000;

impl<'a> Judge<'a> {
    /// Checks what each growing job gets.
    pub(super) fn check_growth_decisions(&mut self, decisions: &'a [Decision]) {
        let mut grown = std::collections::BTreeSet::new();
        for decision in decisions {
            let Decision::Grow { key, attempt, shares } = decision else { continue };
            self.key = *key;
            let Some((job, growing)) =
                self.snapshot.running_job(*key).zip(self.snapshot.growing(*key))
            else {
                self.fault("grows but does not run, or did not ask for that");
                continue;
            };
            let first = grown.insert(*key);
            self.require(first, "grows twice");
            self.require(job.attempt == *attempt, "grows in another attempt");
            let goes = decisions.iter().any(|decision| {
                matches!(decision, Decision::Preempt { key: other, .. }
                    | Decision::Shrink { key: other, .. } if other == key)
            });
            let stays = job.may_be_preempted() && job.yields_to.is_none() && !goes;
            self.require(stays, "grows though it, or some of it, is on its way out");
            let left = job.ends_by.map(|ends| ends.since(self.now));
            let is_long = left.is_none_or(|left| left.0 >= LEFT_MS_MIN);
            self.require(is_long, "grows though it is over soon");
            let may_lose = job.preemptible || !self.snapshot.policy().fair_sharing;
            self.require(may_lose, "grows where queues share, and is not preemptible");
            let is_time = growing.not_before.is_none_or(|time| time <= self.now);
            self.require(is_time, "grows though nodes failed to join it a moment ago");
            self.check_growth(job, growing, shares, left);
        }
    }

    fn check_growth(
        &mut self,
        job: &'a RunningJob,
        growing: &Growing,
        shares: &'a [Share],
        left: Option<Span>,
    ) {
        // As if the job began now, and ended when it does.
        let asked = WaitingJob { time_limit: left, ..growing.asked.clone() };
        let has = job.allocation.shares();
        self.require(!shares.is_empty(), "grows by nothing");
        let all: Vec<Share> = has.iter().chain(shares).cloned().collect();
        let Ok(all) = Allocation::new(all) else {
            return self.fault("grows onto a node twice");
        };
        self.require(all.tasks() <= asked.request.tasks, "grows to more than it asked for");
        self.check_same_switch(&asked, &all);
        let Some(queue) = self.queues.get(&job.queue).copied() else {
            return self.fault("grows in a queue there is not");
        };
        for share in shares {
            let had = growing.had.contains(&share.node);
            self.require(!had, "gets a node again that it gave up");
            let Some(left) = self.left.get(&share.node) else {
                self.fault(format!("grows onto node {}, which there is not", share.node));
                continue;
            };
            let node = left.node.clone();
            self.check_node_allowed(&asked, queue, share, &node);
            self.check_share(&asked, queue, share, &node);
            self.take(&asked, share);
            self.check_reserved_nodes(&asked, &share.node);
        }
        let faults = self.bounds.add_growth(&asked, shares, &self.left);
        faults.into_iter().for_each(|fault| self.fault(fault));
    }

    /// No waiting job could use the nodes that others grow onto.
    pub(super) fn check_growth_harms_none(&mut self, round: &'a Round) {
        let grows = round.decisions.iter().filter_map(|decision| match decision {
            Decision::Grow { key, shares, .. } => Some((*key, &shares[..])),
            _ => None,
        });
        let grows: Vec<(JobKey, &[Share])> = grows.collect();
        if grows.is_empty() {
            return;
        }
        let waits: Vec<(&Arc<WaitingJob>, WaitReason)> = self
            .snapshot
            .all_waiting()
            .filter(|job| !self.started.contains(&job.key) && self.waits_only_for_room(job))
            .filter_map(|job| Some((job, round.waits.reason_of(self.snapshot, job.key)?)))
            .collect();
        for (key, shares) in grows {
            let Some(job) = self.snapshot.running_job(key) else { continue };
            self.key = key;
            for (other, reason) in &waits {
                self.check_growth_harm(round, job, shares, other, reason);
            }
        }
    }

    /// Whether the job waits for nothing but a place and its bounds.
    fn waits_only_for_room(&self, job: &WaitingJob) -> bool {
        !job.is_kept_back() && job.earliest_start().is_none_or(|gate| gate <= self.now)
    }

    fn check_growth_harm(
        &mut self,
        round: &Round,
        job: &RunningJob,
        shares: &[Share],
        other: &WaitingJob,
        reason: &WaitReason,
    ) {
        let ends = job.ends_by.unwrap_or(Time(u64::MAX));
        let is_fair = self.snapshot.policy().fair_sharing;
        let sure = round
            .planned_starts
            .get(&other.key)
            .filter(|planned_start| !planned_start.nodes.is_empty());
        if is_fair && waits_for_room(reason) {
            return self.fault(format!("grows while job {} waits", other.key));
        }
        if let Some(planned_start) = sure {
            let is_late = planned_start.yielded || ends > planned_start.at;
            let taken =
                shares.iter().find(|share| is_late && planned_start.nodes.contains(&share.node));
            if let Some(share) = taken {
                self.fault(format!("grows onto {}, kept for job {}", share.node, other.key));
            }
            return;
        }
        if !reason.is_for_ever() && self.counts_for_bound(job, other, reason) {
            self.fault(format!("grows by what job {} waits for: {reason}", other.key));
        }
        if !waits_for_room(reason) {
            return;
        }
        let usable = |name: &NodeName| {
            let node = self.snapshot.node_and_jobs(name).map(|(node, _)| node);
            node.is_some_and(|node| self.could_use(other, &node))
        };
        if let Some(share) = shares.iter().find(|share| usable(&share.node)) {
            self.fault(format!("grows onto {}, which job {} could use", share.node, other.key));
        }
    }

    /// Whether the running job counts for the bound that the other job waits for.
    fn counts_for_bound(&self, job: &RunningJob, other: &WaitingJob, reason: &WaitReason) -> bool {
        let bound = match reason {
            WaitReason::LimitReached { bound, .. } => bound,
            WaitReason::QuotaExceeded { .. } => return self.count_for_same_bound(job, other),
            _ => return false,
        };
        let own = path(self.snapshot.policy(), &job.queue);
        let is_of = |name: &QueueName| own.iter().any(|queue| queue.name == *name);
        (!bound.is_of_one_user() || job.owner == other.owner)
            && match bound {
                Bound::Queue(name) | Bound::UserInQueue(_, name) => is_of(name),
                Bound::AccountInQueue(account, name) => {
                    is_of(name) && job.account.as_ref() == Some(account)
                }
                Bound::Qos(name) | Bound::UserInQos(_, name) => job.qos.as_ref() == Some(name),
                Bound::Account(name) | Bound::UserInAccount(_, name) => {
                    job.account.as_ref() == Some(name)
                }
            }
    }

    fn count_for_same_bound(&self, job: &RunningJob, other: &WaitingJob) -> bool {
        let (own, waits) = (principal_of_running(job), principal_of_waiting(other));
        let policy = self.snapshot.policy();
        let above = path(policy, waits.queue);
        let common = path(policy, own.queue)
            .iter()
            .any(|queue| above.iter().any(|other| other.name == queue.name));
        common
            || own.owner == waits.owner
            || own.account.is_some() && own.account == waits.account
            || own.qos.is_some() && own.qos == waits.qos
    }

    /// Whether this node, if idle, would certainly hold a part of the job.
    fn could_use(&self, job: &WaitingJob, node: &NodeSnapshot) -> bool {
        let Some(queue) = self.queues.get(&job.queue).copied() else { return false };
        let (request, has) = (&job.request, &node.inventory);
        if !self.rules_against_node(job, queue, node).is_empty() {
            return false;
        }
        let nodes = request.nodes.map(|nodes| u64::from(nodes.0.max(1)));
        let tasks = nodes.map_or(1, |nodes| u64::from(request.tasks.0).div_ceil(nodes));
        // Each of its GPUs may be too small for a part by memory.
        if request.gpu_part_on(&has.gpus).is_some_and(|part| part > GpuMilli::WHOLE) {
            return false;
        }
        let is_kind = |kind: &common::gpu::GpuKind| request.accepts(kind);
        let gpus = has.gpus.iter().filter(|gpu| is_kind(&gpu.kind)).count() as u64;
        let wanted = match (request.gpus, nodes) {
            (None, _) => 0,
            (Some(GpuRequest::PerNode(count)), _) => u64::from(count.0),
            (Some(GpuRequest::PerTask(count)), _) => u64::from(count.0) * tasks,
            (Some(GpuRequest::Parts(parts)), _) => u64::from(parts.devices.0),
            (Some(GpuRequest::Total(count)), Some(nodes)) => u64::from(count.0).div_ceil(nodes),
            // The number of nodes depends on the cluster.
            (Some(GpuRequest::Total(_)), None) => return false,
        };
        let cpus = tasks * u64::from(request.cpus_per_task.0);
        let each = |bytes: u64, count: u64| bytes.saturating_mul(count);
        let memory = match request.memory {
            Some(MemoryRequest::PerNode(bytes)) => bytes.0,
            Some(MemoryRequest::PerCpu(bytes)) => each(bytes.0, cpus),
            Some(MemoryRequest::PerGpu(bytes)) => each(bytes.0, wanted),
            None => each(queue.memory_per_cpu.0, cpus),
        };
        // Cores are given whole.
        let cores = has.cores.iter().map(common::cpuset::CpuSet::len).max().unwrap_or(1);
        let needs = cpus.next_multiple_of(u64::from(cores.max(1)));
        let per_node = request.tasks_per_node.is_none_or(|most| tasks <= u64::from(most.0));
        gpus >= wanted && u64::from(has.cpus.len()) >= needs && has.memory.0 >= memory && per_node
    }
}

#[cfg(test)]
mod tests;
