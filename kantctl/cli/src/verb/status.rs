//! `kantctl status`: the status of the controller.

use crate::failure::{Failure, OK};
use crate::fetch::Answer;
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

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

/// Shows the controller's status, without retries: whether it answers is part of its status.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(_: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let raw: Value = server.get_retrying("/v1/status", Duration::ZERO).await?;
    let answer: Answer<Status> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
    } else {
        screen.print_record(&record_text(&answer.typed))?;
    }
    Ok(OK)
}

fn record_text(status: &Status) -> String {
    let mut record = Record::default();
    let role = match (status.leader, status.led_by) {
        (true, _) => "leads".to_owned(),
        (false, Some(id)) => format!("follows controller {id}"),
        (false, None) => "follows no leader: it knows of none".to_owned(),
    };
    record.fact("cluster", &status.cluster);
    record.fact("controller", format!("kantctld {}, {role}", status.version));
    record.fact("log", format!("entry {} applied", status.applied));
    let (pending, running) = (status.jobs_pending, status.jobs_running);
    record.fact(
        "jobs",
        format!("{pending} waiting, {running} running, {} finished", status.jobs_done),
    );
    let (connected, nodes) = (status.nodes_connected, status.nodes);
    let nodes = match status.leader || status.led_by.is_some() {
        true => format!("{connected} of {nodes} connected"),
        // The number of connections is the last leader's.
        false => format!("{nodes} known, which connect to the next leader"),
    };
    record.fact("nodes", nodes);
    record.add_optional_fact("audit", status.audit_trouble.as_ref());
    record.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::ControllerId;

    #[test]
    fn each_controller_shows_the_leader() {
        let mut status = Status {
            cluster: "alpha".to_owned(),
            version: "0".to_owned(),
            leader: true,
            led_by: Some(ControllerId(1)),
            applied: 7,
            jobs_pending: 0,
            jobs_running: 1,
            jobs_done: 0,
            nodes_connected: 1,
            nodes: 1,
            audit_trouble: None,
        };
        let text = |status: &Status| anstream::adapter::strip_str(&record_text(status)).to_string();
        assert!(text(&status).contains("leads\n"), "{}", text(&status));
        assert!(!text(&status).contains("audit"), "{}", text(&status));
        status.audit_trouble = Some("the disk is full; 3 lines wait".to_owned());
        assert!(text(&status).contains("the disk is full; 3 lines wait"), "{}", text(&status));
        status.leader = false;
        assert!(text(&status).contains("follows controller 1"), "{}", text(&status));
        status.led_by = None;
        assert!(text(&status).contains("follows no leader"), "{}", text(&status));
        assert!(!text(&status).contains("of 1 connected"), "{}", text(&status));
    }
}
