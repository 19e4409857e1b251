//! `scontrol show node`: a node's record in Slurm's fields. What is not measured is `N/A`.

use super::super::json;
use super::{Args, Record};
use cli::failure::{Failure, OK};
use cli::output::{Screen, user_names::user};
use cli::server::Server;
use cli::slurm_time::format_time;
use common::hostlist::expand;
use common::id::NodeName;
use common::node::NodeStatus;
use common::wire::api::{NodeList, NodeView, QueueList};
use slurm_json::node_state::{features, gres, state_name, unavailable_reason};
use slurm_json::partitions::{has_node, partitions};

/// Shows these nodes, or all.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a list does not parse.
pub async fn show(
    args: &Args,
    names: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let list: NodeList = server.get("/v1/nodes").await?;
    let queues: QueueList = server.get("/v1/queues").await?;
    let named: Vec<NodeName> = match names {
        [] => list.nodes.iter().map(|node| node.name.clone()).collect(),
        names => expand(&names.join(",")).map_err(Failure::usage)?,
    };
    if args.json {
        let shown = list.nodes.iter().filter(|node| named.contains(&node.name));
        let shown = shown.map(|node| json::node(node, &queues)).collect();
        return json::print(screen, "nodes", shown);
    }
    let mut code = OK;
    for name in &named {
        match list.nodes.iter().find(|node| node.name == *name) {
            Some(node) => {
                screen.print(&record(node, &queues, screen).text(args.oneliner))?;
            }
            None => {
                screen.print_line(&format!("Node {name} not found"))?;
                code = 1;
            }
        }
    }
    Ok(code)
}

fn record(node: &NodeView, queues: &QueueList, screen: &Screen) -> Record {
    let has = &node.inventory;
    let sockets = has.sockets.max(1);
    let mib = |bytes: u64| (bytes >> 20).to_string();
    let mut record = Record::default();
    record.add_line(vec![
        ("NodeName", node.name.to_string()),
        ("CoresPerSocket", (has.cores.len() / sockets as usize).to_string()),
    ]);
    record.add_line(vec![
        ("CPUAlloc", node.cpus_used.to_string()),
        ("CPUTot", has.cpu_count().to_string()),
        ("CPULoad", "N/A".to_owned()),
    ]);
    record
        .add_line(vec![("AvailableFeatures", features(node)), ("ActiveFeatures", features(node))]);
    record.add_line(vec![("Gres", gres(&has.gpus))]);
    record.add_line(vec![
        ("NodeAddr", node.address.clone()),
        ("NodeHostName", node.name.to_string()),
        ("Version", node.version.clone()),
    ]);
    record.add_line(vec![
        ("RealMemory", mib(has.memory.0)),
        ("AllocMem", mib(node.memory_used.0)),
        ("FreeMem", mib(has.memory.0.saturating_sub(node.memory_used.0))),
        ("Sockets", sockets.to_string()),
        ("Boards", "1".to_owned()),
    ]);
    record.add_line(vec![
        ("State", state_flags(node)),
        ("ThreadsPerCore", has.threads_per_core.to_string()),
        ("TmpDisk", "0".to_owned()),
        ("Weight", "1".to_owned()),
        ("Owner", "N/A".to_owned()),
    ]);
    let of: Vec<String> = partitions(queues)
        .filter(|queue| has_node(queue, node))
        .map(|queue| queue.name.to_string())
        .collect();
    record.add_line(vec![("Partitions", of.join(","))]);
    let tres = |cpus: u32, memory: u64, gpus: u32| {
        let gpus = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
        format!("cpu={cpus},mem={}M{gpus}", mib(memory))
    };
    record.add_line(vec![("CfgTRES", tres(has.cpu_count().0, has.memory.0, has.gpu_count().0))]);
    record.add_line(vec![(
        "AllocTRES",
        tres(node.cpus_used.0, node.memory_used.0, node.gpus_used.0),
    )]);
    if unavailable_reason(node) != "none" {
        let since = node.drain.as_ref().map(|drain| {
            format!(" [{}@{}]", user(drain.by.0), format_time(drain.since, &screen.zone))
        });
        record.add_line(vec![(
            "Reason",
            format!("{}{}", unavailable_reason(node), since.unwrap_or_default()),
        )]);
    }
    record
}

/// The state in upper case; for a drained node the base state and a flag.
fn state_flags(node: &NodeView) -> String {
    let bare = match node.status {
        NodeStatus::Drained => "IDLE+DRAIN".to_owned(),
        NodeStatus::Draining => "MIXED+DRAIN".to_owned(),
        _ => return state_name(node, false).to_ascii_uppercase(),
    };
    let star = if state_name(node, false).ends_with('*') { "*" } else { "" };
    format!("{bare}{star}")
}
