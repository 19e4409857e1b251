//! `scontrol show partition`: a queue's record in Slurm's fields. Only leaf queues are partitions.

use super::super::json;
use super::{Args, Record};
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::server::Server;
use cli::slurm_time::long_span;
use common::hostlist::compress;
use common::policy::queue::Queue;
use common::wire::api::{NodeList, NodeView, QueueList};
use slurm_json::node::nodes_of;
use slurm_json::partition::partition;
use slurm_json::partitions::partitions;

/// Shows these partitions, or all.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or there is no such partition.
pub async fn show(
    args: &Args,
    names: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let queues: QueueList = server.get("/v1/queues").await?;
    let nodes: NodeList = server.get("/v1/nodes").await?;
    if args.json {
        let wanted = partitions(&queues)
            .filter(|queue| names.is_empty() || names.contains(&queue.name.as_str()));
        let shown =
            wanted.map(|queue| partition(queue, &nodes_of(queue, &nodes.nodes), "", json::VERSION));
        return json::print(screen, "partitions", shown.collect());
    }
    let mut shown = 0;
    for queue in partitions(&queues) {
        if names.is_empty() || names.contains(&queue.name.as_str()) {
            let of = nodes_of(queue, &nodes.nodes);
            screen.print(&record(queue, &of).text(args.oneliner))?;
            shown += 1;
        }
    }
    if shown == 0 && !names.is_empty() {
        return Err(Failure::from_message(format!("Partition {} not found", names.join(","))));
    }
    Ok(OK)
}

fn record(queue: &Queue, nodes: &[&NodeView]) -> Record {
    let yes = |yes: bool| if yes { "YES" } else { "NO" }.to_owned();
    let list =
        |names: Vec<String>| if names.is_empty() { "ALL".to_owned() } else { names.join(",") };
    let longest = queue.time_limit_max.map_or_else(|| "UNLIMITED".to_owned(), long_span);
    let usual = queue.time_limit_default.map_or_else(|| "NONE".to_owned(), long_span);
    let access = &queue.access;
    let mut record = Record::default();
    record.add_line(vec![("PartitionName", queue.name.to_string())]);
    record.add_line(vec![
        ("AllowGroups", list(access.groups.iter().map(ToString::to_string).collect())),
        ("AllowAccounts", list(access.accounts.iter().map(ToString::to_string).collect())),
        ("AllowQos", "ALL".to_owned()),
    ]);
    record.add_line(vec![
        ("AllocNodes", "ALL".to_owned()),
        ("Default", yes(queue.default)),
        ("QoS", "N/A".to_owned()),
    ]);
    record.add_line(vec![
        ("DefaultTime", usual),
        ("DisableRootJobs", "YES".to_owned()),
        ("ExclusiveUser", "NO".to_owned()),
        ("Hidden", "NO".to_owned()),
    ]);
    record.add_line(vec![
        ("MaxNodes", "UNLIMITED".to_owned()),
        ("MaxTime", longest),
        ("MinNodes", "0".to_owned()),
        ("MaxCPUsPerNode", "UNLIMITED".to_owned()),
    ]);
    record.add_line(vec![("Nodes", compress(nodes.iter().map(|node| &node.name)))]);
    record.add_line(vec![
        ("PriorityTier", queue.priority.to_string()),
        ("OverSubscribe", "NO".to_owned()),
        ("PreemptMode", if queue.preemption.preemptible { "REQUEUE" } else { "OFF" }.to_owned()),
    ]);
    let (cpus, memory, gpus) = nodes.iter().fold((0, 0, 0), |(cpus, memory, gpus), node| {
        let has = &node.inventory;
        (cpus + has.cpu_count().0, memory + has.memory.0, gpus + has.gpu_count().0)
    });
    record.add_line(vec![
        ("State", "UP".to_owned()),
        ("TotalCPUs", cpus.to_string()),
        ("TotalNodes", nodes.len().to_string()),
        ("DefMemPerCPU", (queue.memory_per_cpu.0 >> 20).to_string()),
        ("MaxMemPerNode", "UNLIMITED".to_owned()),
    ]);
    let gpus = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
    let count = nodes.len();
    record.add_line(vec![("TRES", format!("cpu={cpus},mem={}M,node={count}{gpus}", memory >> 20))]);
    record
}
