//! `kantctl status`: how the controller is.

use super::ask::Answer;
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::record::Record;
use crate::server::Server;
use common::wire::api::Status;
use serde_json::Value;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  kantctl status
  kantctl status --json";

/// Arguments of `status`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Shows the controller's status. Does not wait for one to come: whether it is there is the
/// question.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let raw: Value = server.get_for("/v1/status", Duration::ZERO).await?;
    let answer: Answer<Status> = raw.try_into()?;
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
