//! What a queue's settings mean where queues share fairly. Never what it holds.

use super::amount::{Amount, UNLIMITED};
use super::runtime::Protection;
use super::tree::{QueueAt, Terms};
use common::policy::{Amounts, QuotaMode};
use common::queue::Queue;
use common::time::Span;

/// What a queue's settings mean here. GPUs that a quota does not name are not owed, and are shared
/// as surplus; CPUs and memory that it does not name are not shared out at all. What binds jobs
/// that yield to nobody is a quota that names the resource.
pub(super) fn terms(at: usize, queue: &Queue, all: &[Queue]) -> Terms {
    let owed = &queue.quota.amounts;
    let most = match queue.quota.mode {
        QuotaMode::Isolated => owed,
        QuotaMode::Shared => &queue.quota.at_most,
    };
    let (quota, firm) = (amounts(owed, 0), amounts(owed, UNLIMITED));
    let parent = queue.parent.as_ref();
    let parent = parent.and_then(|name| all.iter().position(|other| other.name == *name));
    let least = queue.preemption.runtime_min;
    Terms {
        name: queue.name.to_string(),
        parent: parent.map(QueueAt),
        priority: i64::from(queue.priority),
        created: at as u64,
        quota,
        firm,
        limit: amounts(most, UNLIMITED),
        weight: [f64::from(queue.weight); 3],
        protection: Protection {
            preempt: (least > Span(0)).then_some(least),
            reclaim: queue.reclaim_runtime_min.or((least > Span(0)).then_some(least)),
        },
    }
}

fn amounts(of: &Amounts, gpus_unnamed: i64) -> Amount {
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
