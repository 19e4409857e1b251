//! What a deployment needs of a queue, and what its quota is.

use super::super::queues::with_queues_above;
use super::super::requested::requested_by;
use common::gpu::GpuKind;
use common::id::QueueName;
use common::job::Ask;
use common::policy::queue::Queue;
use common::policy::{Amounts, QuotaMode};
use common::reason::plural;
use common::unit::{Bytes, Cpus, GpuMilli, Nodes};
use common::wire::api::QueueHeld;
use state::State;
use std::collections::BTreeMap;

/// Resources. GPUs are by kind, without one where the request leaves it open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Need {
    gpus: BTreeMap<Option<GpuKind>, GpuMilli>,
    cpus: Cpus,
    memory: Bytes,
}

impl Need {
    pub fn of(state: &State, ask: &Ask) -> Self {
        let request = &ask.request;
        let nodes = request.nodes.unwrap_or(Nodes(1));
        let milli = request.total_gpus_milli(nodes, request.tasks);
        let resources = requested_by(state, ask);
        let gpus = (milli > GpuMilli::ZERO).then(|| (request.gpu_kind.clone(), milli));
        Self { gpus: gpus.into_iter().collect(), cpus: resources.cpus, memory: resources.memory }
    }

    pub fn times(&self, count: u32) -> Self {
        let gpus = self.gpus.iter().map(|(kind, milli)| (kind.clone(), milli.times(count)));
        Self {
            gpus: gpus.collect(),
            cpus: self.cpus.times(count),
            memory: self.memory.times(count),
        }
    }

    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for (kind, milli) in &other.gpus {
            *sum.gpus.entry(kind.clone()).or_default() += *milli;
        }
        (sum.cpus, sum.memory) = (self.cpus + other.cpus, self.memory + other.memory);
        sum
    }

    /// The difference, at least zero.
    pub fn less(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        for (kind, milli) in &mut rest.gpus {
            *milli -= other.gpus.get(kind).copied().unwrap_or_default();
        }
        rest.gpus.retain(|_, milli| *milli > GpuMilli::ZERO);
        (rest.cpus, rest.memory) = (self.cpus - other.cpus, self.memory - other.memory);
        rest
    }

    fn all_gpus(&self) -> GpuMilli {
        self.gpus.values().copied().sum()
    }

    /// `4 GPUs, 8 CPUs, 16G of memory`
    fn text(&self) -> String {
        let kinds = self.gpus.iter().map(|(kind, milli)| {
            let kind = kind.as_ref().map_or_else(String::new, |kind| format!("{kind} "));
            let ending = if milli.0 == 1000 { "" } else { "s" };
            format!("{} {kind}GPU{ending}", gpus_text(*milli))
        });
        let cpus = self.cpus;
        let cpus = (cpus != Cpus::ZERO).then(|| format!("{cpus} CPU{}", plural(cpus.0)));
        let memory = (self.memory != Bytes::ZERO).then(|| format!("{} of memory", self.memory));
        kinds.chain(cpus).chain(memory).collect::<Vec<_>>().join(", ")
    }
}

/// `1.5`
fn gpus_text(milli: GpuMilli) -> String {
    (f64::from(milli.0) / 1000.0).to_string()
}

/// What is needed, and how it compares with the quotas of the queue and of those above it.
pub(super) fn queue_lines(
    state: &State,
    held: &BTreeMap<QueueName, QueueHeld>,
    name: &QueueName,
    need: &Need,
) -> Vec<String> {
    if *need == Need::default() {
        return Vec::new();
    }
    let mut lines = vec![format!("queue {name}: needs room for {} more", need.text())];
    for queue in with_queues_above(state, name) {
        let held = held.get(&queue.name).cloned().unwrap_or_default();
        let quota = &queue.quota;
        if let Some(limit) = first_exceeded(&quota.at_most, &held, need) {
            lines.push(line(queue, &limit, "at_most", "it would wait"));
        } else if let Some(limit) = first_exceeded(&quota.amounts, &held, need) {
            let then = match quota.mode {
                QuotaMode::Isolated => "it would wait",
                QuotaMode::Shared => "the rest is borrowed, and may be taken back",
            };
            lines.push(line(queue, &limit, "quota", then));
        }
    }
    lines
}

fn line(queue: &Queue, limit: &Exceeded, what: &str, then: &str) -> String {
    let Exceeded { held, need, most } = limit;
    format!(
        "queue {}: holds {held}, and {need} more exceed its {what} of {most}: {then}",
        queue.name
    )
}

struct Exceeded {
    held: String,
    need: String,
    most: String,
}

/// The first resource of which a queue would hold more than these amounts.
fn first_exceeded(amounts: &Amounts, held: &QueueHeld, need: &Need) -> Option<Exceeded> {
    let gpus = |held: GpuMilli, need: GpuMilli, most: u32, kind: &str| {
        let is_over = need > GpuMilli::ZERO && held + need > GpuMilli::WHOLE.times(most);
        is_over.then(|| Exceeded {
            held: gpus_text(held),
            need: gpus_text(need),
            most: format!("{most} {kind}GPU{}", plural(most)),
        })
    };
    let of_kinds = amounts.gpus.iter().find_map(|(kind, most)| {
        let held = held.gpus_milli.get(kind).copied().unwrap_or_default();
        let need = need.gpus.get(&Some(kind.clone())).copied().unwrap_or_default();
        gpus(held, need, most.0, &format!("{kind} "))
    });
    let of_any = || {
        let all: GpuMilli = held.gpus_milli.values().copied().sum();
        gpus(all, need.all_gpus(), amounts.gpus_any?.0, "")
    };
    let of_cpus = || {
        let most = amounts.cpus.filter(|most| held.cpus + need.cpus > *most)?;
        let (held, need) = (held.cpus.to_string(), need.cpus.to_string());
        Some(Exceeded { held, need, most: format!("{most} CPU{}", plural(most.0)) })
    };
    let of_memory = || {
        let most = amounts.memory.filter(|most| held.memory + need.memory > *most)?;
        let (held, need) = (held.memory.to_string(), need.memory.to_string());
        Some(Exceeded { held, need, most: format!("{most} of memory") })
    };
    of_kinds.or_else(of_any).or_else(of_cpus).or_else(of_memory)
}
