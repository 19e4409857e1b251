//! `scontrol update`: changes jobs and reservations, drains and resumes nodes. A field that cannot
//! be changed is refused by name.

use super::{Args, jobs, reservation};
use anyhow::Context;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::server::{Retry, Server};
use cli::submission::what_if::patch_of;
use cli::verb::update::{is_relative, to_absolute_limit};
use common::hostlist::expand;
use common::id::JobKey;
use common::job::attributes::{Attribute, ROWS, Row, read_count};
use common::job::{JobSize, Phase};
use common::unit::Nodes;
use common::wire::api::{DrainRequest, JobList, ResizeRequest, UpdateRequest};
use serde_json::Value;

/// Changes the object that the first field names.
///
/// # Errors
/// [`Failure`] when a field is unknown, or the controller refuses.
pub(super) async fn run(
    args: &Args,
    words: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let mut fields: Vec<(String, &str)> = Vec::new();
    for word in words {
        // `scontrol update job 42 TimeLimit=60` is accepted as well.
        match (word.split_once('='), fields.last()) {
            (Some((name, value)), _) => fields.push((name.to_ascii_lowercase(), value)),
            (None, None) => fields.push((word.to_ascii_lowercase(), "")),
            (None, Some((_, ""))) => {
                if let Some(last) = fields.last_mut() {
                    last.1 = word;
                }
            }
            (None, Some(_)) => {
                return Err(Failure::usage(anyhow::anyhow!("`{word}`: write NAME=VALUE")));
            }
        }
    }
    let Some(((what, which), rest)) = fields.split_first() else {
        return Err(Failure::usage(anyhow::anyhow!(
            "`scontrol update` needs an argument: see `scontrol --help`"
        )));
    };
    match what.as_str() {
        "jobid" | "job" => job(which, rest, server).await,
        "nodename" | "node" => node(which, rest, server).await,
        "reservationname" | "reservation" | "res" => {
            let named = if which.is_empty() { rest } else { fields.as_slice() };
            reservation::update(args, named, server, screen).await
        }
        other => Err(Failure::usage(anyhow::anyhow!(
            "`scontrol update {other}` is not supported in this release: jobs (JobId=), nodes \
             (NodeName=) and reservations (ReservationName=) can be updated"
        ))),
    }
}

/// The attribute that a field of scontrol changes.
fn attribute(field: &str) -> Option<Attribute> {
    let is_named = |row: &&Row| row.slurm.scontrol.iter().any(|n| n.eq_ignore_ascii_case(field));
    ROWS.iter().find(is_named).map(|row| row.attribute)
}

/// The fields that can be changed.
fn field_names() -> String {
    let names = ROWS.iter().filter_map(|row| row.slurm.scontrol.first().copied());
    names.collect::<Vec<_>>().join(", ")
}

async fn job(which: &str, fields: &[(String, &str)], server: &Server) -> Result<u8, Failure> {
    let read = |(field, value): &(String, _)| {
        let refused = || {
            let text = format!("{field} cannot be changed: fields are {}", field_names());
            Failure::usage(anyhow::Error::msg(text))
        };
        let attribute = attribute(field).ok_or_else(refused)?;
        // In Slurm, an empty value means the default.
        let value = match (attribute, *value) {
            (Attribute::Nice, "") => "100",
            (_, value) => value,
        };
        Ok::<_, Failure>((attribute, value))
    };
    let changes: Vec<(Attribute, &str)> = fields.iter().map(read).collect::<Result<_, _>>()?;
    if changes.is_empty() {
        return Err(Failure::usage(anyhow::anyhow!("no change given: write NAME=VALUE")));
    }
    for key in jobs(&[which])? {
        if let [(Attribute::Nodes, count)] = changes.as_slice()
            && resize(key, count, server).await?
        {
            continue;
        }
        let mut changes = changes.clone();
        let given =
            changes.iter_mut().find(|(key, time)| *key == Attribute::Time && is_relative(time));
        let time = match &given {
            Some((_, time)) => to_absolute_limit(time, key, server).await?,
            None => String::new(),
        };
        if let Some((_, given)) = given {
            *given = &time;
        }
        let patch = patch_of(changes.into_iter()).map_err(Failure::usage)?;
        let request = UpdateRequest { patch };
        let path = format!("/v1/jobs/{key}/update");
        server.post::<_, Value>(&path, &request, Retry::IfUnanswered).await?;
    }
    Ok(OK)
}

/// Shrinks a running job (man scontrol, NumNodes). Returns whether the job was running.
async fn resize(key: JobKey, count: &str, server: &Server) -> Result<bool, Failure> {
    let list: JobList = server.get(&format!("/v1/jobs/{key}")).await?;
    if !list.jobs.iter().any(|job| job.phase == Phase::Running) {
        return Ok(false);
    }
    let nodes = Nodes(read_count(count).map_err(Failure::usage)?);
    let request = ResizeRequest { size: JobSize::Nodes(nodes) };
    let path = format!("/v1/jobs/{key}/resize");
    server.post::<_, Value>(&path, &request, Retry::IfUnanswered).await?;
    Ok(true)
}

async fn node(which: &str, fields: &[(String, &str)], server: &Server) -> Result<u8, Failure> {
    let (mut state, mut reason) = (None, None);
    for (field, value) in fields {
        match field.as_str() {
            "state" => state = Some(value.to_ascii_uppercase()),
            "reason" => reason = Some((*value).to_owned()),
            other => {
                return Err(Failure::usage(anyhow::anyhow!(
                    "{other} cannot be changed: fields are State and Reason"
                )));
            }
        }
    }
    let (verb, request) = match (state.as_deref(), reason) {
        (Some("DRAIN" | "DOWN" | "FAIL"), None) => {
            let why = "a reason is needed: Reason=\"why\"";
            return Err(Failure::usage(anyhow::anyhow!(why)));
        }
        (Some("DRAIN"), Some(reason)) => {
            let request = serde_json::to_value(DrainRequest { reason });
            ("drain", request.context("failed to write the request")?)
        }
        (Some("RESUME" | "UNDRAIN" | "IDLE"), _) => ("resume", Value::Null),
        _ => {
            return Err(Failure::usage(anyhow::anyhow!(
                "write State=DRAIN Reason=\"why\", or State=RESUME"
            )));
        }
    };
    for name in expand(which).map_err(Failure::usage)? {
        let path = format!("/v1/nodes/{name}/{verb}");
        server.post::<Value, Value>(&path, &request, Retry::IfUnanswered).await?;
    }
    Ok(OK)
}
