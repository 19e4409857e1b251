//! `kantctl resize`: shrinks a running job to fewer nodes.

use super::bulk_action::{self, Action, JOBS};
use crate::failure::Failure;
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::server::{Retry, Server};
use common::job::JobSize;
use common::job::attributes::read_count;
use common::unit::{Nodes, Tasks};
use common::wire::api::ResizeRequest;

const EXAMPLES: &str = "\
Examples:
  kantctl resize 42 --nodes 2
  kantctl resize 42 --tasks 16

The job keeps its first nodes, and the ranks of tasks do not change. Processes on the other nodes
get SIGTERM, and SIGKILL after the grace period; then these nodes are released. The job is
notified: the file named by KANT_ENV_FILE on each of its nodes is updated with its current nodes
and tasks, and the job gets the signal it requested with --resize-signal. A job with a range of
tasks or nodes cannot shrink below the lower bound. A running job can only be made smaller, not
larger.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("size").required(true).args(["tasks", "nodes"])))]
pub struct Args {
    /// Running jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Number of tasks to keep: those on its first nodes
    #[arg(short = 'n', long, visible_alias = "ntasks", value_name = "COUNT",
          value_parser = read_count, allow_negative_numbers = true)]
    pub tasks: Option<u32>,
    /// Number of nodes to keep
    #[arg(short = 'N', long, value_name = "COUNT", value_parser = read_count,
          allow_negative_numbers = true)]
    pub nodes: Option<u32>,
}

impl Args {
    fn size(&self) -> Option<JobSize> {
        let tasks = self.tasks.map(|tasks| JobSize::Tasks(Tasks(tasks)));
        tasks.or(self.nodes.map(|nodes| JobSize::Nodes(Nodes(nodes))))
    }
}

/// Resizes jobs.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let keys = keys::flatten(&args.keys);
    let missing = || Failure::usage(anyhow::anyhow!("--tasks or --nodes is required"));
    let request = ResizeRequest { size: args.size().ok_or_else(missing)? };
    let request = serde_json::to_value(request).map_err(Failure::usage)?;
    let path = |key: &str| format!("/v1/jobs/{key}/resize");
    let action =
        Action { body: &request, retry: Retry::IfUnanswered, done: "Resized", changed: JOBS };
    bulk_action::act_on_each(&keys, path, action, server, screen).await
}
