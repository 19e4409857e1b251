//! The queues of a case as a policy of kant.
//!
//! A quota without bound guarantees the whole cluster. CPUs and memory without bound are not named.
//! Queues stand in the order of their age, which is what decides between equal ones.

use super::super::error::{ImportError, unknown, unsupported};
use super::super::format::{BoundText, Case, QueueText};
use super::nodes;
use common::id::{QosName, QueueName};
use common::policy::qos::Qos;
use common::policy::queue::Queue;
use common::policy::{
    Access, Amounts, Limits, Moves, Placement, Policy, Preemption, Quota, QuotaMode,
};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus};
use std::collections::BTreeSet;

pub(super) fn policy(case: &Case) -> Result<Policy, ImportError> {
    if case.config.only_policies.is_some() {
        return unsupported("way to leave out single policies");
    }
    let packs = |text: &str| text == "binpack" || text == "pack";
    let placement = case.config.node_placement.iter().flat_map(|both| both.values());
    if !placement.chain(&case.config.gpu_device_placement).all(|text| packs(text)) {
        return unsupported("spreading of the devices of a node");
    }
    let sums = (nodes::gpus(case), nodes::cpu_unit(case));
    let mut texts: Vec<&QueueText> = case.queues.iter().collect();
    texts.sort_by_key(|text| (text.created_rank, &text.name));
    Ok(Policy {
        queues: texts.into_iter().map(|text| queue(text, sums)).collect::<Result<_, _>>()?,
        qos: qos_list(case)?,
        fair_sharing: true,
        moves: Moves { per_hour: u32::MAX, lost_gpu_minutes_max: u64::MAX },
        topology: nodes::topology(case)?,
        ..Policy::default()
    })
}

pub(super) fn queue_name(text: &str) -> Result<QueueName, ImportError> {
    QueueName::new(text).map_err(|_| unknown("name of a queue", text))
}

fn queue(text: &QueueText, (gpus, unit): (u32, i64)) -> Result<Queue, ImportError> {
    if text.preempt_min_runtime_s.is_some() {
        return unsupported("protection that holds only inside a queue");
    }
    let preemption =
        Preemption { by_priority: true, reclaim: true, preemptible: true, ..Preemption::default() };
    Ok(Queue {
        priority: i32::try_from(text.priority).unwrap_or(i32::MAX),
        parent: text.parent.as_deref().map(queue_name).transpose()?,
        placement: Placement::EBinpack,
        weight: weight(text, gpus)?,
        reclaim_runtime_min: text.reclaim_min_runtime_s.map(Span::from_seconds),
        quota: Quota {
            mode: QuotaMode::Shared,
            amounts: Amounts {
                gpus_any: Some(Gpus(whole_gpus(text.gpu.quota)?.unwrap_or(gpus))),
                ..amounts(text, unit, |bound| bound.quota)
            },
            at_most: Amounts {
                gpus_any: whole_gpus(text.gpu.limit)?.map(Gpus),
                ..amounts(text, unit, |bound| bound.limit)
            },
        },
        preemption,
        share_gpus: true,
        ..Queue::with_defaults(queue_name(&text.name)?)
    })
}

fn whole_gpus(of: Option<f64>) -> Result<Option<u32>, ImportError> {
    match of {
        Some(gpus) if gpus.fract() != 0.0 => unsupported("quota of a fraction of a GPU"),
        Some(gpus) => Ok(Some(gpus as u32)),
        None => Ok(None),
    }
}

/// The CPUs and memory that a queue names.
fn amounts(text: &QueueText, unit: i64, of: impl Fn(&BoundText) -> Option<f64>) -> Amounts {
    let cpus = of(&text.cpu_milli).map(|milli| Cpus((milli as i64 / unit) as u32));
    let memory = of(&text.memory_mb).map(|mb| Bytes((mb * 1e6) as u64));
    Amounts { cpus, memory, ..Amounts::default() }
}

/// The weight of a queue for the resources of which there is a surplus.
fn weight(text: &QueueText, gpus: u32) -> Result<u32, ImportError> {
    let gpu = (gpus > 0).then_some(text.gpu.over_quota_weight);
    let is_divided = |bound: &&BoundText| bound.quota.is_some();
    let others = [&text.cpu_milli, &text.memory_mb].into_iter().filter(is_divided);
    let all: Vec<f64> =
        gpu.into_iter().chain(others.map(|bound| bound.over_quota_weight)).collect();
    let first = all.first().copied().unwrap_or(1.0);
    if all.iter().any(|weight| *weight != first) {
        return unsupported("weights that differ by resource");
    }
    if first.fract() != 0.0 {
        return unsupported("weights that are no whole numbers");
    }
    Ok(first as u32)
}

/// The quality of service that stands for a priority.
pub(super) fn qos_of_priority(priority: i64) -> Result<QosName, ImportError> {
    let name = format!("priority.{priority}");
    QosName::new(name.as_str()).map_err(|_| unknown("name of a quality of service", &name))
}

fn qos_list(case: &Case) -> Result<Vec<Qos>, ImportError> {
    let priorities: BTreeSet<i64> = case.jobs.iter().map(|job| job.priority).collect();
    let one = |priority: i64| {
        Ok(Qos {
            name: qos_of_priority(priority)?,
            priority: i32::try_from(priority).unwrap_or(i32::MAX),
            access: Access::default(),
            preemptible: None,
            time_limit_max: None,
            limits: Limits::default(),
            limits_per_user: Limits::default(),
        })
    };
    priorities.into_iter().map(one).collect()
}
