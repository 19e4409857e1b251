//! `kantctl resume`: lets jobs start on drained nodes again.

use super::steer;
use crate::failure::Failure;
use crate::output::Screen;
use crate::server::{Again, Server};
use crate::submission::value::Hosts;
use common::id::NodeName;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl resume g-001
  kantctl resume g-[001-004]";

/// Arguments of `resume`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    /// Nodes: g-001, g-[001-004]
    #[arg(required = true, value_name = "NODE")]
    pub nodes: Vec<Hosts>,
}

/// Resumes nodes.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let nodes: Vec<&NodeName> = args.nodes.iter().flat_map(|hosts| &hosts.0).collect();
    let path = |name: &str| format!("/v1/nodes/{name}/resume");
    steer::each(&nodes, path, (&Value::Null, Again::IfUnanswered), "Resumed", server, screen).await
}
