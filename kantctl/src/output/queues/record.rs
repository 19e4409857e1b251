//! Everything about one queue, in words. Never a table, and never asks for it.

use super::super::people;
use super::super::record::Record;
use super::super::sizes::{count, milli};
use super::super::time::limit;
use super::{placement, policy, quota, some};
use common::hostlist::fold;
use common::policy::{Access, Amounts, Preemption, VictimMode, ZoneOverflow};
use common::queue::Queue;
use common::wire::api::QueueHeld;

/// Everything about a queue.
#[must_use]
pub fn record(queue: &Queue, held: &QueueHeld) -> String {
    let mut record = Record::default();
    let star = if queue.default { " (the default)" } else { "" };
    record.fact("queue", format!("{}{star}", queue.name));
    record.maybe("below", queue.parent.as_ref());
    if held.closing {
        let told = "no longer configured; it goes when its jobs are over, and takes no new ones";
        record.fact("closing", told);
    }
    record.fact("priority", queue.priority);
    record.fact("policy", policy(queue));
    let timeout = queue.backfill.head_timeout;
    record.maybe("head waits", timeout.map(|span| format!("{span}, then jobs that passed yield")));
    record.fact("placement", placement(queue.placement));
    record.maybe(
        "zone",
        queue.zone.as_ref().map(|zone| {
            let full = match queue.zone_overflow {
                ZoneOverflow::Pack => "services go elsewhere when it is full",
                ZoneOverflow::Wait => "services wait when it is full",
            };
            format!("{zone}; {full}")
        }),
    );
    record.fact("nodes", if queue.nodes.is_empty() { "all".into() } else { fold(&queue.nodes) });
    record.fact("users", access(&queue.access));
    record.fact("quota", quota(queue, held));
    record.maybe("borrows to", Some(amounts(&queue.quota.at_most)).filter(|most| !most.is_empty()));
    for (whose, limits) in [
        ("limits", &queue.limits),
        ("a user", &queue.limits_per_user),
        ("an account", &queue.limits_per_account),
    ] {
        record.maybe(whose, (!limits.is_empty()).then(|| some(limits)));
    }
    record.fact("time limit", times(queue));
    record.fact("memory", format!("{} a CPU, unless a job asks", queue.memory_per_cpu));
    record.fact("GPUs", if queue.share_gpus { "whole or shared" } else { "whole" });
    record.fact("preemption", preemption(&queue.preemption));
    record.fact("jobs", format!("{} run, {} wait", held.running, held.waiting));
    record.fact("holds", holds(held));
    record.text()
}

fn times(queue: &Queue) -> String {
    format!(
        "{} unless a job asks, at most {}",
        limit(queue.time_limit_default),
        limit(queue.time_limit_max)
    )
}

fn access(access: &Access) -> String {
    if access.is_open() {
        return "everybody".to_owned();
    }
    let users = access.users.iter().map(|uid| format!("user {}", people::user(uid.0)));
    let groups = access.groups.iter().map(|gid| format!("group {}", people::group(gid.0)));
    let accounts = access.accounts.iter().map(|account| format!("account {account}"));
    users.chain(groups).chain(accounts).collect::<Vec<_>>().join(", ")
}

fn amounts(amounts: &Amounts) -> String {
    let kinds = amounts.gpus.iter().map(|(kind, gpus)| format!("{gpus} {kind}"));
    let rest = [
        amounts.gpus_any.map(|gpus| format!("{gpus} GPUs")),
        amounts.cpus.map(|cpus| count(cpus.0, "CPU")),
        amounts.memory.map(|memory| memory.to_string()),
    ];
    kinds.chain(rest.into_iter().flatten()).collect::<Vec<_>>().join(", ")
}

fn preemption(preemption: &Preemption) -> String {
    let mut parts = Vec::new();
    if preemption.by_priority {
        parts.push("its jobs may displace lesser ones of it".to_owned());
    }
    if preemption.reclaim {
        parts.push("it takes back what it lent".to_owned());
    }
    let become_of = match preemption.victims {
        VictimMode::Requeue => "wait again",
        VictimMode::Cancel => "are over",
    };
    if preemption.preemptible {
        parts.push("its jobs may be made to yield".to_owned());
    }
    parts.push(format!("those that yield {become_of}"));
    if preemption.runtime_min.0 > 0 {
        parts.push(format!("none before {}", preemption.runtime_min));
    }
    parts.join("; ")
}

fn holds(held: &QueueHeld) -> String {
    let kinds = held.gpus_milli.iter().filter(|(_, gpus)| gpus.0 > 0);
    let gpus = kinds.map(|(kind, gpus)| format!("{} {kind}", milli(*gpus)));
    let rest = [count(held.cpus.0, "CPU"), format!("{} memory", held.memory)];
    gpus.chain(rest).collect::<Vec<_>>().join(", ")
}
