//! `kantctl metrics`: utilization of the cluster's GPUs, and waiting times of jobs.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, metrics};
use crate::server::Server;
use common::wire::api::MetricsView;

const EXAMPLES: &str = "\
Examples:
  kantctl metrics
  kantctl metrics --json

Metrics (after Kant, arXiv 2510.01256), over healthy GPUs on nodes that are not down:
  GAR   GPU allocation ratio: allocated GPUs / all GPUs, now
  SOR   scheduling occupancy rate: allocated GPU time / available GPU time
  GFR   GPU node fragmentation ratio: nodes with some but not all GPUs in use / all nodes
  FR_8  share of the free GPUs that cannot be used by single-node jobs of 8 GPUs
  Waiting times are from submission to the first start, by the number of GPUs of the whole job.
  NODES/MIN and GROUPS/MIN are the nodes and leaf groups that jobs of a size used, divided by the
  fewest possible, on average: 1.00 is best.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Shows the metrics.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<MetricsView> = fetch::get(server, "/v1/metrics").await?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    screen.print_record(&metrics::record(&answer.typed, &screen.zone))?;
    screen.print_line("")?;
    screen.print_table(&metrics::table(&answer.typed))?;
    Ok(OK)
}
