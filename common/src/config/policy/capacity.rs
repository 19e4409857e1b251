//! Warnings about a policy that does not match the cluster: quotas above its capacity, and unknown
//! nodes and GPU kinds. They are no errors: nodes may come later, and quotas may exceed capacity.

use super::fair_sharing::ignored_settings;
use crate::gpu::GpuKind;
use crate::hostlist;
use crate::id::{NodeName, QueueName};
use crate::node::Inventory;
use crate::policy::queue::Queue;
use crate::policy::{Amounts, Policy};
use crate::unit::{Bytes, Cpus, Gpus};
use std::collections::{BTreeMap, BTreeSet};

/// The resources of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capacity {
    pub nodes: BTreeSet<NodeName>,
    pub gpus: BTreeMap<GpuKind, Gpus>,
    pub cpus: Cpus,
    pub memory: Bytes,
}

impl Capacity {
    /// The total of these nodes.
    pub fn of<'a>(nodes: impl IntoIterator<Item = (&'a NodeName, &'a Inventory)>) -> Self {
        let mut capacity = Self::default();
        for (name, inventory) in nodes {
            capacity.nodes.insert(name.clone());
            capacity.cpus += inventory.cpu_count();
            capacity.memory += inventory.memory;
            for gpu in &inventory.gpus {
                *capacity.gpus.entry(gpu.kind.clone()).or_default() += Gpus(1);
            }
        }
        capacity
    }
}

/// Warnings for an operator about a policy on a cluster. If the cluster's nodes are unknown, only
/// warnings about the queues themselves.
#[must_use]
pub fn warnings(policy: &Policy, capacity: &Capacity) -> Vec<String> {
    let owed = policy.queues.iter();
    let owed =
        owed.flat_map(|queue| exceeded_quotas(policy, Some(&queue.name), &queue.quota.amounts));
    let owed = owed.chain(ignored_settings(policy));
    if capacity.nodes.is_empty() {
        return owed.collect();
    }
    let mut warnings = Vec::new();
    for queue in &policy.queues {
        if let Some(nodes) = unknown(queue.nodes.iter(), capacity) {
            warnings.push(format!("queue {}: the cluster has no node {nodes} yet", queue.name));
        }
        for kind in queue.quota.amounts.gpus.keys().filter(|k| !capacity.gpus.contains_key(k)) {
            let kinds: Vec<String> = capacity.gpus.keys().map(ToString::to_string).collect();
            let has = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
            let name = &queue.name;
            warnings.push(format!(
                "queue {name}, quota: no node has GPUs of kind {kind}; the kinds are: {has}"
            ));
        }
    }
    let whole = Amounts {
        gpus: capacity.gpus.clone(),
        gpus_any: Some(capacity.gpus.values().copied().sum()),
        cpus: Some(capacity.cpus),
        memory: Some(capacity.memory),
    };
    warnings.extend(exceeded_quotas(policy, None, &whole));
    warnings.extend(owed);
    if let Some(nodes) = unknown(policy.topology.0.keys(), capacity) {
        warnings.push(format!("topology: the cluster has no node {nodes} yet"));
    }
    warnings
}

/// The nodes that do not exist, as a host list.
fn unknown<'a>(names: impl Iterator<Item = &'a NodeName>, capacity: &Capacity) -> Option<String> {
    let unknown: Vec<&NodeName> = names.filter(|name| !capacity.nodes.contains(name)).collect();
    (!unknown.is_empty()).then(|| hostlist::compress(unknown))
}

/// The sums of the children's quotas that exceed their parent's quota; for `None`, the sums of the
/// top-level queues' quotas that exceed the cluster.
fn exceeded_quotas(policy: &Policy, parent: Option<&QueueName>, has: &Amounts) -> Vec<String> {
    let children: Vec<&Queue> =
        policy.queues.iter().filter(|queue| queue.parent.as_ref() == parent).collect();
    let owed = || children.iter().map(|queue| &queue.quota.amounts);
    let owner = match parent {
        None => "the cluster has".to_owned(),
        Some(name) => format!("their parent queue {name} has"),
    };
    let names: Vec<&str> = children.iter().map(|queue| queue.name.as_str()).collect();
    let names = names.join(", ");
    let sentence = |what: &str, owed: &str, has: &str| {
        format!("quotas of {names}: {owed} {what} in all, more than the {has} that {owner}")
    };
    let mut sentences = Vec::new();
    for (kind, has) in &has.gpus {
        let sum: Gpus = owed().filter_map(|amounts| amounts.gpus.get(kind)).copied().sum();
        if sum > *has {
            sentences.push(sentence(&format!("{kind} GPUs"), &sum.to_string(), &has.to_string()));
        }
    }
    let gpus: Gpus = owed().filter_map(|amounts| amounts.gpus_any).sum();
    if let Some(has) = has.gpus_any.filter(|has| gpus > *has) {
        sentences.push(sentence("GPUs", &gpus.to_string(), &has.to_string()));
    }
    let cpus: Cpus = owed().filter_map(|amounts| amounts.cpus).sum();
    if let Some(has) = has.cpus.filter(|has| cpus > *has) {
        sentences.push(sentence("CPUs", &cpus.to_string(), &has.to_string()));
    }
    let memory: Bytes = owed().filter_map(|amounts| amounts.memory).sum();
    if let Some(has) = has.memory.filter(|has| memory > *has) {
        sentences.push(sentence("of memory", &memory.to_string(), &has.to_string()));
    }
    sentences
}
