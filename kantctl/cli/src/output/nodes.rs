//! Nodes as a table and as a record.

use super::record::Record;
use super::sizes;
use super::table::{Cell, Column, Table, Tint};
use super::time::local;
use super::user_names;
use common::health::DrainCause;
use common::id::Uid;
use common::node::{Contact, Drain, Inventory, NodeStatus};
use common::time::Time;
use common::wire::api::NodeView;
use jiff::tz::TimeZone;

const COLUMNS: [Column; 8] = [
    Column::new("NODE"),
    Column::new("STATE"),
    Column::new("CPUS").right_aligned(),
    Column::new("MEMORY").right_aligned(),
    Column::new("GPUS").right_aligned(),
    Column::new("KIND").with_min_width(6),
    Column::new("JOBS").right_aligned(),
    Column::new("REASON").with_min_width(16),
];

/// Nodes, one per row; amounts are used/total.
#[must_use]
pub fn table(nodes: &[NodeView], zone: &TimeZone) -> Table {
    let mut table = Table::new(&COLUMNS, &["REASON", "KIND"]);
    for node in nodes {
        let has = &node.inventory;
        let gpus = match has.gpu_count().0 {
            0 => "-".to_owned(),
            all => format!("{}/{all}", node.gpus_used),
        };
        let kinds = sizes::gpu_kinds(has);
        table.add_row(vec![
            Cell::from(&node.name),
            Cell::from(state(node)).with_tint(tint(node.status)),
            Cell::from(format!("{}/{}", node.cpus_used, has.cpu_count())),
            Cell::from(format!("{}/{}", node.memory_used, has.memory)),
            Cell::from(gpus),
            Cell::from(if kinds.is_empty() { "-" } else { &kinds }),
            Cell::from(node.jobs.len()),
            Cell::from(reason(node, zone)),
        ]);
    }
    table
}

/// Slurm's name of the state, with a star for a node that does not respond.
fn state(node: &NodeView) -> String {
    let star = if node.contact == Contact::Connected { "" } else { "*" };
    format!("{}{star}", node.status.word())
}

const fn tint(status: NodeStatus) -> Tint {
    match status {
        NodeStatus::Idle | NodeStatus::Mixed | NodeStatus::Allocated => Tint::Good,
        NodeStatus::Draining | NodeStatus::Drained => Tint::Waiting,
        NodeStatus::Down => Tint::Bad,
    }
}

/// The time of the drain, and the operator who drained the node, if it was one.
fn drain_text(drain: &Drain, zone: &TimeZone) -> String {
    match drain.cause {
        DrainCause::Operator => at_by(drain.since, drain.by, zone),
        _ => local(drain.since, zone),
    }
}

fn at_by(at: Time, by: Uid, zone: &TimeZone) -> String {
    format!("{} by {}", local(at, zone), user_names::user(by.0))
}

/// Why no job starts on the node.
fn reason(node: &NodeView, zone: &TimeZone) -> String {
    let contact = match node.contact {
        Contact::Connected => None,
        Contact::Silent { since } => Some(format!("silent since {}", local(since, zone))),
        Contact::Lost { since } => Some(format!("lost since {}", local(since, zone))),
    };
    let drain = node.drain.as_ref().map(|drain| drain.reason.clone());
    let emulated =
        node.inventory.is_emulated().then(|| "emulated: jobs do not really run".to_owned());
    let revoked =
        node.revoked_at.map(|at| format!("its certificate was revoked {}", local(at, zone)));
    [drain, revoked, contact, emulated].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The full record of a node.
#[must_use]
pub fn record(node: &NodeView, zone: &TimeZone) -> String {
    let has = &node.inventory;
    let mut record = Record::default();
    record.fact("node", &node.name);
    record.fact("state", state(node));
    record
        .add_optional_fact("reason", Some(reason(node, zone)).filter(|reason| !reason.is_empty()));
    record.add_optional_fact("drained", node.drain.as_ref().map(|drain| drain_text(drain, zone)));
    record.add_optional_fact("resumed", node.resumed.as_ref().map(|it| at_by(it.at, it.by, zone)));
    record.fact("address", &node.address);
    record.fact("kantd", &node.version);
    record.fact("cpus", format!("{} of {} in use: {}", node.cpus_used, has.cpu_count(), has.cpus));
    record.fact(
        "cores",
        format!(
            "{}, {} per core, on {}",
            sizes::count_with_noun(u32::try_from(has.cores.len()).unwrap_or(u32::MAX), "core"),
            sizes::count_with_noun(has.threads_per_core, "thread"),
            sizes::count_with_noun(has.sockets, "socket"),
        ),
    );
    record.fact("memory", format!("{} of {} in use", node.memory_used, has.memory));
    record.fact("gpus", format!("{} of {} in use", node.gpus_used, has.gpu_count()));
    record.add_optional_fact("features", features(has));
    let data: Vec<&str> = node.data.iter().map(|name| name.as_str()).collect();
    record.add_optional_fact("data", Some(data.join(" ")).filter(|data| !data.is_empty()));
    record.add_optional_fact("driver", has.gpu_driver.as_ref());
    let jobs: Vec<String> = node.jobs.iter().map(ToString::to_string).collect();
    record.add_optional_fact("jobs", Some(jobs.join(" ")).filter(|jobs| !jobs.is_empty()));
    record.list(
        "gpus",
        has.gpus.iter().map(|gpu| {
            let place = gpu.numa.map(|numa| format!(", NUMA node {numa}")).unwrap_or_default();
            let (index, kind, model) = (gpu.index, &gpu.kind, &gpu.model);
            format!("{index}: {kind}, {model}, {} memory, {}{place}", gpu.memory, gpu.uuid)
        }),
    );
    record.list(
        "network",
        has.nics.iter().map(|nic| {
            let nearest = nic.gpu_paths.iter().min();
            let near = has.gpus.iter().zip(&nic.gpu_paths);
            let near = near.filter(|(_, path)| Some(*path) == nearest).map(|(gpu, _)| gpu.index);
            let near: Vec<String> = near.map(|index| index.to_string()).collect();
            let near = match nearest {
                Some(path) => format!(", nearest to GPU {} ({path})", near.join(",")),
                None => String::new(),
            };
            let speed = nic.speed_mbit.map(|speed| format!(", {speed} Mbit/s"));
            let infiniband = nic.infiniband.as_ref().map(|device| format!(" ({device})"));
            let (infiniband, speed) = (infiniband.unwrap_or_default(), speed.unwrap_or_default());
            format!("{}{infiniband}: {}{speed}{near}", nic.name, nic.pci_bus_id)
        }),
    );
    record.list(
        "numa",
        has.numa
            .iter()
            .map(|numa| format!("{}: CPUs {}, {} memory", numa.id, numa.cpus, numa.memory)),
    );
    record.list(
        "health",
        node.findings.iter().map(|finding| format!("{}: {}", finding.check.word(), finding.says)),
    );
    record.list("not enforced here", has.limits_missing.iter().cloned());
    record.text()
}

/// The features that jobs may request.
fn features(has: &Inventory) -> Option<String> {
    let names: Vec<&str> = has.features.iter().map(|feature| feature.as_str()).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

#[cfg(test)]
mod tests;
