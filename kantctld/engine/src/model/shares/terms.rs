//! The meaning of a queue's settings under fair sharing.

use super::amount::{Amount, UNLIMITED};
use super::runtime::Protection;
use super::tree::{QueueAt, Terms, Tree};
use crate::model::cluster::ClusterIndex;
use common::gpu::GpuKind;
use common::id::QueueName;
use common::policy::queue::Queue;
use common::policy::{Amounts, Policy, QuotaMode};
use common::time::Span;
use std::collections::BTreeMap;

/// The queues of a policy on these nodes, without any holdings or requests.
pub(crate) fn tree(policy: &Policy, cluster: &ClusterIndex) -> Tree {
    Tree::new(terms(&policy.queues, &gpus_by_kind(cluster)))
}

/// The terms of all queues. GPUs that a quota does not name are not guaranteed and are shared as
/// surplus; CPUs and memory that it does not name are not shared out at all. Jobs that are not
/// preemptible are bound by a quota where it names the resource. `gpus`: the GPUs of the cluster.
pub(crate) fn terms(queues: &[Queue], gpus: &Kinds) -> Vec<Terms> {
    let places = places(queues);
    queues.iter().enumerate().map(|(at, queue)| of_queue(at, queue, &places, gpus)).collect()
}

/// The index of each queue.
fn places(queues: &[Queue]) -> BTreeMap<&QueueName, QueueAt> {
    queues.iter().enumerate().rev().map(|(at, queue)| (&queue.name, QueueAt(at))).collect()
}

fn of_queue(
    at: usize,
    queue: &Queue,
    places: &BTreeMap<&QueueName, QueueAt>,
    gpus: &Kinds,
) -> Terms {
    let owed = &queue.quota.amounts;
    let most = match queue.quota.mode {
        QuotaMode::Isolated => owed,
        QuotaMode::Shared => &queue.quota.at_most,
    };
    let (quota, firm) = (amount_from_named(owed, 0), bound_from_amounts(owed, gpus));
    let parent = queue.parent.as_ref().and_then(|name| places.get(name)).copied();
    let least = queue.preemption.runtime_min;
    Terms {
        name: queue.name.to_string(),
        parent,
        priority: i64::from(queue.priority),
        created: at as u64,
        quota,
        firm,
        limit: bound_from_amounts(most, gpus),
        weight: [f64::from(queue.weight); 3],
        protection: Protection {
            preempt: None,
            reclaim: queue.reclaim_runtime_min,
            always: (least > Span(0)).then_some(least),
        },
    }
}

/// The number of GPUs of each kind.
pub(crate) type Kinds = BTreeMap<GpuKind, i64>;

/// GPUs by kind, on nodes that are up or down.
fn gpus_by_kind(cluster: &ClusterIndex) -> Kinds {
    let mut kinds = Kinds::new();
    for (class, nodes) in cluster.class_sizes() {
        for (kind, mask) in class.kinds() {
            let gpus = i64::from(mask.count_ones()) * i64::from(*nodes);
            *kinds.entry(kind.clone()).or_default() += gpus;
        }
    }
    kinds
}

/// Amounts as a bound. One that names only some kinds of GPU allows all GPUs of the others; the
/// bound of each kind is counted when a job starts.
fn bound_from_amounts(of: &Amounts, gpus: &Kinds) -> Amount {
    let mut bound = amount_from_named(of, UNLIMITED);
    if of.gpus_any.is_none() && !of.gpus.is_empty() {
        let others = gpus.iter().filter(|(kind, _)| !of.gpus.contains_key(*kind));
        bound.gpu_milli += others.map(|(_, count)| count * 1000).sum::<i64>();
    }
    bound
}

fn amount_from_named(of: &Amounts, gpus_unnamed: i64) -> Amount {
    let kinds = || of.gpus.values().map(|gpus| i64::from(gpus.0)).sum::<i64>();
    let named = of.gpus_any.map(|gpus| i64::from(gpus.0));
    let named = named.or_else(|| (!of.gpus.is_empty()).then(kinds));
    Amount {
        cpu_milli: of.cpus.map_or(UNLIMITED, |cpus| i64::from(cpus.0) * 1000),
        memory_bytes: of
            .memory
            .map_or(UNLIMITED, |memory| i64::try_from(memory.0).unwrap_or(UNLIMITED)),
        gpu_milli: named.map_or(gpus_unnamed, |gpus| gpus * 1000),
    }
}
