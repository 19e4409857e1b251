//! `kantctl nodes`: the nodes of the cluster, and their allocated resources.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, nodes};
use crate::server::Server;
use common::id::NodeName;
use common::job::attributes::Hosts;
use common::wire::api::{NodeList, NodeView};
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl nodes
  kantctl nodes g-[001-004]
  kantctl nodes -t down,drained
  kantctl nodes --json";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only these nodes, e.g. g-[001-004]
    #[arg(value_name = "NODE")]
    pub nodes: Vec<Hosts>,
    /// Only nodes in these states: idle, mixed, allocated, draining, drained, down
    #[arg(short = 't', long = "state", visible_alias = "states", value_name = "STATE",
          value_delimiter = ',',
          value_parser = ["idle", "mixed", "allocated", "draining", "drained", "down"],
          ignore_case = true, hide_possible_values = true)]
    pub states: Vec<String>,
}

impl Args {
    fn selects(&self, node: &NodeView) -> bool {
        let named = self.nodes.iter().any(|hosts| hosts.0.contains(&node.name));
        let word = node.status.word();
        (self.nodes.is_empty() || named)
            && (self.states.is_empty() || self.states.iter().any(|s| s.eq_ignore_ascii_case(word)))
    }
}

/// Lists nodes.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut answer: Answer<NodeList> = fetch::get(server, "/v1/nodes").await?;
    let known = &answer.typed.nodes;
    let is_known = |name: &&NodeName| known.iter().any(|node| node.name == **name);
    let mut named = args.nodes.iter().flat_map(|hosts| &hosts.0);
    if let Some(name) = named.find(|name| !is_known(name)) {
        let unknown = Failure::from_message(format!("there is no node {name}"));
        return Err(unknown.with_hint("`kantctl nodes` lists them"));
    }
    let keep: Vec<bool> = answer.typed.nodes.iter().map(|node| args.selects(node)).collect();
    if screen.json {
        if let Some(nodes) = answer.raw.get_mut("nodes").and_then(Value::as_array_mut) {
            let mut kept = keep.iter();
            nodes.retain(|_| kept.next() == Some(&true));
        }
        screen.print_answer_json(&answer.raw)?;
    } else {
        let mut kept = keep.iter();
        answer.typed.nodes.retain(|_| kept.next() == Some(&true));
        screen.print_table(&nodes::table(&answer.typed.nodes, &screen.zone))?;
    }
    Ok(OK)
}
