//! Ranks of waiting jobs, for one policy, usage and time.
//!
//! Source: man slurm.conf, PriorityCalcPeriod: priorities are computed periodically, not on each
//! query.

use super::fair_share::{FairShare, Usage};
use super::fifo::{self, Tier};
use super::multifactor::Multifactor;
use super::rank::Rank;
use super::{Facts, rank_of};
use crate::model::job::WaitingJob;
use crate::model::queues::Queues;
use common::id::QosName;
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{Amounts, Order, Policy};
use common::time::Time;
use common::unit::Nodes;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What ranks are computed from.
pub(crate) struct Ranker<'a> {
    policy: &'a Policy,
    capacity: &'a Amounts,
    fair: FairShare,
    queues: Queues<'a>,
    qos: BTreeMap<&'a QosName, &'a Qos>,
    now: Time,
}

impl<'a> Ranker<'a> {
    pub fn new(
        (policy, queues): (&'a Policy, Queues<'a>),
        usage: &Usage,
        capacity: &'a Amounts,
        now: Time,
    ) -> Self {
        // Fair shares matter only in multifactor queues.
        let weighs = policy.queues.iter().any(|queue| queue.order == Order::Multifactor);
        let (no_usage, half_life) = (Usage::default(), policy.factors.half_life_hours);
        let usage = if weighs { usage } else { &no_usage };
        Self {
            fair: FairShare::new(usage, &policy.accounts, half_life, now),
            queues,
            qos: policy.qos.iter().map(|qos| (&qos.name, qos)).collect(),
            policy,
            capacity,
            now,
        }
    }

    /// The tier of a job of a FIFO queue.
    pub fn tier(&self, job: &WaitingJob) -> Tier {
        let queue = self.queues.get(&job.queue);
        queue.map_or((Reverse(i32::MIN), Reverse(0), 0), |queue| {
            fifo::tier(queue, self.qos_of(job), job.nice)
        })
    }

    fn qos_of(&self, job: &WaitingJob) -> Option<&'a Qos> {
        job.qos.as_ref().and_then(|name| self.qos.get(name).copied())
    }

    pub fn rank(&self, job: &WaitingJob) -> Rank {
        let Some(queue) = self.queues.get(&job.queue) else { return Rank::last(job) };
        let qos = self.qos_of(job);
        let multifactor = Multifactor::new(self.policy, &self.fair, self.capacity);
        rank_of(&multifactor, &facts(queue, job, qos), self.now)
    }
}

/// What the order reads of a job. For a job without a fixed number of nodes, GPUs and CPUs are
/// those it asks for on one node.
pub(crate) fn facts<'f>(queue: &'f Queue, job: &'f WaitingJob, qos: Option<&'f Qos>) -> Facts<'f> {
    let demand = crate::model::demand::Demand::new(&job.request, queue);
    let nodes = job.request.nodes.unwrap_or(Nodes(1));
    Facts {
        key: job.key,
        queue,
        qos,
        account: job.account.as_ref(),
        owner: job.owner,
        nice: job.nice,
        since: job.since(),
        gpus: crate::model::claims::gpus(&demand, nodes),
        cpus: job.request.cpus_per_task.times(job.request.tasks.0),
    }
}
