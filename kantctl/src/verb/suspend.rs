//! `kantctl suspend`: lets running jobs stand still where they are.

use super::steer;
use crate::failure::Failure;
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::server::{Again, Server};

const EXAMPLES: &str = "\
Examples:
  kantctl suspend 42
  kantctl suspend 42_[4-9] 50
  kantctl resume 42

For operators. A suspended job keeps all that it was given: its CPUs and GPUs are nobody else's,
what it holds in memory and in the GPUs' memory stays there. Its processes stand still, and its
time limit with them; a deadline does not.";

/// Arguments of `suspend`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
}

/// Suspends jobs.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let keys = keys::all(&args.keys);
    steer::jobs(&keys, "suspend", Again::IfUnanswered, "Suspended", server, screen).await
}
