//! `kantctl status`: how the controller is.

use super::ask::{self, Answer};
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::record::Record;
use crate::server::Server;
use common::wire::api::Status;

const EXAMPLES: &str = "\
Examples:
  kantctl status
  kantctl status --json";

/// Arguments of `status`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Shows the controller's status.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let answer: Answer<Status> = ask::get(server, "/v1/status").await?;
    if screen.json {
        screen.answer(&answer.raw)?;
    } else {
        screen.print(&told(&answer.typed))?;
    }
    Ok(OK)
}

fn told(status: &Status) -> String {
    let mut record = Record::default();
    let role = if status.leader { "leads" } else { "follows" };
    record.fact("cluster", &status.cluster);
    record.fact("controller", format!("kantctld {}, {role}", status.version));
    record.fact("log", format!("entry {}", status.applied));
    let (pending, running) = (status.jobs_pending, status.jobs_running);
    record.fact("jobs", format!("{pending} wait, {running} run, {} are over", status.jobs_done));
    record.fact("nodes", format!("{} of {} connected", status.nodes_connected, status.nodes));
    record.text()
}
