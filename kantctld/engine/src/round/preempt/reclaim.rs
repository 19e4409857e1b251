//! Reclaim: a queue takes back what others have borrowed from it.
//!
//! Source: Kueue, "Preemption", reclaimWithinCohort; KAI Scheduler, action reclaim. Ours: what is
//! borrowed is always lent on recall, whether or not the job that holds it is preemptible.
//! Reads: quotas and what is held (`usage_accounting::reclaim` decides what may be taken back).
//! Never for a job that would borrow itself.
//! Knobs: `quota` of a queue; `preemption.reclaim` of the queue that takes back.
//!
//! A job that accepts several kinds of GPU has a claim for each of them; what it gets in the end
//! must be guaranteed to it, too.
//!
//! Example. Nodes a and b have 8 GPUs each; queues x and y have a quota of 8 GPUs each. Jobs 1 and
//! 2 of y run on a and b, job 2 started later. Job 3 of x asks for 4 GPUs: job 2 is stopped, as it
//! loses less. Then y holds its quota, and x reclaims no more from it.

use super::Asker;
use crate::model::queues::Queues;
use crate::model::usage_accounting::{Claim, KindIndex, QuotaStatus, UsageAccounting};
use crate::model::victim_index::VictimIndex;
use crate::round::planner::RoundState;
use common::id::QueueName;
use common::unit::{GpuMilli, Nodes};

/// Whether a job of this queue may reclaim at all.
pub(super) fn may_ask(
    asker: &Asker<'_>,
    accounting: &UsageAccounting,
    queues: &Queues<'_>,
) -> bool {
    let tree = accounting.tree();
    let has_quota =
        |name: &QueueName| queues.get(name).is_some_and(|q| !q.quota.amounts.is_empty());
    asker.queue.preemption.reclaim
        && asker.quota_status == QuotaStatus::WithinQuota
        && tree
            .index(&asker.queue.name)
            .is_some_and(|queue| tree.path(queue).iter().any(|above| has_quota(tree.name(*above))))
}

/// The holders of what a job is guaranteed, for one way to meet its request. Jobs for which this is
/// equal may reclaim from the same jobs, one after the other: the amount matters only for the
/// first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lent {
    /// The kinds of GPUs that it asks for.
    kinds: Vec<KindIndex>,
    /// Whether it asks for GPUs, CPUs, memory.
    asks: [bool; 3],
    /// Whether each group of running jobs, in their order, holds some of it on loan.
    pub groups: Vec<bool>,
}

/// What a job is guaranteed, for each way to meet its request.
pub(crate) struct Owed {
    claims: Vec<Claim>,
}

impl Owed {
    pub(super) fn new(asker: &Asker<'_>, state: &mut RoundState<'_>) -> Self {
        if !may_ask(asker, &state.accounting, &state.queues) {
            return Self { claims: Vec::new() };
        }
        let demand = &asker.shape.demand;
        let nodes = asker.shape.node_count().unwrap_or(Nodes(1));
        let job = asker.job;
        let (account, qos) = (job.account.as_ref(), job.qos.as_ref());
        let principal = state.accounting.principal(&job.queue, job.owner, account, qos);
        let open = crate::model::claims::of_demand(demand, nodes, principal, &state.accounting);
        let mut claims = Vec::new();
        if open.gpu_milli() > 0 && open.kinds().is_empty() {
            let gpus = GpuMilli(u32::try_from(open.gpu_milli()).unwrap_or(u32::MAX));
            for (class, _) in state.snapshot.cluster.class_sizes() {
                let accepted = class.accepted_positions(demand.request);
                let kinds = class.kinds().iter().filter(|(_, mask)| mask & accepted != 0);
                for kind in kinds.filter_map(|(kind, _)| state.accounting.kind(kind)) {
                    let mut claim = Claim::new(open.who);
                    (claim.cpus, claim.memory) = (open.cpus, open.memory);
                    claim.add_gpus(Some(kind), gpus);
                    if !claims.contains(&claim) {
                        claims.push(claim);
                    }
                }
            }
        }
        claims.push(open);
        Self { claims }
    }

    /// The running jobs that hold what it is guaranteed, for each way.
    pub(super) fn lent(
        &self,
        accounting: &UsageAccounting,
        victim_index: &VictimIndex,
    ) -> Vec<Lent> {
        let lent = |claim: &Claim| Lent {
            kinds: claim.kinds().iter().map(|(kind, _)| *kind).collect(),
            asks: [claim.gpu_milli() > 0, claim.cpus.0 > 0, claim.memory.0 > 0],
            groups: victim_index
                .groups()
                .map(|one| accounting.may_reclaim(claim, &one.claim))
                .collect(),
        };
        self.claims.iter().map(lent).collect()
    }

    /// Whether the job may preempt one that holds this much, as the usage accounting stands.
    pub(super) fn may_reclaim(&self, accounting: &UsageAccounting, victim: &Claim) -> bool {
        self.claims.iter().any(|claim| accounting.may_reclaim(claim, victim))
    }
}

#[cfg(test)]
mod tests {
    use crate::round::preempt::tests::{World, low, of, owed};
    use crate::testing::{gpu_node, gpu_request};
    use common::gpu::GpuKind;
    use common::policy::queue::Queue;
    use common::policy::{Amounts, Quota};
    use common::unit::Gpus;
    use std::collections::BTreeMap;

    /// Jobs 1 and 2 of queue y hold all nodes.
    fn world(queues: Vec<Queue>) -> World {
        let mut world = World::new(vec![gpu_node("a", 8), gpu_node("b", 8)], queues);
        for job in [1, 2] {
            world.at(10 * u64::from(job)).submit(of(job, gpu_request(8), "y", "high"));
            world.round();
        }
        assert_eq!(world.snapshot.all_running().count(), 2);
        world.at(30);
        world
    }

    #[test]
    fn the_example() {
        let mut world = world(vec![owed("q", 8), owed("y", 8)]);
        assert_eq!(world.submit(low(3, 4)).round(), ["2 for 3"]);
        assert_eq!(world.at(31).gone(2).round(), ["3 on b"]);
        world.submit(low(4, 8));
        assert_eq!(world.round(), [""; 0], "y holds what it is owed");
    }

    #[test]
    fn a_queue_may_leave_lent_what_is_its_own() {
        let mut lender = owed("q", 8);
        lender.preemption.reclaim = false;
        let mut world = world(vec![lender, owed("y", 8)]);
        assert_eq!(world.submit(low(3, 4)).round(), [""; 0]);
    }

    #[test]
    fn a_job_that_names_no_kind_of_gpu_is_owed_what_its_queue_is_owed_of_each() {
        let h100 = |gpus| {
            let gpus = BTreeMap::from([(GpuKind("h100".to_owned()), Gpus(gpus))]);
            Quota { amounts: Amounts { gpus, ..Amounts::default() }, ..Quota::default() }
        };
        let of_kind = |name, gpus| Queue { quota: h100(gpus), ..owed(name, 0) };
        let mut world = world(vec![of_kind("q", 8), of_kind("y", 8)]);
        assert_eq!(world.submit(low(3, 8)).round(), ["2 for 3"]);
        assert_eq!(world.at(31).gone(2).round(), ["3 on b"]);
        assert_eq!(world.submit(low(4, 8)).round(), [""; 0], "it would borrow");
    }

    #[test]
    fn a_queue_takes_back_from_one_beside_it_what_the_queue_above_both_has_no_more_of() {
        let parent = crate::round::preempt::tests::isolated("p", 8);
        let below = |name| Queue { parent: Some(parent.name.clone()), ..owed(name, 4) };
        let nodes = vec![gpu_node("a", 8), gpu_node("b", 8)];
        let mut world = World::new(nodes, vec![below("q"), below("y"), parent.clone()]);
        for job in [1, 2] {
            world.submit(of(job, gpu_request(4), "y", "low"));
        }
        assert_eq!(world.round().len(), 2, "y borrows what q does not use");
        world.at(5).submit(low(3, 4));
        assert_eq!(world.round(), ["2 for 3"]);
        world.at(6).submit(low(4, 4)).gone(2);
        assert_eq!(world.round(), ["3 on a"], "job 4 would borrow");
    }
}
