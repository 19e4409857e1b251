//! Nodes and partitions as `sinfo --json` and `scontrol show node|partition --json` show them.
//! What kant does not measure, such as the load, is 0.
//! Source: the answers of Slurm's openapi/v0.0.38 (release 22.05).

use super::json::{merge_objects, size_text, unix_seconds};
use super::node_field::{gres, state_name, unavailable_reason};
use super::partitions::{has_node, partitions};
use cli::output::user_names::user;
use common::hostlist::fold;
use common::node::{Contact, NodeStatus};
use common::policy::queue::Queue;
use common::wire::api::{NodeView, QueueList};
use serde_json::{Value, json};

#[must_use]
pub fn node(node: &NodeView, queues: &QueueList) -> Value {
    let has = &node.inventory;
    let sockets = has.sockets.max(1);
    let (state, flags) = state_and_flags(node);
    let of: Vec<&Queue> = partitions(queues).filter(|queue| has_node(queue, node)).collect();
    let tres = |cpus: u32, memory: common::unit::Bytes, gpus: u32| {
        let gpus = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
        format!("cpu={cpus},mem={}{gpus}", size_text(memory))
    };
    let reason = Some(unavailable_reason(node)).filter(|why| why != "none").unwrap_or_default();
    let total = has.cpu_count().0;
    let used = match has.gpus.first() {
        None => "gpu:0".to_owned(),
        Some(gpu) => format!("gpu:{}:{}", gpu.kind.0, node.gpus_used),
    };
    let first = json!({
        "architecture": "",
        "burstbuffer_network_address": "",
        "boards": 1,
        "boot_time": 0,
        "comment": "",
        "cores": has.cores.len() / sockets as usize,
        "cpu_binding": 0,
        "cpu_load": 0,
        "extra": "",
        "free_memory": has.memory.0.saturating_sub(node.memory_used.0) >> 20,
        "cpus": total,
        "last_busy": 0,
        "features": "",
        "active_features": "",
        "gres": gres(&has.gpus),
        "gres_drained": "N/A",
        "gres_used": used,
        "mcs_label": "",
        "name": node.name,
        "next_state_after_reboot": "invalid",
    });
    let second = json!({
        "address": node.address,
        "hostname": node.name,
        "state": state,
        "state_flags": flags,
        "next_state_after_reboot_flags": [],
        "operating_system": "",
        "owner": null,
        "partitions": of.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>(),
        "port": 0,
        "real_memory": has.memory.0 >> 20,
        "reason": reason,
        "reason_changed_at": unix_seconds(node.drain.as_ref().map(|drain| drain.since)),
        "reason_set_by_user": node.drain.as_ref().map(|drain| user(drain.by.0)),
        "slurmd_start_time": 0,
        "sockets": sockets,
        "threads": has.threads_per_core,
        "temporary_disk": 0,
        "weight": 1,
        "tres": tres(total, has.memory, has.gpu_count().0),
        "slurmd_version": node.version,
        "alloc_memory": node.memory_used.0 >> 20,
        "alloc_cpus": node.cpus_used.0,
        "idle_cpus": total.saturating_sub(node.cpus_used.0),
        "tres_used": tres(node.cpus_used.0, node.memory_used, node.gpus_used.0),
        "tres_weighted": 0.0,
    });
    merge_objects([first, second])
}

/// The base state, and the flags that Slurm lists separately.
fn state_and_flags(node: &NodeView) -> (String, Vec<&'static str>) {
    let mut flags = Vec::new();
    if node.drain.is_some() {
        flags.push("DRAIN");
    }
    if node.contact != Contact::Connected {
        flags.push("NOT_RESPONDING");
    }
    let bare = match node.status {
        NodeStatus::Drained => "idle".to_owned(),
        NodeStatus::Draining => "mixed".to_owned(),
        _ => state_name(node, false).trim_end_matches('*').to_owned(),
    };
    (bare, flags)
}

/// A partition and its nodes.
#[must_use]
pub fn partition(queue: &Queue, nodes: &[&NodeView]) -> Value {
    let minutes = |span: Option<common::time::Span>| span.map(|span| span.seconds() / 60);
    let cpus: u32 = nodes.iter().map(|node| node.inventory.cpu_count().0).sum();
    let gpus: u32 = nodes.iter().map(|node| node.inventory.gpu_count().0).sum();
    let memory: u64 = nodes.iter().map(|node| node.inventory.memory.0).sum();
    let names = |names: Vec<String>| names.join(",");
    let gres = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
    let memory = size_text(common::unit::Bytes(memory));
    json!({
        "flags": if queue.default { vec!["default"] } else { Vec::new() },
        "preemption_mode": [if queue.preemption.preemptible { "requeue" } else { "disabled" }],
        "allowed_allocation_nodes": "",
        "allowed_accounts": names(queue.access.accounts.iter().map(ToString::to_string).collect()),
        "allowed_groups": names(queue.access.groups.iter().map(ToString::to_string).collect()),
        "allowed_qos": "",
        "alternative": "",
        "billing_weights": "",
        "default_memory_per_cpu": queue.memory_per_cpu.0 >> 20,
        "default_time_limit": minutes(queue.time_limit_default),
        "denied_accounts": "",
        "denied_qos": "",
        "preemption_grace_time": 0,
        "maximum_cpus_per_node": -1,
        "maximum_memory_per_node": 0,
        "maximum_nodes_per_job": -1,
        "max_time_limit": minutes(queue.time_limit_max),
        "min nodes per job": 0,
        "name": queue.name,
        "nodes": fold(nodes.iter().map(|node| &node.name)),
        "over_time_limit": null,
        "priority_job_factor": 1,
        "priority_tier": queue.priority,
        "qos": "",
        "nodes_online": nodes.iter().filter(|node| node.contact == Contact::Connected).count(),
        "total_cpus": cpus,
        "total_nodes": nodes.len(),
        "tres": format!("cpu={cpus},mem={memory},node={}{gres}", nodes.len()),
    })
}
