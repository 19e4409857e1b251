//! Submissions, changes and ends of jobs: Slurm's requests are read, and carried out by the
//! functions of the routes under /v1.

use super::super::audited::Remark;
use super::super::error::ApiFailure;
use super::super::origin::Origin;
use super::super::{jobs, signal, submit, submit_set, update};
use super::{Slurm, names};
use crate::core::Core;
use crate::disk_guard::DiskGuard;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use common::id::RequestKey;
use common::job::SignalNumber;
use common::wire::api::{
    Changed, JobSignalRequest, SetRequest, SubmitAnswer, SubmitRequest, UpdateRequest,
};
use common::wire::node::Reached;
use serde_json::Value;
use slurm_json::changed::{cancelled, submitted, updated};
use slurm_json::submission::Submission;
use slurm_json::{change, submission};
use std::collections::BTreeMap;
use std::sync::Arc;

/// POST /slurm/{version}/job/submit
pub async fn submit(
    State(core): State<Arc<Core>>,
    disk_guard: Extension<Arc<DiskGuard>>,
    slurm: Slurm,
    origin: Origin,
    remark: Extension<Remark>,
    body: Bytes,
) -> Result<Response, ApiFailure> {
    let read = submission::read(&json(&body)?, slurm.version);
    let Submission { mut asks, script, environment, user, group, warnings } =
        read.map_err(|error| bad_request(error.to_string()))?;
    check_owner(&slurm, user, group).await?;
    let (core, user, request_key) = (State(core), slurm.user.clone(), request_key()?);
    let Json(answer) = match asks.len() {
        1 => {
            let ask = asks.remove(0);
            let body = Ok(Json(SubmitRequest { request_key, ask, script, environment }));
            submit::submit(core, disk_guard, user, origin, remark, body).await?
        }
        _ => {
            let body = Ok(Json(SetRequest { request_key, asks, script, environment }));
            submit_set::submit(core, disk_guard, user, origin, remark, body).await?
        }
    };
    let SubmitAnswer { job, warning, .. } = answer;
    let fields = submitted(job, warning.as_deref(), slurm.version);
    Ok(slurm.answer_with(fields, &warnings))
}

/// A job belongs to the user of the token: another one cannot be asked for.
async fn check_owner(
    slurm: &Slurm,
    user: Option<String>,
    group: Option<String>,
) -> Result<(), ApiFailure> {
    let (uid, gid) = (slurm.user.uid, slurm.user.gid);
    let own = tokio::task::spawn_blocking(move || {
        let user_is_own =
            user.is_none_or(|name| name == uid.to_string() || name == names::user(uid));
        let group_is_own =
            group.is_none_or(|name| name == gid.to_string() || name == names::group(gid));
        (user_is_own, group_is_own)
    });
    // It fails only while the controller stops.
    let what = match own.await {
        Ok((true, true)) => return Ok(()),
        Ok((false, _)) => "user_id",
        Ok((true, false)) => "group_id",
        Err(_) => return Err(bad_request("the controller is stopping: try again".to_owned())),
    };
    let message = format!("{what}: a job belongs to the user of the token: leave it out");
    Err(ApiFailure::Http(net::Refusal::new(StatusCode::FORBIDDEN, "not_yours", message)))
}

/// POST /slurm/{version}/job/{job_id}
pub async fn update(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, id)): Path<(String, String)>,
    remark: Extension<Remark>,
    body: Bytes,
) -> Result<Response, ApiFailure> {
    let read = change::read(&json(&body)?, slurm.version);
    let change::Change { patch, hold, warnings } =
        read.map_err(|error| bad_request(error.to_string()))?;
    let user = slurm.user.clone();
    let mut changed = Changed { jobs: Vec::new() };
    if !patch.is_empty() {
        let body = Ok(Json(UpdateRequest { patch }));
        let (core, path) = (State(core.clone()), Path(id.clone()));
        changed = update::update(core, user.clone(), path, remark, body).await?.0;
    }
    match hold {
        Some(true) => changed = jobs::hold(State(core), user, Path(id)).await?.0,
        Some(false) => changed = jobs::release(State(core), user, Path(id)).await?.0,
        None => {}
    }
    Ok(slurm.answer_with(updated(&changed.jobs, slurm.version), &warnings))
}

/// DELETE /slurm/{version}/job/{job_id}: ends a job, or sends it the signal that the query names.
pub async fn cancel(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, id)): Path<(String, String)>,
    Query(query): Query<BTreeMap<String, String>>,
    remark: Extension<Remark>,
) -> Result<Response, ApiFailure> {
    let (user, path) = (slurm.user.clone(), Path(id));
    let named = query.get("signal").filter(|text| !text.is_empty());
    let signal = named.map(|text| text.parse::<SignalNumber>());
    let signal = signal.transpose().map_err(|error| bad_request(format!("signal: {error}")))?;
    let flags = query.get("flags").map(|flags| flags.to_ascii_uppercase()).unwrap_or_default();
    let to = recipients(&flags);
    let Json(Changed { jobs }) = match signal {
        // KILL ends the job, as with scancel.
        None | Some(SignalNumber(9)) => jobs::cancel(State(core), user, path).await?,
        Some(signal) => {
            let body = Ok(Json(JobSignalRequest { signal, to }));
            signal::signal(State(core), user, path, remark, body).await?
        }
    };
    Ok(slurm.answer(cancelled(&jobs, slurm.version)))
}

/// The processes that get a signal (man scancel, --batch and --full).
fn recipients(flags: &str) -> Reached {
    match flags {
        flags if flags.contains("BATCH_JOB") => Reached::Script,
        flags if flags.contains("FULL_JOB") => Reached::All,
        _ => Reached::Steps,
    }
}

fn json(body: &[u8]) -> Result<Value, ApiFailure> {
    serde_json::from_slice(body)
        .map_err(|error| bad_request(format!("failed to read the request as JSON: {error}")))
}

fn bad_request(message: String) -> ApiFailure {
    ApiFailure::Http(net::Refusal::new(StatusCode::BAD_REQUEST, "bad_ask", message))
}

/// A key of this request alone: Slurm's clients have none for a repetition.
fn request_key() -> Result<RequestKey, ApiFailure> {
    let random = net::new_token().map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiFailure::Http(net::Refusal::new(status, "no_randomness", error.to_string()))
    })?;
    Ok(RequestKey(net::secret_hash(&random).chars().take(32).collect()))
}
