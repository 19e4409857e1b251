//! What a job asks for and what it has, in words. Never a table.

use common::job::Launch;
use common::node::Inventory;
use common::resource::{GpuRequest, MemoryRequest, Request, Share};

/// `1 GPU`, `2 GPUs`.
#[must_use]
pub fn count(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A request: `2 nodes, 8 tasks, 4 CPUs a task, 4 h100 GPUs a node, 8G a node`.
#[must_use]
pub fn request(request: &Request) -> String {
    let mut parts = Vec::new();
    parts.extend(request.nodes.map(|nodes| count(nodes.0, "node")));
    parts.push(count(request.tasks.0, "task"));
    parts.extend(request.tasks_per_node.map(|each| format!("at most {each} a node")));
    parts.push(format!("{} a task", count(request.cpus_per_task.0, "CPU")));
    parts.extend(request.gpus.map(|gpus| {
        let kind = request.gpu_kind.as_ref().map(|kind| format!("{kind} ")).unwrap_or_default();
        let gpu = format!("{kind}GPU");
        match gpus {
            GpuRequest::PerNode(n) => format!("{} a node", count(n.0, &gpu)),
            GpuRequest::PerTask(n) => format!("{} a task", count(n.0, &gpu)),
            GpuRequest::Total(n) => format!("{} in all", count(n.0, &gpu)),
            GpuRequest::Fraction(share) => format!("{share}/1000 of a {gpu}"),
        }
    }));
    parts.extend(request.memory.map(|memory| match memory {
        MemoryRequest::PerNode(bytes) if bytes.0 == 0 => "all memory of its nodes".to_owned(),
        MemoryRequest::PerNode(bytes) => format!("{bytes} memory a node"),
        MemoryRequest::PerCpu(bytes) => format!("{bytes} memory a CPU"),
        MemoryRequest::PerGpu(bytes) => format!("{bytes} memory a GPU"),
    }));
    if request.exclusive {
        parts.push("whole nodes".to_owned());
    }
    parts.join(", ")
}

/// What a job has on one node: `g-001: 2 tasks, CPUs 0-3, 8G memory, GPUs 0,1`.
#[must_use]
pub fn share(share: &Share) -> String {
    let gpus: Vec<String> = share.gpus.iter().map(ToString::to_string).collect();
    let gpus = match gpus.len() {
        0 => String::new(),
        1 => format!(", GPU {}", gpus.join(",")),
        _ => format!(", GPUs {}", gpus.join(",")),
    };
    let tasks = count(share.tasks.0, "task");
    format!("{}: {tasks}, CPUs {}, {} memory{gpus}", share.node, share.cpus, share.memory)
}

/// How often the script runs.
#[must_use]
pub const fn launch(launch: Launch) -> &'static str {
    match launch {
        Launch::Once => "once, on the first node",
        Launch::PerNode => "once on every node",
        Launch::PerTask => "once for every task",
    }
}

/// The kinds of GPU a node has: `h100`, `a40,h100`, or nothing.
#[must_use]
pub fn gpu_kinds(inventory: &Inventory) -> String {
    let mut kinds: Vec<&str> = inventory.gpus.iter().map(|gpu| gpu.kind.0.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.join(",")
}
