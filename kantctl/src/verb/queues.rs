//! `kantctl queues`: the tree of queues, with policies, quotas, limits and what is used of them.

use super::ask::{self, Answer};
use crate::failure::{Failure, OK};
use crate::output::{Screen, queues};
use crate::server::Server;
use common::wire::api::QueueList;

const EXAMPLES: &str = "\
Examples:
  kantctl queues
  kantctl queues --json
  kantctl show queue main

Columns:
  POLICY     what happens behind the first job without room (wait: nobody passes; pass: whoever fits
             does; backfill: whoever delays no promise, of which there are so many), and the order
  PLACEMENT  which nodes a job gets of those that hold it
  QUOTA      used of what the queue is owed; more is borrowed, unless it is isolated
  LIMITS     bounds of the queue, of one user and of one account in it
  RUN, WAIT  jobs of the queue and of all below it
  TIME       the longest time limit
A queue stands below the one whose quota and limits hold for it too; * marks the default queue.
`kantctl show queue` and --json tell the rest: defaults, borrowing, who may use it, who yields.";

/// Arguments of `queues`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Lists queues.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<QueueList> = ask::get(server, "/v1/queues").await?;
    if screen.json {
        screen.answer(&answer.raw)?;
    } else {
        screen.table(&queues::table(&answer.typed))?;
    }
    Ok(OK)
}
