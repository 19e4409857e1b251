//! Nodes as `sinfo --json`, `scontrol show node --json` and GET /slurm/{version}/nodes show them.
//! What kant does not measure, such as the load, is 0.
//! Source: Slurm's OpenAPI documents, `node`.

use crate::field::{Field, Place, in_all_versions, moved_in_v40, object, only_v38, since_v40};
use crate::node_state::{gres, state_and_flags, unavailable_reason};
use crate::partitions::{has_node, partitions};
use crate::size::{Unit, format_size};
use crate::version::Version;
use common::policy::queue::Queue;
use common::unit::Bytes;
use common::wire::api::{NodeView, QueueList};
use serde_json::{Value, json};

/// What the fields of a node are computed from.
#[derive(Clone, Copy)]
pub struct NodeContext<'a> {
    pub node: &'a NodeView,
    pub queues: &'a QueueList,
    pub cluster: &'a str,
    /// The name of the operator who drained it.
    pub drained_by: Option<&'a str>,
}

/// A field, and how it is computed from a node.
type Row = (Place, fn(&NodeContext<'_>) -> Field);

/// A node.
#[must_use]
pub fn node(context: &NodeContext<'_>, version: Version) -> Value {
    Value::Object(object(version, ROWS, |value| value(context)))
}

const ROWS: &[Row] = &[
    (in_all_versions("architecture"), |_| Field::text("")),
    (in_all_versions("burstbuffer_network_address"), |_| Field::text("")),
    (in_all_versions("boards"), |_| Field::integer_value(1)),
    (in_all_versions("boot_time"), |_| Field::Time(None)),
    (since_v40("cert_flags").since_version(Version::V43), |_| Field::Same(json!([]))),
    (since_v40("cluster_name"), |c| Field::text(c.cluster)),
    (in_all_versions("comment"), |_| Field::text("")),
    (in_all_versions("cores"), |c| {
        let has = &c.node.inventory;
        Field::Same(json!(has.cores.len() / has.sockets.max(1) as usize))
    }),
    (in_all_versions("cpu_binding"), |_| Field::integer_value(0)),
    (in_all_versions("cpu_load"), |_| Field::integer_value(0)),
    (moved_in_v40("free_memory", "free_mem"), |c| {
        let free = c.node.inventory.memory.0.saturating_sub(c.node.memory_used.0);
        Field::Count(Some(free >> 20))
    }),
    (in_all_versions("cpus"), |c| Field::integer_value(cpus(c))),
    (since_v40("effective_cpus"), |c| Field::integer_value(cpus(c))),
    (in_all_versions("extra"), |_| Field::text("")),
    (in_all_versions("last_busy"), |_| Field::Time(None)),
    (in_all_versions("features"), |c| Field::Words(features(c))),
    (in_all_versions("active_features"), |c| Field::Words(features(c))),
    (since_v40("gpu_spec").since_version(Version::V41), |_| Field::text("")),
    (in_all_versions("gres"), |c| Field::text(gres(&c.node.inventory.gpus))),
    (in_all_versions("gres_drained"), |_| Field::text("N/A")),
    (in_all_versions("gres_used"), |c| {
        Field::text(match c.node.inventory.gpus.first() {
            None => "gpu:0".to_owned(),
            Some(gpu) => format!("gpu:{}:{}", gpu.kind.0, c.node.gpus_used),
        })
    }),
    (since_v40("instance_id"), |_| Field::text("")),
    (since_v40("instance_type"), |_| Field::text("")),
    (in_all_versions("mcs_label"), |_| Field::text("")),
    (in_all_versions("name"), |c| Field::text(&c.node.name)),
    (only_v38("next_state_after_reboot"), |_| Field::text("invalid")),
    (only_v38("next_state_after_reboot_flags"), |_| Field::Same(json!([]))),
    (since_v40("next_state_after_reboot"), |_| Field::Same(json!(["INVALID"]))),
    (in_all_versions("address"), |c| Field::text(&c.node.address)),
    (in_all_versions("hostname"), |c| Field::text(&c.node.name)),
    (only_v38("state"), |c| Field::text(state_and_flags(c.node).0)),
    (only_v38("state_flags"), |c| Field::Same(json!(state_and_flags(c.node).1))),
    (since_v40("state"), |c| {
        let (state, flags) = state_and_flags(c.node);
        let words = std::iter::once(state.to_ascii_uppercase());
        Field::Words(words.chain(flags.into_iter().map(str::to_owned)).collect())
    }),
    (in_all_versions("operating_system"), |_| Field::text("")),
    (only_v38("owner"), |_| Field::Same(Value::Null)),
    (since_v40("owner"), |_| Field::text("")),
    (in_all_versions("partitions"), |c| {
        let of = partitions(c.queues).filter(|queue| has_node(queue, c.node));
        Field::Same(of.map(|queue| queue.name.as_str()).collect())
    }),
    (in_all_versions("port"), |_| Field::integer_value(0)),
    (in_all_versions("real_memory"), |c| Field::Same(json!(c.node.inventory.memory.0 >> 20))),
    (in_all_versions("reason"), |c| {
        Field::text_or_empty(Some(unavailable_reason(c.node)).filter(|why| why != "none"))
    }),
    (in_all_versions("reason_changed_at"), |c| {
        Field::Time(c.node.drain.as_ref().map(|drain| drain.since))
    }),
    (only_v38("reason_set_by_user"), |c| Field::Same(json!(c.drained_by))),
    (since_v40("reason_set_by_user"), |c| Field::text_or_empty(c.drained_by)),
    (since_v40("res_cores_per_gpu").since_version(Version::V41), |_| Field::integer_value(0)),
    (since_v40("reservation"), |_| Field::text("")),
    (since_v40("resume_after"), |_| Field::Number(None)),
    (in_all_versions("slurmd_start_time"), |_| Field::Time(None)),
    (in_all_versions("sockets"), |c| Field::integer_value(c.node.inventory.sockets.max(1))),
    (since_v40("specialized_cores"), |_| Field::integer_value(0)),
    (since_v40("specialized_cpus"), |_| Field::text("")),
    (since_v40("specialized_memory"), |_| Field::integer_value(0)),
    (since_v40("suspend_time").since_version(Version::V45), |_| Field::Number(None)),
    (in_all_versions("threads"), |c| Field::integer_value(c.node.inventory.threads_per_core)),
    (since_v40("tls_cert_last_renewal").since_version(Version::V43), |_| Field::Number(None)),
    (since_v40("topology").since_version(Version::V43), |_| Field::text("")),
    (in_all_versions("temporary_disk"), |_| Field::integer_value(0)),
    (in_all_versions("weight"), |_| Field::integer_value(1)),
    (in_all_versions("tres"), |c| {
        let has = &c.node.inventory;
        Field::text(tres(has.cpu_count().0, has.memory, has.gpu_count().0))
    }),
    (moved_in_v40("slurmd_version", "version"), |c| Field::text(&c.node.version)),
    (in_all_versions("alloc_memory"), |c| Field::Same(json!(c.node.memory_used.0 >> 20))),
    (in_all_versions("alloc_cpus"), |c| Field::integer_value(c.node.cpus_used.0)),
    (moved_in_v40("idle_cpus", "alloc_idle_cpus"), |c| {
        Field::integer_value(cpus(c).saturating_sub(c.node.cpus_used.0))
    }),
    (in_all_versions("tres_used"), |c| {
        Field::text(tres(c.node.cpus_used.0, c.node.memory_used, c.node.gpus_used.0))
    }),
    (in_all_versions("tres_weighted"), |_| Field::Same(json!(0.0))),
];

fn cpus(context: &NodeContext<'_>) -> u32 {
    context.node.inventory.cpu_count().0
}

fn features(context: &NodeContext<'_>) -> Vec<String> {
    context.node.inventory.features.iter().map(ToString::to_string).collect()
}

/// `cpu=64,mem=512G,gres/gpu=8`.
fn tres(cpus: u32, memory: Bytes, gpus: u32) -> String {
    let gpus = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
    format!("cpu={cpus},mem={}{gpus}", format_size(memory, Unit::Fitting))
}

/// `cpu=64,mem=512G,node=2,gres/gpu=8`: everything that a partition's nodes have.
pub(crate) fn sum_tres(nodes: &[&NodeView]) -> String {
    let cpus: u32 = nodes.iter().map(|node| node.inventory.cpu_count().0).sum();
    let gpus: u32 = nodes.iter().map(|node| node.inventory.gpu_count().0).sum();
    let memory: u64 = nodes.iter().map(|node| node.inventory.memory.0).sum();
    let gres = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
    let memory = format_size(Bytes(memory), Unit::Fitting);
    format!("cpu={cpus},mem={memory},node={}{gres}", nodes.len())
}

/// The nodes of a queue.
#[must_use]
pub fn nodes_of<'a>(queue: &Queue, nodes: &'a [NodeView]) -> Vec<&'a NodeView> {
    nodes.iter().filter(|node| has_node(queue, node)).collect()
}

#[cfg(test)]
mod tests;
