//! `kantctl queue`: the jobs there are.

use super::filter::Filter;
use crate::failure::{Failure, OK};
use crate::output::{Screen, jobs};
use crate::server::Server;

const EXAMPLES: &str = "\
Examples:
  kantctl queue
  kantctl queue --me --all
  kantctl queue -t PENDING -p gpu
  kantctl queue --json";

/// Arguments of `queue`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    #[command(flatten)]
    pub filter: Filter,
    /// Finished jobs too, as long as the controller keeps them
    #[arg(short, long)]
    pub all: bool,
}

/// Lists jobs.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer = args.filter.ask(server, args.all || !args.filter.states.is_empty()).await?;
    if screen.json {
        screen.answer(&answer.raw)?;
    } else {
        screen.table(&jobs::table(&answer.typed.jobs, answer.typed.as_of, &screen.zone))?;
    }
    Ok(OK)
}
