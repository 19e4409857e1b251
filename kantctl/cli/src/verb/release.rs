//! `kantctl release`: lets held jobs start.

use super::bulk_action;
use crate::failure::Failure;
use crate::keys::Keys;
use crate::output::Screen;
use crate::server::{Retry, Server};

const EXAMPLES: &str = "\
Examples:
  kantctl release 42
  kantctl release $(kantctl submit --parsable --hold --wrap hostname)";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
}

/// Releases jobs.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    bulk_action::act_on_jobs(&args.keys, "release", Retry::IfUnanswered, "Released", server, screen)
        .await
}
