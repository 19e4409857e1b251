//! Reads queues and amounts as rule cases write them.

use engine::shares::runtime::Protection;
use engine::shares::tree::{Account, QueueAt, Terms, Tree};
use engine::shares::{Amount, Resource, UNLIMITED};
use serde_json::Value;

/// Something that a case lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Missing(pub String);

/// A number; 0 if it is missing.
pub(super) fn number(of: &Value, key: &str) -> f64 {
    of[key].as_f64().unwrap_or(0.0)
}

/// A text; empty if it is missing.
pub(super) fn name(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

/// How many of kant's units are one of a case's: GPUs, millicores, 10^6 bytes.
pub(super) const fn units_per_one(resource: Resource) -> f64 {
    match resource {
        Resource::Gpu => 1000.0,
        Resource::Cpu => 1.0,
        Resource::Memory => 1e6,
    }
}

/// A limit; null is unlimited, and a missing one is 0.
pub(super) fn read_bound(of: &Value, key: &str, resource: Resource) -> i64 {
    match of.get(key) {
        Some(Value::Null) => UNLIMITED,
        Some(value) => (value.as_f64().unwrap_or(0.0) * units_per_one(resource)).round() as i64,
        None => 0,
    }
}

/// An amount of each resource.
pub(super) fn amount(of: &Value) -> Amount {
    Amount {
        cpu_milli: read_bound(of, "cpu", Resource::Cpu),
        memory_bytes: read_bound(of, "memory", Resource::Memory),
        gpu_milli: read_bound(of, "gpu", Resource::Gpu),
    }
}

fn amounts(queue: &Value, key: &str) -> Amount {
    Amount {
        cpu_milli: read_bound(&queue["cpu"], key, Resource::Cpu),
        memory_bytes: read_bound(&queue["memory"], key, Resource::Memory),
        gpu_milli: read_bound(&queue["gpu"], key, Resource::Gpu),
    }
}

/// The tree of a case's queues, with what each holds and its fair share.
pub(super) fn tree(queues: &Value) -> Result<Tree, Missing> {
    let queues = queues.as_array().ok_or_else(|| Missing("no queues".to_owned()))?;
    let at = |id: &str| queues.iter().position(|queue| name(queue, "id") == id).map(QueueAt);
    let terms = |queue: &Value| Terms {
        name: name(queue, "id"),
        parent: queue["parent"].as_str().and_then(at),
        priority: number(queue, "priority") as i64,
        created: number(queue, "created_rank") as u64,
        quota: amounts(queue, "quota"),
        limit: amounts(queue, "limit"),
        firm: amounts(queue, "quota"),
        weight: [1.0; 3],
        protection: Protection::default(),
    };
    let mut tree = Tree::new(queues.iter().map(terms).collect());
    for (account, queue) in tree.accounts.iter_mut().zip(queues) {
        *account = Account {
            allocated: amounts(queue, "allocated"),
            firm: amounts(queue, "allocated_non_preemptible"),
            request: amounts(queue, "request"),
            fair: amounts(queue, "fair_share"),
            usage: [0.0; 3],
        };
    }
    Ok(tree)
}

/// A queue by its name.
pub(super) fn queue_at(tree: &Tree, name: &str) -> Result<QueueAt, Missing> {
    let at = tree.terms.iter().position(|terms| terms.name == name);
    at.map(QueueAt).ok_or_else(|| Missing(format!("no queue {name}")))
}
