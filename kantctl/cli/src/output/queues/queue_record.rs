//! A queue as a record.

use super::super::record::Record;
use super::super::sizes::{count_with_noun, format_gpu_milli};
use super::super::time::limit;
use super::super::user_names;
use super::{limits_text, placement, policy, quota};
use common::hostlist::compress;
use common::policy::queue::Queue;
use common::policy::{Access, Amounts, Preemption, VictimMode, ZoneOverflow};
use common::wire::api::QueueHeld;

/// The full record of a queue.
#[must_use]
pub fn record(queue: &Queue, held: &QueueHeld) -> String {
    let mut record = Record::default();
    let star = if queue.default { " (the default)" } else { "" };
    record.fact("queue", format!("{}{star}", queue.name));
    record.add_optional_fact("parent", queue.parent.as_ref());
    if held.closing {
        let text = "removed from the configuration: accepts no jobs, ends with its last job";
        record.fact("closing", text);
    }
    record.fact("priority", queue.priority);
    record.fact("policy", policy(queue));
    let timeout = queue.backfill.head_timeout;
    record.add_optional_fact(
        "head waits",
        timeout.map(|span| format!("at most {span}, then backfilled jobs are preempted")),
    );
    record.fact("placement", placement(queue.placement));
    record.add_optional_fact(
        "zone",
        queue.zone.as_ref().map(|zone| {
            let full = match queue.zone_overflow {
                ZoneOverflow::Pack => "services start outside it when it is full",
                ZoneOverflow::Wait => "services wait when it is full",
            };
            format!("{zone}; {full}")
        }),
    );
    record
        .fact("nodes", if queue.nodes.is_empty() { "all".into() } else { compress(&queue.nodes) });
    record.fact("users", access(&queue.access));
    record.fact("quota", quota(queue, held));
    record.add_optional_fact(
        "at most",
        Some(amounts(&queue.quota.at_most)).filter(|most| !most.is_empty()),
    );
    for (label, limits) in [
        ("limits", &queue.limits),
        ("per user", &queue.limits_per_user),
        ("per account", &queue.limits_per_account),
    ] {
        record.add_optional_fact(label, (!limits.is_empty()).then(|| limits_text(limits)));
    }
    record.fact("time limit", time_limits(queue));
    record.fact("memory", format!("default {} per CPU", queue.memory_per_cpu));
    record.fact("GPUs", if queue.share_gpus { "whole or shared" } else { "whole" });
    record.fact("preemption", preemption(&queue.preemption));
    record.fact("jobs", format!("{} running, {} waiting", held.running, held.waiting));
    record.fact("allocated", allocated(held));
    record.text()
}

fn time_limits(queue: &Queue) -> String {
    format!("default {}, at most {}", limit(queue.time_limit_default), limit(queue.time_limit_max))
}

fn access(access: &Access) -> String {
    if access.is_open() {
        return "all".to_owned();
    }
    let users = access.users.iter().map(|uid| format!("user {}", user_names::user(uid.0)));
    let groups = access.groups.iter().map(|gid| format!("group {}", user_names::group(gid.0)));
    let accounts = access.accounts.iter().map(|account| format!("account {account}"));
    users.chain(groups).chain(accounts).collect::<Vec<_>>().join(", ")
}

fn amounts(amounts: &Amounts) -> String {
    let kinds = amounts.gpus.iter().map(|(kind, gpus)| format!("{gpus} {kind}"));
    let rest = [
        amounts.gpus_any.map(|gpus| format!("{gpus} GPUs")),
        amounts.cpus.map(|cpus| count_with_noun(cpus.0, "CPU")),
        amounts.memory.map(|memory| memory.to_string()),
    ];
    kinds.chain(rest.into_iter().flatten()).collect::<Vec<_>>().join(", ")
}

fn preemption(preemption: &Preemption) -> String {
    let mut parts = Vec::new();
    if preemption.by_priority {
        parts.push("its jobs may preempt its jobs of lower priority".to_owned());
    }
    if preemption.reclaim {
        parts.push("it reclaims its quota from other queues".to_owned());
    }
    let victim_fate = match preemption.victims {
        VictimMode::Requeue => "requeued",
        VictimMode::Cancel => "cancelled",
    };
    if preemption.preemptible {
        parts.push("its jobs may be preempted".to_owned());
    }
    parts.push(format!("preempted jobs are {victim_fate}"));
    if preemption.runtime_min.0 > 0 {
        parts.push(format!("after running for at least {}", preemption.runtime_min));
    }
    parts.join("; ")
}

fn allocated(held: &QueueHeld) -> String {
    let kinds = held.gpus_milli.iter().filter(|(_, gpus)| gpus.0 > 0);
    let gpus = kinds.map(|(kind, gpus)| format!("{} {kind}", format_gpu_milli(*gpus)));
    let rest = [count_with_noun(held.cpus.0, "CPU"), format!("{} memory", held.memory)];
    gpus.chain(rest).collect::<Vec<_>>().join(", ")
}
