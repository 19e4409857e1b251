//! `kantctl queues`: the tree of queues, with policies, quotas, limits and use.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, queues};
use crate::server::Server;
use common::wire::api::QueueList;

const EXAMPLES: &str = "\
Examples:
  kantctl queues
  kantctl queues --json
  kantctl show queue main

Columns:
  POLICY     what may start before the first job that does not fit (wait: nothing; pass: any job
             that fits; backfill: jobs that delay none of the planned starts, with their number), and
             the order of jobs
  PLACEMENT  how nodes are chosen among those that fit
  QUOTA      used / quota; jobs above the quota borrow, unless the queue is isolated
  LIMITS     limits of the queue, and of each user and each account in it
  RUN, WAIT  running and waiting jobs, including those of child queues
  TIME       the longest time limit

Quotas and limits of a queue also apply to the queues indented below it; * marks the default queue.
`kantctl show queue` and --json show the rest: defaults, borrowing, access, preemption.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Lists queues.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<QueueList> = fetch::get(server, "/v1/queues").await?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
    } else {
        screen.print_table(&queues::table(&answer.typed))?;
    }
    Ok(OK)
}
