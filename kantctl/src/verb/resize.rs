//! `kantctl resize`: a job that runs gives nodes up and runs on with the others.

use super::steer;
use crate::failure::Failure;
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::server::{Again, Server};
use crate::submission::value::read_count;
use common::job::JobSize;
use common::unit::{Nodes, Tasks};
use common::wire::api::ResizeRequest;

const EXAMPLES: &str = "\
Examples:
  kantctl resize 42 --nodes 2
  kantctl resize 42 --tasks 16

The job keeps its first nodes, and no task's rank changes. What runs on the others gets SIGTERM, and
SIGKILL when the grace is over; then they are free for others. The job is told: the file that
KANT_ENV_FILE names on each of its nodes has its nodes and tasks as they are now, and it gets the
signal that it asked for with --resize-signal. Of a range of tasks or nodes it keeps the smaller
number at least. A job that runs can be made smaller, not larger.";

/// Arguments of `resize`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("size").required(true).args(["tasks", "nodes"])))]
pub struct Args {
    /// Jobs that run: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// It keeps so many tasks: those of its first nodes
    #[arg(short = 'n', long, visible_alias = "ntasks", value_name = "COUNT",
          value_parser = read_count, allow_negative_numbers = true)]
    pub tasks: Option<u32>,
    /// It keeps so many nodes
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

/// Gives jobs another size.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let keys = keys::all(&args.keys);
    let unsaid = || Failure::usage(anyhow::anyhow!("say --tasks or --nodes"));
    let wish = ResizeRequest { size: args.size().ok_or_else(unsaid)? };
    let wish = serde_json::to_value(wish).map_err(Failure::usage)?;
    let path = |key: &str| format!("/v1/jobs/{key}/resize");
    steer::each(&keys, path, (&wish, Again::IfUnanswered), "Resized", server, screen).await
}
