//! Partitions as `scontrol show partition --json` and GET /slurm/{version}/partitions show them.
//! Source: Slurm's OpenAPI documents, `partition_info` (0.0.38: `partition`).

use crate::field::{Field, Place, always, moved, object, plain, stated};
use crate::node::sum_tres;
use crate::version::Version;
use common::hostlist::fold;
use common::node::Contact;
use common::policy::queue::Queue;
use common::wire::api::NodeView;
use serde_json::{Value, json};

/// A partition and its nodes.
#[derive(Clone, Copy)]
struct Of<'a> {
    queue: &'a Queue,
    nodes: &'a [&'a NodeView],
    cluster: &'a str,
}

/// A field, and how it is computed from a partition.
type Row = (Place, fn(&Of<'_>) -> Field);

/// A partition and its nodes.
#[must_use]
pub fn partition(queue: &Queue, nodes: &[&NodeView], cluster: &str, version: Version) -> Value {
    let of = Of { queue, nodes, cluster };
    Value::Object(object(version, ROWS, |value| value(&of)))
}

const ROWS: &[Row] = &[
    (plain("flags"), |p| Field::Same(if p.queue.default { json!(["default"]) } else { json!([]) })),
    (stated("flags").from(Version::V45), |p| {
        Field::Same(if p.queue.default { json!(["DEFAULT"]) } else { json!([]) })
    }),
    (plain("preemption_mode"), |p| {
        let mode = if p.queue.preemption.preemptible { "requeue" } else { "disabled" };
        Field::Same(json!([mode]))
    }),
    (stated("preempt_mode").from(Version::V45), |p| {
        let mode = if p.queue.preemption.preemptible { "REQUEUE" } else { "DISABLED" };
        Field::Same(json!([mode]))
    }),
    (moved("allowed_allocation_nodes", "nodes.allowed_allocation"), |_| Field::text("")),
    (moved("allowed_accounts", "accounts.allowed"), |p| names(&p.queue.access.accounts)),
    (moved("denied_accounts", "accounts.deny"), |_| Field::text("")),
    (moved("allowed_groups", "groups.allowed"), |p| names(&p.queue.access.groups)),
    (moved("allowed_qos", "qos.allowed"), |_| Field::text("")),
    (moved("denied_qos", "qos.deny"), |_| Field::text("")),
    (moved("qos", "qos.assigned"), |_| Field::text("")),
    (moved("alternative", "alternate"), |_| Field::text("")),
    (moved("billing_weights", "tres.billing_weights"), |_| Field::text("")),
    (stated("cluster"), |p| Field::text(p.cluster)),
    (stated("select_type").from(Version::V41), |_| Field::Same(json!(["CPU", "MEMORY"]))),
    (stated("cpus.task_binding").until(Version::V44), |_| Field::whole(0)),
    (stated("cpus.task_binding").from(Version::V45), |_| Field::Same(json!([]))),
    (moved("total_cpus", "cpus.total"), |p| Field::whole(cpus(p))),
    (moved("default_memory_per_cpu", "defaults.memory_per_cpu"), |p| {
        Field::Same(json!(p.queue.memory_per_cpu.0 >> 20))
    }),
    (stated("defaults.partition_memory_per_cpu"), |p| {
        Field::Count(Some(p.queue.memory_per_cpu.0 >> 20))
    }),
    (stated("defaults.partition_memory_per_node"), |_| Field::Number(None)),
    (plain("default_time_limit"), |p| minutes(p.queue.time_limit_default)),
    (stated("defaults.time"), |p| Field::minutes(p.queue.time_limit_default)),
    (stated("defaults.job"), |_| Field::text("")),
    (moved("preemption_grace_time", "grace_time"), |_| Field::whole(0)),
    (plain("maximum_cpus_per_node"), |_| Field::whole(-1)),
    (stated("maximums.cpus_per_node"), |_| Field::Limit(None)),
    (stated("maximums.cpus_per_socket"), |_| Field::Limit(None)),
    (plain("maximum_memory_per_node"), |_| Field::whole(0)),
    (stated("maximums.memory_per_cpu"), |_| Field::whole(0)),
    (stated("maximums.partition_memory_per_cpu"), |_| Field::Limit(None)),
    (stated("maximums.partition_memory_per_node"), |_| Field::Limit(None)),
    (plain("maximum_nodes_per_job"), |_| Field::whole(-1)),
    (stated("maximums.nodes"), |_| Field::Limit(None)),
    (stated("maximums.shares"), |_| Field::whole(1)),
    (stated("maximums.oversubscribe.jobs"), |_| Field::whole(1)),
    (stated("maximums.oversubscribe.flags"), |_| Field::Same(json!([]))),
    (plain("max_time_limit"), |p| minutes(p.queue.time_limit_max)),
    (stated("maximums.time"), |p| Field::minutes(p.queue.time_limit_max)),
    (plain("over_time_limit"), |_| Field::Number(None)),
    (stated("maximums.over_time_limit"), |_| Field::Number(None)),
    (moved("min nodes per job", "minimums.nodes"), |_| Field::whole(0)),
    (always("name"), |p| Field::text(&p.queue.name)),
    (moved("nodes", "nodes.configured"), |p| Field::text(fold(p.nodes.iter().map(|n| &n.name)))),
    (stated("node_sets"), |_| Field::text("")),
    (moved("priority_job_factor", "priority.job_factor"), |_| Field::whole(1)),
    (moved("priority_tier", "priority.tier"), |p| Field::whole(p.queue.priority)),
    (plain("nodes_online"), |p| {
        let online = p.nodes.iter().filter(|node| node.contact == Contact::Connected);
        Field::Same(json!(online.count()))
    }),
    (stated("timeouts.resume"), |_| Field::Number(None)),
    (stated("timeouts.suspend"), |_| Field::Number(None)),
    (stated("topology").from(Version::V43), |_| Field::text("")),
    (plain("state"), |_| Field::text("UP")),
    (stated("partition.state"), |_| Field::Same(json!(["UP"]))),
    (stated("suspend_time"), |_| Field::Number(None)),
    (moved("total_nodes", "nodes.total"), |p| Field::Same(json!(p.nodes.len()))),
    (moved("tres", "tres.configured"), |p| Field::text(sum_tres(p.nodes))),
];

/// Whole minutes, or null, as 0.0.38 writes them.
fn minutes(span: Option<common::time::Span>) -> Field {
    Field::Number(span.map(|span| span.seconds() / 60))
}

fn cpus(of: &Of<'_>) -> u32 {
    of.nodes.iter().map(|node| node.inventory.cpu_count().0).sum()
}

/// Names separated by commas.
fn names(names: impl IntoIterator<Item = impl ToString>) -> Field {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    Field::text(names.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::check_table;

    #[test]
    fn no_field_stands_in_the_way_of_another() {
        check_table(ROWS);
    }
}
