//! The conversion of `[[queue]]`, `[[qos]]` and `[[account]]` tables. `tree` checks the tree, and
//! `nodes` assigns the nodes of each queue.

use super::error::{Place, PolicyError, Problem};
use super::names::{Names, access};
use super::tree::queue_place;
use crate::config::{AccountTable, AmountsTable, QosTable, QueueTable};
use crate::hostlist;
use crate::id::QueueName;
use crate::policy::account::Account;
use crate::policy::qos::Qos;
use crate::policy::queue::Queue;
use crate::policy::{Amounts, Backfill, Preemption, Quota, QuotaMode};
use crate::time::{Span, SpanError};

/// All queues, one of them the default; without tables, one queue named `default`.
pub(super) fn queues(tables: &[QueueTable], names: &dyn Names) -> Result<Vec<Queue>, PolicyError> {
    if tables.is_empty() {
        let place = Place { table: "queue", number: None, name: None, key: None };
        let name = QueueName::new("default").map_err(|error| PolicyError::at(place, error))?;
        return Ok(vec![Queue { default: true, ..Queue::with_defaults(name) }]);
    }
    let read = |(number, table)| queue(number, table, names);
    let mut queues = tables.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    if !queues.iter().any(|queue| queue.default) {
        let is_parent = |name| queues.iter().any(|other| other.parent.as_ref() == Some(name));
        let first = queues.iter().position(|queue| !is_parent(&queue.name)).unwrap_or(0);
        queues[first].default = true;
    }
    Ok(queues)
}

fn queue(number: usize, table: &QueueTable, names: &dyn Names) -> Result<Queue, PolicyError> {
    let name = required_name("queue", number, table.name.as_ref())?;
    let bad = |key: &'static str, problem: Problem| {
        PolicyError::at(queue_place(number, &name, Some(key)), problem)
    };
    let span = |key: &'static str, text: &str| span(text).map_err(|error| bad(key, error.into()));
    let time_limit_default = span("time_limit_default", &table.time_limit_default)?;
    let time_limit_max = span("time_limit_max", &table.time_limit_max)?;
    if time_limit_max.is_some_and(|max| time_limit_default > Some(max)) {
        return Err(bad("time_limit_default", Problem::DefaultOverMax));
    }
    let nodes = match table.nodes.as_str() {
        "" => Vec::new(),
        text => hostlist::expand(text).map_err(|error| bad("nodes", error.into()))?,
    };
    let memory = table.memory_per_cpu.parse();
    Ok(Queue {
        default: table.default,
        priority: table.priority,
        nodes,
        time_limit_default,
        time_limit_max,
        memory_per_cpu: memory.map_err(|error| bad("memory_per_cpu", Problem::Bytes(error)))?,
        parent: table.parent.clone(),
        access: access(&table.users, &table.groups, &table.accounts, names)
            .map_err(|(key, problem)| bad(key, problem))?,
        order: table.order,
        behind: table.behind,
        backfill: Backfill {
            depth: table.backfill_depth,
            reservation: table.backfill_reservation,
            candidates: table.backfill_candidates,
            run_times: table.backfill_run_times,
            head_timeout: span("head_timeout", &table.head_timeout)?,
        },
        placement: table.placement,
        zone: table.zone.clone(),
        zone_overflow: table.zone_overflow,
        weight: table.weight,
        reclaim_runtime_min: span("reclaim_runtime_min", &table.reclaim_runtime_min)?,
        quota: quota(table).map_err(|problem| bad("borrow_at_most", problem))?,
        limits: table.limits.limits(),
        limits_per_user: table.limits_per_user.limits(),
        limits_per_account: table.limits_per_account.limits(),
        preemption: Preemption {
            by_priority: table.preempt_by_priority,
            reclaim: table.reclaim,
            preemptible: table.preemptible,
            victims: table.victims,
            runtime_min: span("runtime_min", &table.runtime_min)?.unwrap_or_default(),
        },
        share_gpus: table.share_gpus,
        sandbox: table.sandbox,
        ..Queue::with_defaults(name.clone())
    })
}

/// A table's name, or an error if it has none.
pub(super) fn required_name<N: Clone>(
    table: &'static str,
    number: usize,
    name: Option<&N>,
) -> Result<N, PolicyError> {
    let place = Place { table, number: Some(number), name: None, key: None };
    name.cloned().ok_or_else(|| PolicyError::at(place, Problem::NoName))
}

fn span(text: &str) -> Result<Option<Span>, SpanError> {
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

fn quota(table: &QueueTable) -> Result<Quota, Problem> {
    let (AmountsTable(amounts), AmountsTable(at_most)) = (&table.quota, &table.borrow_at_most);
    if table.quota_mode == QuotaMode::Isolated && !at_most.is_empty() {
        return Err(Problem::IsolatedBorrows);
    }
    if let Some(what) = first_maximum_below_quota(at_most, amounts) {
        return Err(Problem::BorrowBelowQuota { what });
    }
    Ok(Quota { mode: table.quota_mode, amounts: amounts.clone(), at_most: at_most.clone() })
}

/// The first maximum that is below the quota.
fn first_maximum_below_quota(at_most: &Amounts, owed: &Amounts) -> Option<String> {
    let below = |most: Option<u64>, owed: Option<u64>| most.zip(owed).is_some_and(|(m, o)| m < o);
    let wide = |count: Option<u32>| count.map(u64::from);
    for (kind, most) in &at_most.gpus {
        if owed.gpus.get(kind).is_some_and(|owed| most < owed) {
            return Some(format!("{kind} = {most}"));
        }
    }
    let (most, owed_gpus) = (at_most.gpus_any.map(|g| g.0), owed.gpus_any.map(|g| g.0));
    if below(wide(most), wide(owed_gpus)) {
        return most.map(|most| format!("gpus = {most}"));
    }
    let (most, owed_cpus) = (at_most.cpus.map(|c| c.0), owed.cpus.map(|c| c.0));
    if below(wide(most), wide(owed_cpus)) {
        return most.map(|most| format!("cpus = {most}"));
    }
    let (most, owed) = (at_most.memory, owed.memory);
    let low = below(most.map(|m| m.0), owed.map(|o| o.0));
    most.filter(|_| low).map(|most| format!("memory = \"{most}\""))
}

pub(super) fn qos(tables: &[QosTable], names: &dyn Names) -> Result<Vec<Qos>, PolicyError> {
    let read = |(number, table): (usize, &QosTable)| {
        let name = required_name("qos", number, table.name.as_ref())?;
        let bad = |(key, problem): (&'static str, Problem)| {
            let (number, name) = (Some(number), Some(name.to_string()));
            PolicyError::at(Place { table: "qos", number, name, key: Some(key) }, problem)
        };
        let access = access(&table.users, &table.groups, &table.accounts, names);
        let max = span(&table.time_limit_max);
        Ok(Qos {
            priority: table.priority,
            access: access.map_err(bad)?,
            preemptible: table.preemptible,
            time_limit_max: max.map_err(|error| bad(("time_limit_max", error.into())))?,
            limits: table.limits.limits(),
            limits_per_user: table.limits_per_user.limits(),
            name,
        })
    };
    tables.iter().enumerate().map(read).collect()
}

pub(super) fn accounts(
    tables: &[AccountTable],
    names: &dyn Names,
) -> Result<Vec<Account>, PolicyError> {
    let read = |(number, table): (usize, &AccountTable)| {
        let name = required_name("account", number, table.name.as_ref())?;
        let members = access(&table.users, &table.groups, &[], names);
        let bad = |(key, problem): (&'static str, Problem)| {
            let (number, name) = (Some(number), Some(name.to_string()));
            PolicyError::at(Place { table: "account", number, name, key: Some(key) }, problem)
        };
        Ok(Account {
            shares: table.shares,
            access: members.map_err(bad)?,
            limits: table.limits.limits(),
            limits_per_user: table.limits_per_user.limits(),
            name,
        })
    };
    tables.iter().enumerate().map(read).collect()
}
