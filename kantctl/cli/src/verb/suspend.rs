//! `kantctl suspend`: stops the processes of running jobs without ending them.

use super::bulk_action;
use crate::failure::Failure;
use crate::keys::Keys;
use crate::output::Screen;
use crate::server::{Retry, Server};

const EXAMPLES: &str = "\
Examples:
  kantctl suspend 42
  kantctl suspend 42_[4-9] 50
  kantctl resume 42

Operators only. A suspended job keeps its allocation: no other job can use its CPUs and GPUs, and
its memory and GPU memory stay in use. Its processes and its time limit are stopped; a deadline is
not.";

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
    bulk_action::act_on_jobs(
        &args.keys,
        "suspend",
        Retry::IfUnanswered,
        "Suspended",
        server,
        screen,
    )
    .await
}
