//! Slurm's REST API on a controller that does not lead.

use super::ask_on;
use anyhow::{Context as _, ensure};
use e2e::Controllers;
use serde_json::{Value, json};
use std::os::unix::net::UnixStream;

#[test]
fn a_controller_that_does_not_lead_forwards_requests_and_answers_ping_itself() -> anyhow::Result<()>
{
    let controllers = Controllers::three()?;
    let (leader, _) = controllers.leader()?;
    let follower = ["a", "b", "c"].into_iter().find(|name| *name != leader);
    let follower = follower.context("one of three leads")?;
    let ask = |name: &str, line: &str, body: &str| -> anyhow::Result<(u16, Value)> {
        let stream = UnixStream::connect(&controllers.config(name)?.socket)?;
        ask_on(stream, line, "", body)
    };
    for (name, mode) in [(leader.as_str(), "primary"), (follower, "backup")] {
        let (_, ping) = ask(name, "GET /slurm/v0.0.42/ping", "")?;
        ensure!(ping["pings"][0]["mode"] == mode, "{name}: {ping}");
    }
    let job = json!({ "current_working_directory": "/", "hold": true, "name": "forwarded" });
    let body = json!({ "script": "#!/bin/sh\n", "job": job }).to_string();
    let (status, answer) = ask(follower, "POST /slurm/v0.0.42/job/submit", &body)?;
    ensure!(status == 200, "{status} {answer}");
    let path = format!("/slurm/v0.0.42/job/{}", answer["job_id"]);
    let (_, answer) = ask(follower, &format!("GET {path}"), "")?;
    ensure!(answer["jobs"][0]["name"] == "forwarded", "{answer}");
    let (status, answer) = ask(follower, &format!("DELETE {path}"), "")?;
    ensure!(status == 200, "{status} {answer}");
    // A refusal of the leader is passed on as it is.
    let (status, answer) = ask(follower, "GET /slurm/v0.0.42/job/999", "")?;
    let errors = answer["errors"].as_array().context("errors")?;
    ensure!(status == 404 && errors.len() == 1, "{status} {answer}");
    ensure!(errors[0]["source"] == "kant: unknown_job", "{answer}");
    Ok(())
}
