//! `sinfo`: partitions and nodes, as Slurm's users list them. Never changes any.
//! Source: man sinfo.

mod rows;

use super::calendar;
use super::format::{self, Piece};
use super::name::{Common, Repeat};
use super::node_field::{self, Line, NodeField};
use super::{json, json_node};
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::server::Server;
use crate::submission::value::Hosts;
use common::id::QueueName;
use common::node::{Contact, NodeStatus};
use common::queue::Queue;
use common::wire::api::{NodeList, NodeView, QueueList};
use jiff::tz::TimeZone;
use rows::Part;

const USUAL: &str = "%#P %.5a %.10l %.6D %.6t %N";
const LONG: &str = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
const NODES: &str = "%#N %.6D %#P %6t";
const NODES_LONG: &str = "%#N %.6D %#P %.11T %.4c %.8z %.6m %.8d %.6w %.8f %20E";
const SUMS: &str = "%#P %.5a %.10l %.16F  %N";
const REASONS: &str = "%20E %9u %19H %N";
const REASONS_LONG: &str = "%20E %12u %19H %6t %N";

/// List partitions and nodes, as Slurm's sinfo does
#[derive(clap::Parser, Debug)]
#[command(name = "sinfo", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub repeat: Repeat,
    /// All partitions, those that you may not use too (always)
    #[arg(short = 'a', long)]
    pub all: bool,
    /// Only nodes that do not answer
    #[arg(short = 'd', long, conflicts_with = "responding")]
    pub dead: bool,
    /// Nodes of different CPUs or memory on lines of their own
    #[arg(short = 'e', long)]
    pub exact: bool,
    /// No titles
    #[arg(short = 'h', long = "noheader")]
    pub no_header: bool,
    /// More columns
    #[arg(short = 'l', long)]
    pub long: bool,
    /// Sizes as they are, in MiB (always)
    #[arg(long = "noconvert")]
    pub no_convert: bool,
    /// Only these nodes
    #[arg(short = 'n', long = "nodes", value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// One line for each node and partition
    #[arg(short = 'N', long = "Node")]
    pub by_node: bool,
    /// What is shown: %[[.]size]letter
    #[arg(short = 'o', long, value_name = "FORMAT", conflicts_with = "long_format")]
    pub format: Option<String>,
    /// What is shown, by names: NodeList:20,StateLong
    #[arg(short = 'O', long = "Format", value_name = "NAMES")]
    pub long_format: Option<String>,
    /// Only these partitions
    #[arg(short = 'p', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// Only nodes that answer
    #[arg(short = 'r', long)]
    pub responding: bool,
    /// Why nodes are drained or down
    #[arg(short = 'R', long = "list-reasons")]
    pub reasons: bool,
    /// One line for each partition
    #[arg(short = 's', long)]
    pub summarize: bool,
    /// In this order: fields by their letters (accepted; lines stand by partition and name)
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
    /// As JSON, in the shape of Slurm 22.05
    #[arg(long)]
    pub json: bool,
}

/// What the environment sets where the command line is silent (man sinfo, ENVIRONMENT).
const VARIABLES: &[(&str, &str)] =
    &[("SINFO_FORMAT", "--format"), ("SINFO_PARTITION", "--partition"), ("SINFO_SORT", "--sort")];

impl Args {
    /// The variables that set options of sinfo.
    #[must_use]
    pub const fn variables() -> &'static [(&'static str, &'static str)] {
        VARIABLES
    }

    fn pieces(&self) -> Result<Vec<Piece<&'static NodeField>>, Failure> {
        let usual = match (self.reasons, self.summarize, self.by_node, self.long) {
            (true, _, _, true) => REASONS_LONG,
            (true, ..) => REASONS,
            (_, true, ..) => SUMS,
            (_, _, true, true) => NODES_LONG,
            (_, _, true, false) => NODES,
            (.., true) => LONG,
            (.., false) => USUAL,
        };
        let read = match (&self.long_format, &self.format) {
            (Some(names), _) => format::names(names, node_field::by_name),
            (None, Some(all)) if all == "%all" => Ok(format::all(node_field::FIELDS.iter())),
            (None, Some(letters)) => format::letters(letters, node_field::by_letter),
            (None, None) => format::letters(usual, node_field::by_letter),
        };
        read.map_err(Failure::usage)
    }

    fn takes(&self, node: &NodeView) -> bool {
        let answers = node.contact == Contact::Connected;
        let silent = !answers || node.drain.is_some() || node.status == NodeStatus::Down;
        self.nodes.as_ref().is_none_or(|hosts| hosts.0.contains(&node.name))
            && (self.states.is_empty() || self.states.iter().any(|state| is_in(node, state)))
            && !(self.dead && answers)
            && (!self.responding || answers)
            && (!self.reasons || silent)
    }
}

/// Is it in the state that the user names, in either of Slurm's spellings?
fn is_in(node: &NodeView, state: &str) -> bool {
    let state = state.trim_end_matches('*').to_ascii_lowercase();
    let drained = matches!(node.status, NodeStatus::Draining | NodeStatus::Drained);
    let bare = |compact| node_field::state(node, compact).trim_end_matches('*').to_owned();
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
/// [`Failure`] when the controller does not answer, or a format is not known.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    check_states(&args.states)?;
    let pieces = args.pieces()?;
    args.repeat.run(screen, async || list(args, &pieces, server, screen).await).await
}

/// Words that `--states` knows besides those that nodes are shown with.
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
        Err(refused.hint(format!("states are {}", STATES.join(", "))))
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
    let known: Vec<&NodeView> = nodes.nodes.iter().filter(|node| args.takes(node)).collect();
    if args.json {
        let named = |node: &&&NodeView| {
            let of = |queue: &Queue| args.partitions.contains(&queue.name) && holds(queue, node);
            args.partitions.is_empty() || partitions(&queues).any(of)
        };
        let shown = known.iter().filter(named).map(|node| json_node::node(node, &queues));
        return json::print(screen, "nodes", shown.collect());
    }
    let zone: &TimeZone = &screen.zone;
    let is_shown =
        |queue: &&Queue| args.partitions.is_empty() || args.partitions.contains(&queue.name);
    let parts: Vec<Part<'_>> = match args.reasons {
        true => vec![Part { queue: None, nodes: known }],
        false => partitions(&queues).filter(is_shown).map(|queue| part(queue, &known)).collect(),
    };
    // A partition without nodes of that kind is worth a line where nothing was asked for.
    let all = args.nodes.is_none() && args.states.is_empty() && !args.dead && !args.responding;
    let mut lines = match args.by_node {
        true => each(&parts, zone),
        false => rows::grouped(pieces, &parts, zone, (args.exact, all && !args.reasons)),
    };
    if args.by_node {
        lines.sort_by_key(|line| line.nodes.first().map(|node| &node.name));
    }
    if args.long && !args.no_header {
        screen.line(&calendar::heading(&screen.zone))?;
    }
    let title = |field: &&'static NodeField| field.title.to_owned();
    let titled = (!args.no_header).then_some(&title as &dyn Fn(&&'static NodeField) -> String);
    screen.print(&format::text(pieces, titled, &lines, |field, line| (field.value)(line)))?;
    Ok(OK)
}

/// Queues that jobs are in: those that have none below them.
pub fn partitions(list: &QueueList) -> impl Iterator<Item = &Queue> {
    let has_children =
        |queue: &Queue| list.queues.iter().any(|other| other.parent.as_ref() == Some(&queue.name));
    list.queues.iter().filter(move |queue| !has_children(queue))
}

/// Is this node one of the queue's? A queue that names none has all of them.
#[must_use]
pub fn holds(queue: &Queue, node: &NodeView) -> bool {
    queue.nodes.is_empty() || queue.nodes.contains(&node.name)
}

/// The nodes of a partition.
fn part<'a>(queue: &'a Queue, known: &[&'a NodeView]) -> Part<'a> {
    let nodes = known.iter().filter(|node| holds(queue, node)).copied();
    Part { queue: Some(queue), nodes: nodes.collect() }
}

/// A line for each node and partition.
fn each<'a>(parts: &[Part<'a>], zone: &'a TimeZone) -> Vec<Line<'a>> {
    let lines = parts.iter().flat_map(|Part { queue, nodes }| {
        nodes.iter().map(|node| Line { queue: *queue, nodes: vec![*node], zone })
    });
    lines.collect()
}
