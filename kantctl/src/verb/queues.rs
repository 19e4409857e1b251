//! `kantctl queues`: the queues there are, with their limits.

use super::ask::{self, Answer};
use crate::failure::{Failure, OK};
use crate::output::{Screen, queues};
use crate::server::Server;
use common::wire::api::QueueList;

const EXAMPLES: &str = "\
Examples:
  kantctl queues
  kantctl queues --json";

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
        screen.table(&queues::table(&answer.typed.queues))?;
    }
    Ok(OK)
}
