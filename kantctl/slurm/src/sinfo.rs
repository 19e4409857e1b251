//! `sinfo`: lists partitions and nodes.
//! Source: man sinfo.

mod rows;

use super::format::{self, Piece};
use super::json;
use super::node_field::{self, Line, NodeField};
use super::repeat::Repeat;
use super::shared_options::Common;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::server::Server;
use cli::slurm_time;
use common::id::QueueName;
use common::job::attributes::Hosts;
use common::node::{Contact, NodeStatus};
use common::policy::queue::Queue;
use common::wire::api::{NodeList, NodeView, QueueList};
use jiff::tz::TimeZone;
use rows::PartitionNodes;
use slurm_json::node_state::state_name;
use slurm_json::partitions::{has_node, partitions};

const DEFAULT_FORMAT: &str = "%#P %.5a %.10l %.6D %.6t %N";
const LONG_FORMAT: &str = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
const NODE_FORMAT: &str = "%#N %.6D %#P %6t";
const NODE_LONG_FORMAT: &str = "%#N %.6D %#P %.11T %.4c %.8z %.6m %.8d %.6w %.8f %20E";
const SUMMARY_FORMAT: &str = "%#P %.5a %.10l %.16F  %N";
const REASON_FORMAT: &str = "%20E %9u %19H %N";
const REASON_LONG_FORMAT: &str = "%20E %12u %19H %6t %N";

/// List partitions and nodes, as Slurm's sinfo does
#[derive(clap::Parser, Debug)]
#[command(name = "sinfo", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub repeat: Repeat,
    /// Include partitions that you may not use (always)
    #[arg(short = 'a', long)]
    pub all: bool,
    /// Only nodes that do not respond
    #[arg(short = 'd', long, conflicts_with = "responding")]
    pub dead: bool,
    /// Show nodes with different CPUs or memory on separate lines
    #[arg(short = 'e', long)]
    pub exact: bool,
    /// Omit the header
    #[arg(short = 'h', long = "noheader")]
    pub no_header: bool,
    /// Show more columns
    #[arg(short = 'l', long)]
    pub long: bool,
    /// Show sizes in MiB (always)
    #[arg(long = "noconvert")]
    pub no_convert: bool,
    /// Only these nodes
    #[arg(short = 'n', long = "nodes", value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// Show one line for each node and partition
    #[arg(short = 'N', long = "Node")]
    pub by_node: bool,
    /// Fields to show: %[[.]size]letter
    #[arg(short = 'o', long, value_name = "FORMAT", conflicts_with = "long_format")]
    pub format: Option<String>,
    /// Fields to show, by name: NodeList:20,StateLong
    #[arg(short = 'O', long = "Format", value_name = "NAMES")]
    pub long_format: Option<String>,
    /// Only these partitions
    #[arg(short = 'p', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// Only nodes that respond
    #[arg(short = 'r', long)]
    pub responding: bool,
    /// Show why nodes are drained or down
    #[arg(short = 'R', long = "list-reasons")]
    pub reasons: bool,
    /// Show one line for each partition
    #[arg(short = 's', long)]
    pub summarize: bool,
    /// Fields to sort by (ignored: lines are sorted by partition and name)
    #[arg(short = 'S', long, value_name = "FIELDS", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Only nodes in these states
    #[arg(
        short = 't',
        long = "states",
        visible_alias = "state",
        value_delimiter = ',',
        value_name = "STATE"
    )]
    pub states: Vec<String>,
    /// Print JSON in the format of Slurm 22.05
    #[arg(long)]
    pub json: bool,
}

/// Environment variables that set options (man sinfo, ENVIRONMENT).
const VARIABLES: &[(&str, &str)] =
    &[("SINFO_FORMAT", "--format"), ("SINFO_PARTITION", "--partition"), ("SINFO_SORT", "--sort")];

impl Args {
    #[must_use]
    pub const fn variables() -> &'static [(&'static str, &'static str)] {
        VARIABLES
    }

    fn pieces(&self) -> Result<Vec<Piece<&'static NodeField>>, Failure> {
        let default = match (self.reasons, self.summarize, self.by_node, self.long) {
            (true, _, _, true) => REASON_LONG_FORMAT,
            (true, ..) => REASON_FORMAT,
            (_, true, ..) => SUMMARY_FORMAT,
            (_, _, true, true) => NODE_LONG_FORMAT,
            (_, _, true, false) => NODE_FORMAT,
            (.., true) => LONG_FORMAT,
            (.., false) => DEFAULT_FORMAT,
        };
        let (names, letters) = (self.long_format.as_deref(), self.format.as_deref());
        let (by_name, by_letter) = (node_field::by_name, node_field::by_letter);
        format::choose(names, letters, default, node_field::FIELDS, by_name, by_letter)
            .map_err(Failure::usage)
    }

    fn matches_node(&self, node: &NodeView) -> bool {
        let answers = node.contact == Contact::Connected;
        let silent = !answers || node.drain.is_some() || node.status == NodeStatus::Down;
        self.nodes.as_ref().is_none_or(|hosts| hosts.0.contains(&node.name))
            && (self.states.is_empty() || self.states.iter().any(|state| is_in(node, state)))
            && !(self.dead && answers)
            && (!self.responding || answers)
            && (!self.reasons || silent)
    }
}

/// Whether the node is in this state, in either of Slurm's spellings.
fn is_in(node: &NodeView, state: &str) -> bool {
    let state = state.trim_end_matches('*').to_ascii_lowercase();
    let drained = matches!(node.status, NodeStatus::Draining | NodeStatus::Drained);
    let bare = |compact| state_name(node, compact).trim_end_matches('*').to_owned();
    match state.as_str() {
        "all" => true,
        "drain" => drained,
        "no_respond" => node.contact != Contact::Connected,
        "alloc" | "allocated" => node.status == NodeStatus::Allocated,
        other => other == bare(true) || other == bare(false),
    }
}

/// Lists partitions and nodes.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or the format is invalid.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    check_states(&args.states)?;
    let pieces = args.pieces()?;
    args.repeat.run(screen, async || list(args, &pieces, server, screen).await).await
}

/// The states that `--states` accepts.
const STATES: [&str; 12] = [
    "all",
    "alloc",
    "allocated",
    "down",
    "drain",
    "drained",
    "draining",
    "drng",
    "idle",
    "mix",
    "mixed",
    "no_respond",
];

fn check_states(words: &[String]) -> Result<(), Failure> {
    let bare = |word: &String| word.trim_end_matches('*').to_ascii_lowercase();
    let wrong = words.iter().find(|word| !STATES.contains(&bare(word).as_str()));
    wrong.map_or(Ok(()), |word| {
        let refused = Failure::usage(anyhow::anyhow!("Invalid node state specified: {word}"));
        Err(refused.with_hint(format!("states are {}", STATES.join(", "))))
    })
}

async fn list(
    args: &Args,
    pieces: &[Piece<&'static NodeField>],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let nodes: NodeList = server.get("/v1/nodes").await?;
    let queues: QueueList = server.get("/v1/queues").await?;
    let known: Vec<&NodeView> = nodes.nodes.iter().filter(|node| args.matches_node(node)).collect();
    if args.json {
        let named = |node: &&&NodeView| {
            let of = |queue: &Queue| args.partitions.contains(&queue.name) && has_node(queue, node);
            args.partitions.is_empty() || partitions(&queues).any(of)
        };
        let shown = known.iter().filter(named).map(|node| json::node(node, &queues));
        return json::print(screen, "nodes", shown.collect());
    }
    let zone: &TimeZone = &screen.zone;
    let is_shown =
        |queue: &&Queue| args.partitions.is_empty() || args.partitions.contains(&queue.name);
    let parts: Vec<PartitionNodes<'_>> = match args.reasons {
        true => vec![PartitionNodes { queue: None, nodes: known }],
        false => partitions(&queues)
            .filter(is_shown)
            .map(|queue| partition_nodes(queue, &known))
            .collect(),
    };
    // Without a filter on nodes, an empty partition is listed too.
    let all = args.nodes.is_none() && args.states.is_empty() && !args.dead && !args.responding;
    let mut lines = match args.by_node {
        true => line_per_node(&parts, zone),
        false => rows::grouped(pieces, &parts, zone, args.exact, all && !args.reasons),
    };
    if args.by_node {
        lines.sort_by_key(|line| line.nodes.first().map(|node| &node.name));
    }
    if args.long && !args.no_header {
        screen.print_line(&slurm_time::current_time(&screen.zone))?;
    }
    let title = |field: &&'static NodeField| field.title.to_owned();
    let titled = (!args.no_header).then_some(&title as &dyn Fn(&&'static NodeField) -> String);
    screen
        .print(&format::format_text(pieces, titled, &lines, |field, line| (field.value)(line)))?;
    Ok(OK)
}

fn partition_nodes<'a>(queue: &'a Queue, known: &[&'a NodeView]) -> PartitionNodes<'a> {
    let nodes = known.iter().filter(|node| has_node(queue, node)).copied();
    PartitionNodes { queue: Some(queue), nodes: nodes.collect() }
}

fn line_per_node<'a>(parts: &[PartitionNodes<'a>], zone: &'a TimeZone) -> Vec<Line<'a>> {
    let lines = parts.iter().flat_map(|PartitionNodes { queue, nodes }| {
        nodes.iter().map(|node| Line { queue: *queue, nodes: vec![*node], zone })
    });
    lines.collect()
}
