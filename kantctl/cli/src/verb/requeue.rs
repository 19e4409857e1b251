//! `kantctl requeue`: starts jobs again from the beginning, as a new attempt.

use super::bulk_action;
use crate::failure::Failure;
use crate::keys::Keys;
use crate::output::Screen;
use crate::server::{Retry, Server};

const EXAMPLES: &str = "\
Examples:
  kantctl requeue 42
  kantctl requeue 42_[4-9]";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
}

/// Requeues jobs.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    bulk_action::act_on_jobs(&args.keys, "requeue", Retry::IfUnsent, "Requeued", server, screen)
        .await
}
