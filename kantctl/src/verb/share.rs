//! `kantctl share`: who is owed how much, who has it, and who borrows from whom.

use super::ask::{self, Answer};
use crate::failure::{Failure, OK};
use crate::output::{Screen, share};
use crate::server::Server;
use common::wire::api::ShareList;

const EXAMPLES: &str = "\
Examples:
  kantctl share
  kantctl share --json

Columns, of each queue with all queues below it:
  OF       what is counted: GPUs, those of one kind, CPUs, memory; left out where it is GPUs alone
  WEIGHT   its part, against the queues beside it, of what nobody is owed
  QUOTA    what it is owed, whoever else wants it; -: nothing is said of that
  HELD     what its jobs have, or what is kept for one that others make way for
  WAITING  what its jobs ask for that wait and may start
  SHARE    what it is due now: its quota as far as it is wanted, and its part of the rest
  LENT     of its quota, what others hold
  BORROWED FROM  what it holds beyond its quota, and who lends it: queues that do not use theirs;
           rest: what nobody is owed. Queues below their share may take it back
  USED     what it used lately, of all there was; who used much gets less of the rest
  PRIO     of the rest, a queue with a higher priority is served first
Without `fair_sharing` in kantctld.toml nobody is due a share, and SHARE, WEIGHT, PRIO and USED are
left out. --json tells also the most a queue may hold, and what of it yields to nobody.";

/// Arguments of `share`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Shows how queues stand.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<ShareList> = ask::get(server, "/v1/share").await?;
    if screen.json {
        screen.answer(&answer.raw)?;
    } else {
        screen.table(&share::table(&answer.typed))?;
    }
    Ok(OK)
}
