//! `kantctl share`: fair shares of the queues, their use, and borrowing between them.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, share};
use crate::server::Server;
use common::wire::api::ShareList;

const EXAMPLES: &str = "\
Examples:
  kantctl share
  kantctl share --json

Columns, for each queue including its child queues:
  OF       the resource: GPUs, GPUs of one kind, CPUs, memory; omitted if there are only GPUs
  WEIGHT   weight against its sibling queues when capacity beyond the quotas is divided
  QUOTA    capacity that the queue is always entitled to; -: not configured
  HELD     used by its jobs, or kept for a job for which others are preempted
  WAITING  requested by its waiting jobs that may start
  SHARE    its current fair share: the requested part of its quota, and its part of the rest
  LENT     part of its quota that other queues use
  BORROWED FROM  its use beyond its quota, and the queues whose unused quota it borrows; rest:
           capacity beyond all quotas. Queues below their share may reclaim it
  USED     its recent use, as a fraction of the capacity; high use reduces its part of the rest
  PRIO     queues with a higher priority get the rest first

Without `fair_sharing` in kantctld.toml there are no fair shares, and SHARE, WEIGHT, PRIO and USED
are omitted. --json also shows the most that a queue may use, and its use that is not preemptible.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Shows the shares of queues.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<ShareList> = fetch::get(server, "/v1/share").await?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
    } else {
        screen.print_table(&share::table(&answer.typed))?;
    }
    Ok(OK)
}
