//! Nodes as `sinfo --json`, `scontrol show node --json` and GET /slurm/{version}/nodes show them.
//! What kant does not measure, such as the load, is 0.
//! Source: Slurm's OpenAPI documents, `node`.

use crate::field::{Field, Place, always, moved, object, plain, stated};
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
    (always("architecture"), |_| Field::text("")),
    (always("burstbuffer_network_address"), |_| Field::text("")),
    (always("boards"), |_| Field::whole(1)),
    (always("boot_time"), |_| Field::Time(None)),
    (stated("cert_flags").from(Version::V43), |_| Field::Same(json!([]))),
    (stated("cluster_name"), |c| Field::text(c.cluster)),
    (always("comment"), |_| Field::text("")),
    (always("cores"), |c| {
        let has = &c.node.inventory;
        Field::Same(json!(has.cores.len() / has.sockets.max(1) as usize))
    }),
    (always("cpu_binding"), |_| Field::whole(0)),
    (always("cpu_load"), |_| Field::whole(0)),
    (moved("free_memory", "free_mem"), |c| {
        let free = c.node.inventory.memory.0.saturating_sub(c.node.memory_used.0);
        Field::Count(Some(free >> 20))
    }),
    (always("cpus"), |c| Field::whole(cpus(c))),
    (stated("effective_cpus"), |c| Field::whole(cpus(c))),
    (always("extra"), |_| Field::text("")),
    (always("last_busy"), |_| Field::Time(None)),
    (always("features"), |c| Field::Words(features(c))),
    (always("active_features"), |c| Field::Words(features(c))),
    (stated("gpu_spec").from(Version::V41), |_| Field::text("")),
    (always("gres"), |c| Field::text(gres(&c.node.inventory.gpus))),
    (always("gres_drained"), |_| Field::text("N/A")),
    (always("gres_used"), |c| {
        Field::text(match c.node.inventory.gpus.first() {
            None => "gpu:0".to_owned(),
            Some(gpu) => format!("gpu:{}:{}", gpu.kind.0, c.node.gpus_used),
        })
    }),
    (stated("instance_id"), |_| Field::text("")),
    (stated("instance_type"), |_| Field::text("")),
    (always("mcs_label"), |_| Field::text("")),
    (always("name"), |c| Field::text(&c.node.name)),
    (plain("next_state_after_reboot"), |_| Field::text("invalid")),
    (plain("next_state_after_reboot_flags"), |_| Field::Same(json!([]))),
    (stated("next_state_after_reboot"), |_| Field::Same(json!(["INVALID"]))),
    (always("address"), |c| Field::text(&c.node.address)),
    (always("hostname"), |c| Field::text(&c.node.name)),
    (plain("state"), |c| Field::text(state_and_flags(c.node).0)),
    (plain("state_flags"), |c| Field::Same(json!(state_and_flags(c.node).1))),
    (stated("state"), |c| {
        let (state, flags) = state_and_flags(c.node);
        let words = std::iter::once(state.to_ascii_uppercase());
        Field::Words(words.chain(flags.into_iter().map(str::to_owned)).collect())
    }),
    (always("operating_system"), |_| Field::text("")),
    (plain("owner"), |_| Field::Same(Value::Null)),
    (stated("owner"), |_| Field::text("")),
    (always("partitions"), |c| {
        let of = partitions(c.queues).filter(|queue| has_node(queue, c.node));
        Field::Same(of.map(|queue| queue.name.as_str()).collect())
    }),
    (always("port"), |_| Field::whole(0)),
    (always("real_memory"), |c| Field::Same(json!(c.node.inventory.memory.0 >> 20))),
    (always("reason"), |c| {
        Field::text_or_empty(Some(unavailable_reason(c.node)).filter(|why| why != "none"))
    }),
    (always("reason_changed_at"), |c| Field::Time(c.node.drain.as_ref().map(|drain| drain.since))),
    (plain("reason_set_by_user"), |c| Field::Same(json!(c.drained_by))),
    (stated("reason_set_by_user"), |c| Field::text_or_empty(c.drained_by)),
    (stated("res_cores_per_gpu").from(Version::V41), |_| Field::whole(0)),
    (stated("reservation"), |_| Field::text("")),
    (stated("resume_after"), |_| Field::Number(None)),
    (always("slurmd_start_time"), |_| Field::Time(None)),
    (always("sockets"), |c| Field::whole(c.node.inventory.sockets.max(1))),
    (stated("specialized_cores"), |_| Field::whole(0)),
    (stated("specialized_cpus"), |_| Field::text("")),
    (stated("specialized_memory"), |_| Field::whole(0)),
    (stated("suspend_time").from(Version::V45), |_| Field::Number(None)),
    (always("threads"), |c| Field::whole(c.node.inventory.threads_per_core)),
    (stated("tls_cert_last_renewal").from(Version::V43), |_| Field::Number(None)),
    (stated("topology").from(Version::V43), |_| Field::text("")),
    (always("temporary_disk"), |_| Field::whole(0)),
    (always("weight"), |_| Field::whole(1)),
    (always("tres"), |c| {
        let has = &c.node.inventory;
        Field::text(tres(has.cpu_count().0, has.memory, has.gpu_count().0))
    }),
    (moved("slurmd_version", "version"), |c| Field::text(&c.node.version)),
    (always("alloc_memory"), |c| Field::Same(json!(c.node.memory_used.0 >> 20))),
    (always("alloc_cpus"), |c| Field::whole(c.node.cpus_used.0)),
    (moved("idle_cpus", "alloc_idle_cpus"), |c| {
        Field::whole(cpus(c).saturating_sub(c.node.cpus_used.0))
    }),
    (always("tres_used"), |c| {
        Field::text(tres(c.node.cpus_used.0, c.node.memory_used, c.node.gpus_used.0))
    }),
    (always("tres_weighted"), |_| Field::Same(json!(0.0))),
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
