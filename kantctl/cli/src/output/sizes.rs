//! Requests, allocations and usage as text.

use common::gpu_parts::{GpuParts, PartSize};
use common::job::{GpuUsage, Launch, Mail, ResizeSignal, Usage, Warned, Warning};
use common::node::Inventory;
use common::resource::{Apart, GpuRequest, MemoryRequest, Request, Share, Spread};
use common::unit::{Bytes, GpuMilli, Gpus};

/// `1 GPU`, `2 GPUs`.
#[must_use]
pub fn count_with_noun(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A request: `2 nodes, 8 tasks, 4 CPUs per task, 4 h100 GPUs per node, 8G memory per node`.
#[must_use]
pub fn request(request: &Request) -> String {
    let mut parts = Vec::new();
    parts.extend(request.nodes.map(|nodes| count_with_noun(nodes.0, "node")));
    parts.push(match request.tasks_min {
        Some(least) => format!("{least} to {}", count_with_noun(request.tasks.0, "task")),
        None => count_with_noun(request.tasks.0, "task"),
    });
    parts.extend(request.tasks_per_node.map(|each| format!("at most {each} per node")));
    parts.push(format!("{} per task", count_with_noun(request.cpus_per_task.0, "CPU")));
    parts.extend(request.gpus.map(|gpus| {
        let gpu = format!("{}GPU", gpu_kinds_prefix(request));
        match gpus {
            GpuRequest::PerNode(n) => format!("{} per node", count_with_noun(n.0, &gpu)),
            GpuRequest::PerTask(n) => format!("{} per task", count_with_noun(n.0, &gpu)),
            GpuRequest::Total(n) => format!("{} in total", count_with_noun(n.0, &gpu)),
            GpuRequest::Parts(parts) => gpu_parts_text(parts, &gpu),
        }
    }));
    parts.extend(request.memory.map(|memory| match memory {
        MemoryRequest::PerNode(bytes) if bytes.0 == 0 => "all memory of its nodes".to_owned(),
        MemoryRequest::PerNode(bytes) => format!("{bytes} memory per node"),
        MemoryRequest::PerCpu(bytes) => format!("{bytes} memory per CPU"),
        MemoryRequest::PerGpu(bytes) => format!("{bytes} memory per GPU"),
    }));
    if request.exclusive {
        parts.push("whole nodes".to_owned());
    }
    if request.grow {
        parts.push("grows onto idle nodes".to_owned());
    }
    parts.join(", ")
}

/// `0.5 of one GPU`, `20G of the memory of each of 2 GPUs`.
fn gpu_parts_text(parts: GpuParts, gpu: &str) -> String {
    let each = match parts.each {
        PartSize::Milli(part) => format!("{} of", format_gpu_milli(part)),
        PartSize::Memory(_) => {
            let one = GpuParts { devices: Gpus(1), ..parts };
            format!("{one} of the memory of")
        }
    };
    match parts.devices {
        Gpus(1) => format!("{each} one {gpu}"),
        Gpus(devices) => format!("{each} each of {}", count_with_noun(devices, gpu)),
    }
}

/// `h100 or a100 `, or empty.
fn gpu_kinds_prefix(request: &Request) -> String {
    let kinds = request.gpu_kind.iter().chain(&request.gpu_kinds_or);
    let kinds: Vec<&str> = kinds.map(|kind| kind.0.as_str()).collect();
    if kinds.is_empty() { String::new() } else { format!("{} ", kinds.join(" or ")) }
}

/// Thousandths of GPUs as a decimal number of GPUs: `2`, `0.5`.
#[must_use]
pub fn format_gpu_milli(gpus: GpuMilli) -> String {
    let (whole, rest) = (gpus.0 / 1000, gpus.0 % 1000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{rest:03}").trim_end_matches('0'))
}

/// The requested nearness of nodes: `leaf (preferred), each block of 4 nodes separately`.
#[must_use]
pub fn nearness(request: &Request) -> Option<String> {
    let near = request.near?;
    let blocks = match request.segment {
        Some(segment) => {
            format!(", each block of {} separately", count_with_noun(segment.0, "node"))
        }
        None => String::new(),
    };
    let wish = if near.required { "" } else { " (preferred)" };
    Some(format!("{near}{wish}{blocks}"))
}

/// How jobs of a group keep apart: `at most 2 jobs of group 1000/chat per node, on different leaf
/// groups if possible`. `None`: they do not.
#[must_use]
pub fn apart(apart: &Apart) -> Option<String> {
    let most = |jobs| {
        format!("at most {} of group {} per node", count_with_noun(jobs, "job"), apart.group)
    };
    let spread = apart.spread.map(|spread| match spread {
        Spread::Node => "on different nodes if possible".to_owned(),
        Spread::Leaf => "on different leaf groups if possible".to_owned(),
    });
    let parts: Vec<String> = apart.per_node_max.map(most).into_iter().chain(spread).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The allocation on one node: `g-001: 2 tasks, CPUs 0-3, 8G memory, GPUs 0,1`.
#[must_use]
pub fn node_share_text(share: &Share) -> String {
    let gpus: Vec<String> = share.gpus.iter().map(ToString::to_string).collect();
    let gpus = match (gpus.len(), share.gpu_milli) {
        (0, _) => String::new(),
        (1, Some(part)) => format!(", {} of GPU {}", format_gpu_milli(part), gpus.join(",")),
        (_, Some(part)) => {
            format!(", {} of each of GPUs {}", format_gpu_milli(part), gpus.join(","))
        }
        (1, None) => format!(", GPU {}", gpus.join(",")),
        (_, None) => format!(", GPUs {}", gpus.join(",")),
    };
    let tasks = count_with_noun(share.tasks.0, "task");
    format!("{}: {tasks}, CPUs {}, {} memory{gpus}", share.node, share.cpus, share.memory)
}

/// How the script is launched.
#[must_use]
pub const fn launch_mode_text(launch: Launch) -> &'static str {
    match launch {
        Launch::Once => "once, on the first node",
        Launch::PerNode => "once on every node",
        Launch::PerTask => "once for every task",
        Launch::Held => "no script: an allocation for programs that the user starts",
    }
}

/// `00:04 CPU time, at most 300M memory at once, 1G read from disks`.
#[must_use]
pub fn usage(usage: Usage) -> String {
    let disk = |bytes: Bytes, what: &str| match bytes.is_zero() {
        true => String::new(),
        false => format!(", {bytes} {what} disks"),
    };
    let (read, written) =
        (disk(usage.disk_read, "read from"), disk(usage.disk_written, "written to"));
    format!("{} CPU time, at most {} memory at once{read}{written}", usage.cpu, usage.memory_peak)
}

/// `63 % busy on average, at most 40G memory on one, 1.2 kWh`.
#[must_use]
pub fn gpu_usage(gpus: GpuUsage) -> String {
    let busy = gpus.busy_percent().map(|percent| format!("{percent} % busy on average"));
    // A tenth of a kWh.
    let tenths = gpus.energy_joules / 360_000;
    // 0 means not measured: for a shared GPU, the driver reports memory per process and nothing
    // else.
    let energy = match (gpus.energy_joules, tenths) {
        (0, _) => None,
        (joules, 0) => Some(format!("{joules} J")),
        _ => Some(format!("{}.{} kWh", tenths / 10, tenths % 10)),
    };
    let memory = Some(format!("at most {} memory on one", gpus.memory_peak));
    [busy, memory, energy].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `USR1 60 s before its time limit, to all its processes`.
#[must_use]
pub fn signal_warning_text(warning: &Warning) -> String {
    let (recipients, lead) = (recipients(warning.to), warning.lead.seconds());
    format!("{} {lead} s before its time limit, to {recipients}", warning.signal)
}

/// `USR1, to its script`.
#[must_use]
pub fn resize_signal(resize: &ResizeSignal) -> String {
    format!("{}, to {}", resize.signal, recipients(resize.to))
}

const fn recipients(target: Warned) -> &'static str {
    match target {
        Warned::All => "all its processes",
        Warned::Script => "its script",
    }
}

/// `BEGIN,END to ada@example.org`.
#[must_use]
pub fn mail(mail: &Mail) -> String {
    let to = mail.to.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
    format!("{}{to}", mail.on)
}

/// The kinds of GPU a node has: `h100`, `a40,h100`, or nothing.
#[must_use]
pub fn gpu_kinds(inventory: &Inventory) -> String {
    let mut kinds: Vec<&str> = inventory.gpus.iter().map(|gpu| gpu.kind.0.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::gpu::GpuKind;
    use common::topology::{Level, Nearness};
    use common::unit::{Gpus, Nodes, Tasks};

    #[test]
    fn a_request_is_written_with_all_its_parts() {
        let kind = |kind: &str| GpuKind(kind.to_owned());
        let choice = Request {
            tasks: Tasks(8),
            tasks_min: Some(Tasks(2)),
            gpus: Some(GpuRequest::PerTask(Gpus(1))),
            gpu_kind: Some(kind("a100")),
            gpu_kinds_or: vec![kind("h100")],
            ..Request::default()
        };
        assert_eq!(request(&choice), "2 to 8 tasks, 1 CPU per task, 1 a100 or h100 GPU per task");
        let half = Request {
            gpus: Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(500)))),
            ..Request::default()
        };
        assert_eq!(request(&half), "1 task, 1 CPU per task, 0.5 of one GPU");
    }

    #[test]
    fn nearness_shows_whether_it_is_preferred_or_required() {
        let near = Some(Nearness { level: Level::Leaf, required: false });
        let preferred = Request { near, ..Request::default() };
        assert_eq!(nearness(&preferred).as_deref(), Some("leaf (preferred)"));
        let near = Some(Nearness { level: Level::NvlinkDomain, required: true });
        let blocks = Request { near, segment: Some(Nodes(4)), ..Request::default() };
        let text = "nvlink-domain:required, each block of 4 nodes separately";
        assert_eq!(nearness(&blocks).as_deref(), Some(text));
        assert_eq!(nearness(&Request::default()), None);
    }

    #[test]
    fn usage_is_written_in_one_line() {
        let plain = Usage { memory_peak: Bytes::from_mib(300), ..Usage::default() };
        assert_eq!(usage(plain), "00:00 CPU time, at most 300M memory at once");
        let wrote = Usage { disk_written: Bytes::from_mib(2048), ..plain };
        let text = "00:00 CPU time, at most 300M memory at once, 2G written to disks";
        assert_eq!(usage(wrote), text);
        let (samples, memory_peak) = (4, Bytes::from_mib(1024));
        let gpus =
            GpuUsage { samples, busy_percent_sum: 255, memory_peak, energy_joules: 4_500_000 };
        assert_eq!(gpu_usage(gpus), "63 % busy on average, at most 1G memory on one, 1.2 kWh");
        let brief = GpuUsage { energy_joules: 359_999, ..gpus };
        assert!(gpu_usage(brief).ends_with(", 359999 J"));
        let shared = GpuUsage { memory_peak, ..GpuUsage::default() };
        assert_eq!(
            gpu_usage(shared),
            "at most 1G memory on one",
            "a share has no other measurement"
        );
    }

    #[test]
    fn shares_of_gpus_are_decimals() {
        for (thousandths, text) in [(2000, "2"), (500, "0.5"), (1250, "1.25"), (1, "0.001")] {
            assert_eq!(format_gpu_milli(GpuMilli(thousandths)), text);
        }
    }
}
