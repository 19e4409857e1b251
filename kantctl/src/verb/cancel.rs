//! `kantctl cancel`: ends jobs, running or not.

use super::filter::Filter;
use super::steer;
use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{Again, Server};
use common::job::Phase;

const EXAMPLES: &str = "\
Examples:
  kantctl cancel 42
  kantctl cancel 42_[4-9] 50
  kantctl cancel --me -t PENDING
  kantctl cancel $(kantctl submit --parsable --wrap 'sleep 600')";

/// Arguments of `cancel`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]; or say which below
    #[arg(value_name = "JOB")]
    pub keys: Vec<Keys>,
    #[command(flatten)]
    pub filter: Filter,
}

/// Cancels jobs: those that wait before those that run, for what one of these leaves another of
/// them would get.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut keys = keys::all(&args.keys);
    if keys.is_empty() && args.filter.is_empty() {
        let missing =
            Failure::usage(anyhow::anyhow!("a job, or words that say which, are required"));
        return Err(missing.hint(
            "name jobs (`kantctl cancel 42 50_7`), or say which: --me, --user, --queue, --node, \
             --state, --name",
        ));
    }
    if !args.filter.is_empty() {
        let named = keys;
        let mut found = args.filter.ask(server, false).await?.typed.jobs;
        found.sort_by_key(|job| job.phase != Phase::Pending);
        let meant = |job: common::id::JobKey| {
            let whole = common::id::JobKey::single(job.job);
            named.is_empty() || named.contains(&job) || named.contains(&whole)
        };
        keys = found.into_iter().map(|job| job.key).filter(|key| meant(*key)).collect();
        if keys.is_empty() && !screen.json {
            note("no such jobs");
            return Ok(OK);
        }
    }
    steer::jobs(&keys, "cancel", Again::IfUnanswered, "Cancelled", server, screen).await
}
