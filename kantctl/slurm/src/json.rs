//! The output of Slurm's commands with --json: that of Slurm 22.05.

use cli::failure::{Failure, OK};
use cli::output::{Screen, user_names::user};
use common::wire::api::{NodeView, QueueList};
use serde_json::Value;
use slurm_json::frame::{Asked, answer, list};
use slurm_json::node::NodeContext;
use slurm_json::{Version, node};

/// The version that Slurm's commands write.
pub const VERSION: Version = Version::V38;

/// Prints `what` under `name`, in Slurm's frame.
///
/// # Errors
/// [`Failure`] when writing to stdout fails.
pub fn print(screen: &Screen, name: &str, what: Vec<Value>) -> Result<u8, Failure> {
    screen.print_answer_json(&answer(VERSION, &Asked::default(), list(name, what)))?;
    Ok(OK)
}

/// A node.
#[must_use]
pub fn node(node: &NodeView, queues: &QueueList) -> Value {
    let drained_by = node.drain.as_ref().map(|drain| user(drain.by.0));
    let drained_by = drained_by.as_deref();
    node::node(&NodeContext { node, queues, cluster: "", drained_by }, VERSION)
}
