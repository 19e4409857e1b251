//! `kantctl drain`: stops new jobs from starting on nodes; running jobs continue.

use super::bulk_action::{self, Action, NODES};
use crate::failure::Failure;
use crate::output::Screen;
use crate::server::{Retry, Server};
use anyhow::Context;
use common::id::NodeName;
use common::job::attributes::Hosts;
use common::wire::api::DrainRequest;

const EXAMPLES: &str = "\
Examples:
  kantctl drain g-001 --reason 'GPU 3 lost its link'
  kantctl drain g-[001-004] -r 'new driver on Monday'";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Nodes: g-001, g-[001-004]
    #[arg(required = true, value_name = "NODE")]
    pub nodes: Vec<Hosts>,
    /// Reason, as shown by `kantctl nodes`
    #[arg(short, long, value_name = "TEXT")]
    pub reason: String,
}

/// Drains nodes.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let nodes: Vec<&NodeName> = args.nodes.iter().flat_map(|hosts| &hosts.0).collect();
    let request = DrainRequest { reason: args.reason.clone() };
    let request = serde_json::to_value(request).context("failed to write JSON")?;
    let path = |name: &str| format!("/v1/nodes/{name}/drain");
    let action =
        Action { body: &request, retry: Retry::IfUnanswered, done: "Drained", changed: NODES };
    bulk_action::act_on_each(&nodes, path, action, server, screen).await
}
