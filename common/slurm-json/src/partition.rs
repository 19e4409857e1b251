//! Partitions as `scontrol show partition --json` and GET /slurm/{version}/partitions show them.
//! Source: Slurm's OpenAPI documents, `partition_info` (0.0.38: `partition`).

use crate::field::{Field, Place, in_all_versions, moved_in_v40, object, only_v38, since_v40};
use crate::node::sum_tres;
use crate::version::Version;
use common::hostlist::compress;
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
    (only_v38("flags"), |p| {
        Field::Same(if p.queue.default { json!(["default"]) } else { json!([]) })
    }),
    (since_v40("flags").since_version(Version::V45), |p| {
        Field::Same(if p.queue.default { json!(["DEFAULT"]) } else { json!([]) })
    }),
    (only_v38("preemption_mode"), |p| {
        let mode = if p.queue.preemption.preemptible { "requeue" } else { "disabled" };
        Field::Same(json!([mode]))
    }),
    (since_v40("preempt_mode").since_version(Version::V45), |p| {
        let mode = if p.queue.preemption.preemptible { "REQUEUE" } else { "DISABLED" };
        Field::Same(json!([mode]))
    }),
    (moved_in_v40("allowed_allocation_nodes", "nodes.allowed_allocation"), |_| Field::text("")),
    (moved_in_v40("allowed_accounts", "accounts.allowed"), |p| {
        comma_separated(&p.queue.access.accounts)
    }),
    (moved_in_v40("denied_accounts", "accounts.deny"), |_| Field::text("")),
    (moved_in_v40("allowed_groups", "groups.allowed"), |p| comma_separated(&p.queue.access.groups)),
    (moved_in_v40("allowed_qos", "qos.allowed"), |_| Field::text("")),
    (moved_in_v40("denied_qos", "qos.deny"), |_| Field::text("")),
    (moved_in_v40("qos", "qos.assigned"), |_| Field::text("")),
    (moved_in_v40("alternative", "alternate"), |_| Field::text("")),
    (moved_in_v40("billing_weights", "tres.billing_weights"), |_| Field::text("")),
    (since_v40("cluster"), |p| Field::text(p.cluster)),
    (since_v40("select_type").since_version(Version::V41), |_| {
        Field::Same(json!(["CPU", "MEMORY"]))
    }),
    (since_v40("cpus.task_binding").until_version(Version::V44), |_| Field::integer_value(0)),
    (since_v40("cpus.task_binding").since_version(Version::V45), |_| Field::Same(json!([]))),
    (moved_in_v40("total_cpus", "cpus.total"), |p| Field::integer_value(cpus(p))),
    (moved_in_v40("default_memory_per_cpu", "defaults.memory_per_cpu"), |p| {
        Field::Same(json!(p.queue.memory_per_cpu.0 >> 20))
    }),
    (since_v40("defaults.partition_memory_per_cpu"), |p| {
        Field::Count(Some(p.queue.memory_per_cpu.0 >> 20))
    }),
    (since_v40("defaults.partition_memory_per_node"), |_| Field::Number(None)),
    (only_v38("default_time_limit"), |p| minutes(p.queue.time_limit_default)),
    (since_v40("defaults.time"), |p| Field::minutes(p.queue.time_limit_default)),
    (since_v40("defaults.job"), |_| Field::text("")),
    (moved_in_v40("preemption_grace_time", "grace_time"), |_| Field::integer_value(0)),
    (only_v38("maximum_cpus_per_node"), |_| Field::integer_value(-1)),
    (since_v40("maximums.cpus_per_node"), |_| Field::Limit(None)),
    (since_v40("maximums.cpus_per_socket"), |_| Field::Limit(None)),
    (only_v38("maximum_memory_per_node"), |_| Field::integer_value(0)),
    (since_v40("maximums.memory_per_cpu"), |_| Field::integer_value(0)),
    (since_v40("maximums.partition_memory_per_cpu"), |_| Field::Limit(None)),
    (since_v40("maximums.partition_memory_per_node"), |_| Field::Limit(None)),
    (only_v38("maximum_nodes_per_job"), |_| Field::integer_value(-1)),
    (since_v40("maximums.nodes"), |_| Field::Limit(None)),
    (since_v40("maximums.shares"), |_| Field::integer_value(1)),
    (since_v40("maximums.oversubscribe.jobs"), |_| Field::integer_value(1)),
    (since_v40("maximums.oversubscribe.flags"), |_| Field::Same(json!([]))),
    (only_v38("max_time_limit"), |p| minutes(p.queue.time_limit_max)),
    (since_v40("maximums.time"), |p| Field::minutes(p.queue.time_limit_max)),
    (only_v38("over_time_limit"), |_| Field::Number(None)),
    (since_v40("maximums.over_time_limit"), |_| Field::Number(None)),
    (moved_in_v40("min nodes per job", "minimums.nodes"), |_| Field::integer_value(0)),
    (in_all_versions("name"), |p| Field::text(&p.queue.name)),
    (moved_in_v40("nodes", "nodes.configured"), |p| {
        Field::text(compress(p.nodes.iter().map(|n| &n.name)))
    }),
    (since_v40("node_sets"), |_| Field::text("")),
    (moved_in_v40("priority_job_factor", "priority.job_factor"), |_| Field::integer_value(1)),
    (moved_in_v40("priority_tier", "priority.tier"), |p| Field::integer_value(p.queue.priority)),
    (only_v38("nodes_online"), |p| {
        let online = p.nodes.iter().filter(|node| node.contact == Contact::Connected);
        Field::Same(json!(online.count()))
    }),
    (since_v40("timeouts.resume"), |_| Field::Number(None)),
    (since_v40("timeouts.suspend"), |_| Field::Number(None)),
    (since_v40("topology").since_version(Version::V43), |_| Field::text("")),
    (only_v38("state"), |_| Field::text("UP")),
    (since_v40("partition.state"), |_| Field::Same(json!(["UP"]))),
    (since_v40("suspend_time"), |_| Field::Number(None)),
    (moved_in_v40("total_nodes", "nodes.total"), |p| Field::Same(json!(p.nodes.len()))),
    (moved_in_v40("tres", "tres.configured"), |p| Field::text(sum_tres(p.nodes))),
];

/// Whole minutes, or null, as 0.0.38 writes them.
fn minutes(span: Option<common::time::Span>) -> Field {
    Field::Number(span.map(|span| span.seconds() / 60))
}

fn cpus(of: &Of<'_>) -> u32 {
    of.nodes.iter().map(|node| node.inventory.cpu_count().0).sum()
}

/// Names separated by commas.
fn comma_separated(names: impl IntoIterator<Item = impl ToString>) -> Field {
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
