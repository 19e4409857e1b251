//! `kantctl metrics`: how well the cluster's GPUs are used, and how long jobs wait.

use super::ask::{self, Answer};
use crate::failure::{Failure, OK};
use crate::output::{Screen, metrics};
use crate::server::Server;
use common::wire::api::MetricsView;

const EXAMPLES: &str = "\
Examples:
  kantctl metrics
  kantctl metrics --json

What they mean (after Kant, arXiv 2510.01256; GPUs that are healthy, on nodes that are not down):
  GAR   GPU allocation ratio: GPUs in use of those there are, now
  SOR   scheduling occupancy ratio: GPU-time held of GPU-time there was
  GFR   GPU node fragmentation ratio: nodes with some but not all GPUs in use, of all nodes
  FR_8  of the free GPUs, those that no further 8-GPU job on one node can have
  Waits are from submission to the first start, by the number of GPUs of the whole job. NODES/MIN
  and GROUPS/MIN say on how many more nodes and leaf groups than the fewest possible jobs of a size
  ran, on average: 1.00 is best.";

/// Arguments of `metrics`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Shows the metrics.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<MetricsView> = ask::get(server, "/v1/metrics").await?;
    if screen.json {
        screen.answer(&answer.raw)?;
        return Ok(OK);
    }
    screen.record(&metrics::record(&answer.typed, &screen.zone))?;
    screen.line("")?;
    screen.table(&metrics::table(&answer.typed))?;
    Ok(OK)
}
