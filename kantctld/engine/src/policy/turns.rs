//! The order of jobs inside a queue that sorts them by more than priority and submission. The order
//! of queues is decided by shares.
//!
//! Source: man slurm.conf, PriorityType priority/multifactor; `order::multifactor` has the figures.
//! Reads: what `order` reads. Knobs: `order` of a queue, `[priority]`.

use crate::model::job::WaitingJob;
use crate::model::rank::Rank;
use crate::model::snapshot::Snapshot;
use crate::policy::order::fair_share::FairShare;
use crate::policy::order::multifactor::Multifactor;
use crate::policy::order::rank_of;
use crate::policy::order::ranker::facts;
use common::id::JobKey;
use common::policy::Order;
use common::policy::queue::Queue;
use common::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The positions of the jobs that wait in such queues, from 0.
pub(crate) fn turns(snapshot: &Snapshot, now: Time) -> BTreeMap<JobKey, i64> {
    let policy = &snapshot.policy;
    let queues: BTreeMap<_, &Queue> = policy
        .queues
        .iter()
        .filter(|queue| queue.order == Order::Multifactor)
        .map(|queue| (&queue.name, queue))
        .collect();
    if queues.is_empty() {
        return BTreeMap::new();
    }
    let half_life = policy.factors.half_life_hours;
    let fair = FairShare::new(&snapshot.usage, &policy.accounts, half_life, now);
    let multifactor = Multifactor::new(policy, &fair, &snapshot.capacity);
    let ranked = |job: &Arc<WaitingJob>| {
        let queue = queues.get(&job.queue)?;
        let qos = policy.qos.iter().find(|qos| Some(&qos.name) == job.qos.as_ref());
        Some((rank_of(&multifactor, &facts(queue, job, qos), now), job.key))
    };
    let mut ranked: Vec<(Rank, JobKey)> = snapshot.all_waiting().filter_map(ranked).collect();
    ranked.sort();
    (0..).zip(ranked).map(|(turn, (_, key))| (key, turn)).collect()
}
