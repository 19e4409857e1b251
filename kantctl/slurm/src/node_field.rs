//! The fields of sinfo and their values.
//! Source: man sinfo (--format, --Format).

use cli::output::user_names::{self, user};
use cli::slurm_time::{format_time, short_span};
use common::hostlist::compress;
use common::node::{Contact, NodeStatus};
use common::policy::queue::Queue;
use common::wire::api::NodeView;
use jiff::tz::TimeZone;
use slurm_json::node_state::{features, gres, state_name, unavailable_reason};

/// A line of sinfo: the nodes whose shown fields are equal, each node once.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// The partition, or the first of several equal ones; `None`: lines do not depend on
    /// partitions.
    pub queue: Option<&'a Queue>,
    /// The nodes; empty for a partition without nodes.
    pub nodes: Vec<&'a NodeView>,
    pub zone: &'a TimeZone,
}

/// What a field describes. Nodes share a line if all shown fields of the same kind are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Node,
    /// A node as well, but only with `--exact`: without it a line shows the least and a `+`.
    Size,
    Partition,
    /// All nodes of the line together: never splits a line.
    Line,
}

#[derive(Debug)]
pub struct NodeField {
    /// The letter in `sinfo -o`, or a blank.
    pub letter: char,
    /// The name in `sinfo -O`, in lower case, or empty.
    pub name: &'static str,
    pub title: &'static str,
    pub of: Of,
    pub value: fn(&Line<'_>) -> String,
}

const fn node_field(
    letter: char,
    name: &'static str,
    title: &'static str,
    value: fn(&Line<'_>) -> String,
) -> NodeField {
    NodeField { letter, name, title, of: Of::Node, value }
}

const fn size_field(
    letter: char,
    name: &'static str,
    title: &'static str,
    value: fn(&Line<'_>) -> String,
) -> NodeField {
    NodeField { letter, name, title, of: Of::Size, value }
}

const fn line_field(
    letter: char,
    name: &'static str,
    title: &'static str,
    value: fn(&Line<'_>) -> String,
) -> NodeField {
    NodeField { letter, name, title, of: Of::Line, value }
}

const fn partition_field(
    letter: char,
    name: &'static str,
    title: &'static str,
    value: fn(&Line<'_>) -> String,
) -> NodeField {
    NodeField { letter, name, title, of: Of::Partition, value }
}

pub const FIELDS: &[NodeField] = &[
    partition_field('P', "partition", "PARTITION", |l| partition(l, "*")),
    partition_field('R', "partitionname", "PARTITION", |l| partition(l, "")),
    partition_field('a', "available", "AVAIL", |_| "up".to_owned()),
    partition_field('l', "time", "TIMELIMIT", |l| {
        let longest = l.queue.and_then(|queue| queue.time_limit_max);
        longest.map_or_else(|| "infinite".to_owned(), short_span)
    }),
    partition_field('L', "defaulttime", "DEFAULTTIME", |l| {
        let usual = l.queue.and_then(|queue| queue.time_limit_default);
        usual.map_or_else(|| "n/a".to_owned(), short_span)
    }),
    line_field('D', "nodes", "NODES", |l| l.nodes.len().to_string()),
    line_field('N', "nodelist", "NODELIST", |l| compress(l.nodes.iter().map(|node| &node.name))),
    node_field('n', "nodehost", "HOSTNAMES", |l| first(l, |node| node.name.to_string())),
    node_field('o', "nodeaddr", "NODE_ADDR", |l| first(l, |node| node.address.clone())),
    node_field('t', "statecompact", "STATE", |l| first(l, |node| state_name(node, true))),
    node_field('T', "statelong", "STATE", |l| first(l, |node| state_name(node, false))),
    size_field('c', "cpus", "CPUS", |l| least(l, |node| u64::from(node.inventory.cpu_count().0))),
    line_field('C', "cpusstate", "CPUS(A/I/O/T)", cpus_by_state),
    line_field('A', "nodeai", "NODES(A/I)", |l| {
        let [used, idle, _] = node_counts_by_state(l);
        format!("{used}/{idle}")
    }),
    line_field('F', "nodeaiot", "NODES(A/I/O/T)", |l| {
        let [used, idle, other] = node_counts_by_state(l);
        format!("{used}/{idle}/{other}/{}", l.nodes.len())
    }),
    size_field('m', "memory", "MEMORY", |l| least(l, |node| node.inventory.memory.0 >> 20)),
    line_field('e', "freemem", "FREE_MEM", |l| {
        let free = |node: &&NodeView| node.inventory.memory.0.saturating_sub(node.memory_used.0);
        range(l.nodes.iter().map(|node| mib(free(node)).parse().unwrap_or(0)).collect())
    }),
    line_field(' ', "allocmem", "ALLOCMEM", |l| {
        mib(l.nodes.iter().map(|node| node.memory_used.0).sum())
    }),
    node_field('G', "gres", "GRES", |l| first(l, |node| gres(&node.inventory.gpus))),
    node_field(' ', "gresused", "GRES_USED", |l| {
        first(l, |node| match node.inventory.gpus.first() {
            None => "gpu:0".to_owned(),
            Some(gpu) => format!("gpu:{}:{}", gpu.kind.0, node.gpus_used),
        })
    }),
    node_field('f', "features", "AVAIL_FEATURES", |l| first(l, features)),
    node_field('b', "features_act", "ACTIVE_FEATURES", |l| first(l, features)),
    node_field('E', "reason", "REASON", |l| first(l, unavailable_reason)),
    node_field('H', "timestamp", "TIMESTAMP", |l| {
        let since = |node: &NodeView| unavailable_since(node).map(|at| format_time(at, l.zone));
        first(l, |node| since(node).unwrap_or_else(|| "Unknown".to_owned()))
    }),
    node_field('u', "user", "USER", |l| {
        first(l, |node| {
            node.drain.as_ref().map_or_else(|| "Unknown".to_owned(), |drain| user(drain.by.0))
        })
    }),
    node_field('O', "cpusload", "CPU_LOAD", |_| "N/A".to_owned()),
    size_field('z', "socketcorethread", "S:C:T", |l| {
        format!("{}:{}:{}", least(l, sockets), least(l, cores), least(l, threads))
    }),
    size_field('X', "sockets", "SOCKETS", |l| least(l, sockets)),
    size_field('Y', "cores", "CORES", |l| least(l, cores)),
    size_field('Z', "threads", "THREADS", |l| least(l, threads)),
    node_field('w', "weight", "WEIGHT", |_| "1".to_owned()),
    node_field('d', "disk", "TMP_DISK", |_| "0".to_owned()),
    partition_field('p', "prioritytier", "PRIO_TIER", |l| {
        l.queue.map_or_else(|| "0".to_owned(), |queue| queue.priority.to_string())
    }),
    node_field('v', "version", "VERSION", |l| first(l, |node| node.version.clone())),
    partition_field('s', "size", "JOB_SIZE", |_| "1-infinite".to_owned()),
    partition_field('r', "root", "ROOT", |_| "no".to_owned()),
    partition_field('h', "oversubscribe", "OVERSUBSCRIBE", |_| "NO".to_owned()),
    partition_field('g', "groups", "GROUPS", |l| match l.queue.map(|queue| &queue.access.groups) {
        Some(groups) if !groups.is_empty() => {
            groups.iter().map(|gid| user_names::group(gid.0)).collect::<Vec<_>>().join(",")
        }
        _ => "all".to_owned(),
    }),
];

#[must_use]
pub fn by_letter(letter: char) -> Option<&'static NodeField> {
    FIELDS.iter().find(|field| field.letter == letter && letter != ' ')
}

#[must_use]
pub fn by_name(name: &str) -> Option<&'static NodeField> {
    FIELDS.iter().find(|field| field.name == name && !name.is_empty())
}

fn partition(line: &Line<'_>, star: &str) -> String {
    let show = |queue: &Queue| format!("{}{}", queue.name, if queue.default { star } else { "" });
    line.queue.map_or_else(|| "n/a".to_owned(), show)
}

fn first(line: &Line<'_>, show: impl Fn(&NodeView) -> String) -> String {
    line.nodes.first().map_or_else(|| "n/a".to_owned(), |node| show(node))
}

/// The least of the nodes, with a `+` where another has more.
fn least(line: &Line<'_>, of: impl Fn(&NodeView) -> u64) -> String {
    let numbers = || line.nodes.iter().map(|node| of(node));
    match (numbers().min(), numbers().max()) {
        (Some(least), Some(most)) if least < most => format!("{least}+"),
        (Some(least), _) => least.to_string(),
        (None, _) => "n/a".to_owned(),
    }
}

fn sockets(node: &NodeView) -> u64 {
    u64::from(node.inventory.sockets.max(1))
}

/// Of a socket.
fn cores(node: &NodeView) -> u64 {
    node.inventory.cores.len() as u64 / sockets(node)
}

/// Of a core.
fn threads(node: &NodeView) -> u64 {
    u64::from(node.inventory.threads_per_core)
}

fn unavailable_since(node: &NodeView) -> Option<common::time::Time> {
    match (&node.drain, node.contact) {
        (Some(drain), _) => Some(drain.since),
        (None, Contact::Silent { since } | Contact::Lost { since }) => Some(since),
        (None, Contact::Connected) => None,
    }
}

/// Whole MiB, sinfo's unit of memory.
fn mib(bytes: u64) -> String {
    (bytes >> 20).to_string()
}

fn range(mut of: Vec<u64>) -> String {
    of.sort_unstable();
    match (of.first(), of.last()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least}-{most}"),
        _ => "N/A".to_owned(),
    }
}

/// The numbers of nodes that are in use, idle, and neither.
fn node_counts_by_state(line: &Line<'_>) -> [usize; 3] {
    let mut counts = [0; 3];
    for node in &line.nodes {
        counts[match node.status {
            NodeStatus::Mixed | NodeStatus::Allocated => 0,
            NodeStatus::Idle => 1,
            NodeStatus::Draining | NodeStatus::Drained | NodeStatus::Down => 2,
        }] += 1;
    }
    counts
}

fn cpus_by_state(line: &Line<'_>) -> String {
    let (mut used, mut idle, mut other) = (0, 0, 0);
    for node in &line.nodes {
        let all = node.inventory.cpu_count().0;
        let free = all.saturating_sub(node.cpus_used.0);
        used += node.cpus_used.0;
        match node.status {
            NodeStatus::Draining | NodeStatus::Drained | NodeStatus::Down => other += free,
            NodeStatus::Idle | NodeStatus::Mixed | NodeStatus::Allocated => idle += free,
        }
    }
    format!("{used}/{idle}/{other}/{}", used + idle + other)
}
