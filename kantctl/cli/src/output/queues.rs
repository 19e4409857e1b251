//! Queues as a tree, with policies, quotas and usage.

mod queue_record;

use super::priority::order;
use super::sizes::{count_with_noun, format_gpu_milli};
use super::table::{Cell, Column, Table};
use super::time::limit;
use common::hostlist::compress;
use common::policy::queue::Queue;
use common::policy::{Amounts, Behind, Limits, Placement, QuotaMode};
use common::unit::{GpuMilli, Gpus};
use common::wire::api::{QueueHeld, QueueList};

pub use queue_record::record;

const COLUMNS: [Column; 10] = [
    Column::new("QUEUE").with_min_width(12),
    Column::new("PRIO").right_aligned().with_drop_order(2),
    Column::new("POLICY").with_short_title("POL").with_drop_order(3),
    Column::new("PLACEMENT").with_short_title("PLACE").with_drop_order(1),
    Column::new("QUOTA").with_min_width(12),
    Column::new("LIMITS").with_min_width(10),
    Column::new("RUN").right_aligned(),
    Column::new("WAIT").right_aligned(),
    Column::new("TIME").right_aligned(),
    Column::new("NODES").with_min_width(4).with_drop_order(0),
];

/// Queues, one per row, children indented below their parents; a star marks the default queue.
#[must_use]
pub fn table(list: &QueueList) -> Table {
    let mut table = Table::new(&COLUMNS, &["NODES", "LIMITS", "QUEUE", "QUOTA"]);
    let nothing = QueueHeld::default();
    for (depth, queue) in tree(&list.queues) {
        let held = list.held.get(&queue.name).unwrap_or(&nothing);
        let star = if queue.default { "*" } else { "" };
        let nodes = if queue.nodes.is_empty() { "all".to_owned() } else { compress(&queue.nodes) };
        let closing = if held.closing { " (closing)" } else { "" };
        table.add_row(vec![
            Cell::from(format!("{}{}{star}{closing}", "  ".repeat(depth), queue.name)),
            Cell::from(queue.priority),
            Cell::from(policy(queue)).with_short(&policy_short(queue)),
            Cell::from(placement(queue.placement)),
            Cell::from(quota(queue, held)),
            Cell::from(limits(queue)),
            Cell::from(held.running),
            Cell::from(held.waiting),
            Cell::from(limit(queue.time_limit_max)),
            Cell::from(nodes),
        ]);
    }
    table
}

/// Queues in tree order, each with its depth. A queue with an unknown parent is a root; a queue in
/// a cycle, which the configuration check excludes, comes last.
fn tree(queues: &[Queue]) -> Vec<(usize, &Queue)> {
    let is_root = |queue: &&Queue| {
        let parent = queue.parent.as_ref();
        parent.is_none_or(|parent| !queues.iter().any(|other| other.name == *parent))
    };
    let mut shown = Vec::new();
    let mut next: Vec<(usize, &Queue)> = queues.iter().filter(is_root).map(|q| (0, q)).collect();
    next.reverse();
    while let Some((depth, queue)) = next.pop() {
        shown.push((depth, queue));
        let below = queues.iter().filter(|other| other.parent.as_ref() == Some(&queue.name));
        next.extend(below.rev().map(|child| (depth + 1, child)));
    }
    let left = queues.iter().filter(|q| !shown.iter().any(|(_, known)| known.name == q.name));
    let left: Vec<_> = left.map(|queue| (0, queue)).collect();
    shown.into_iter().chain(left).collect()
}

/// The treatment of jobs behind the first that does not fit, and the order: `backfill/fifo`.
fn policy(queue: &Queue) -> String {
    let behind = match queue.behind {
        Behind::Wait => "wait".to_owned(),
        Behind::Pass => "pass".to_owned(),
        Behind::Backfill if queue.backfill.depth == 0 => "backfill(all)".to_owned(),
        Behind::Backfill if queue.backfill.depth == 1 => "backfill".to_owned(),
        Behind::Backfill => format!("backfill({})", queue.backfill.depth),
    };
    format!("{behind}/{}", order(queue.order))
}

fn policy_short(queue: &Queue) -> String {
    policy(queue).replace("backfill", "bf").replace("multifactor", "multi")
}

const fn placement(placement: Placement) -> &'static str {
    match placement {
        Placement::First => "first",
        Placement::Binpack => "binpack",
        Placement::EBinpack => "ebinpack",
        Placement::Spread => "spread",
        Placement::ESpread => "espread",
        Placement::Fgd => "fgd",
    }
}

/// Usage and quota: `12/16 h100, 40/64 CPUs, isolated`; without a quota, the usage.
fn quota(queue: &Queue, held: &QueueHeld) -> String {
    let all = held.gpus_milli.values().copied().sum();
    let gpus = |used: GpuMilli, owed: Gpus| format!("{}/{owed}", format_gpu_milli(used));
    let Amounts { gpus: kinds, gpus_any, cpus, memory } = &queue.quota.amounts;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(kinds.iter().map(|(kind, owed)| {
        let used = held.gpus_milli.get(kind).copied().unwrap_or_default();
        format!("{} {kind}", gpus(used, *owed))
    }));
    parts.extend(gpus_any.map(|owed| format!("{} GPUs", gpus(all, owed))));
    parts.extend(cpus.map(|owed| format!("{}/{owed} CPUs", held.cpus)));
    parts.extend(memory.map(|owed| format!("{}/{owed}", held.memory)));
    if parts.is_empty() {
        return if all.0 > 0 {
            format!("{}/- GPUs", format_gpu_milli(all))
        } else {
            "-".to_owned()
        };
    }
    if queue.quota.mode == QuotaMode::Isolated {
        parts.push("isolated".to_owned());
    }
    parts.join(", ")
}

/// Limits of the queue, per user and per account: `8 jobs, 32 GPUs; user 4 GPUs`.
fn limits(queue: &Queue) -> String {
    let scopes = [
        ("", &queue.limits),
        ("user ", &queue.limits_per_user),
        ("account ", &queue.limits_per_account),
    ];
    let bounded = scopes.into_iter().filter(|(_, limits)| !limits.is_empty());
    let parts: Vec<String> =
        bounded.map(|(scope, limits)| format!("{scope}{}", limits_text(limits))).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join("; ") }
}

fn limits_text(limits: &Limits) -> String {
    let parts = [
        limits.jobs.map(|jobs| count_with_noun(jobs, "job")),
        limits.gpus.map(|gpus| count_with_noun(gpus.0, "GPU")),
        limits.cpus.map(|cpus| count_with_noun(cpus.0, "CPU")),
        limits.gpu_minutes.map(|minutes| format!("{minutes} GPU-min")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
