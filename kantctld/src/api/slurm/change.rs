//! Submissions, changes and ends of jobs: Slurm's requests are read, and carried out by the
//! functions of the routes under /v1.

use super::super::audited::AuditRemark;
use super::super::error::ApiFailure;
use super::super::origin::Origin;
use super::super::right_check::check_action;
use super::super::{jobs, signal, submit, submit_set, update};
use super::filters::{Parameters, check};
use super::{Slurm, names};
use crate::core::Core;
use crate::disk_guard::DiskGuard;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use common::id::{ArrayIndex, JobKey, RequestKey};
use common::job::{Phase, SignalNumber};
use common::reason::Refusal;
use common::right::JobAction;
use common::wire::api::{
    Changed, JobSignalRequest, SetRequest, SubmitAnswer, SubmitRequest, UpdateRequest,
};
use common::wire::node::Reached;
use serde_json::Value;
use slurm_json::change::{self, Change, Hold};
use slurm_json::changed::{cancellation_answer, submission_answer, update_answer};
use slurm_json::submission::{self, Submission};
use std::collections::BTreeSet;
use std::sync::Arc;

/// POST /slurm/{version}/job/submit
pub async fn submit(
    State(core): State<Arc<Core>>,
    disk_guard: Extension<Arc<DiskGuard>>,
    slurm: Slurm,
    origin: Origin,
    remark: Extension<AuditRemark>,
    body: Bytes,
) -> Result<Response, ApiFailure> {
    let read = submission::read(&json(&body)?, slurm.version);
    let Submission { mut asks, script, environment, users, groups, warnings } =
        read.map_err(|error| bad_request(error.to_string()))?;
    check_owner(&slurm, users, groups).await?;
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
    let fields = submission_answer(job, warning.as_deref(), slurm.version);
    Ok(slurm.answer_with(fields, &warnings))
}

/// A job belongs to the user of the token: another one cannot be asked for.
async fn check_owner(
    slurm: &Slurm,
    users: BTreeSet<String>,
    groups: BTreeSet<String>,
) -> Result<(), ApiFailure> {
    let (uid, gid) = (slurm.user.uid, slurm.user.gid);
    let own = tokio::task::spawn_blocking(move || {
        let is_user = |name: &String| *name == uid.to_string() || *name == names::user(uid);
        let is_group = |name: &String| *name == gid.to_string() || *name == names::group(gid);
        (users.iter().all(is_user), groups.iter().all(is_group))
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
    Extension(remark): Extension<AuditRemark>,
    body: Bytes,
) -> Result<Response, ApiFailure> {
    let read = change::read(&json(&body)?, slurm.version);
    let change = read.map_err(|error| bad_request(error.to_string()))?;
    let hold = effective_hold(&core, core.parse_job_key(&id)?, &change)?;
    let Change { patch, warnings, .. } = change;
    let (user, text) = (slurm.user.clone(), patch.summary());
    let mut changed = Changed { jobs: Vec::new() };
    // It is held before the change and released after it, so that it does not start as it was.
    if hold == Some(true) {
        remark.set_verb("jobs/hold");
        changed = jobs::hold(State(core.clone()), user.clone(), Path(id.clone())).await?.0;
    }
    if !patch.is_empty() {
        let body = Ok(Json(UpdateRequest { patch }));
        let (state, path) = (State(core.clone()), Path(id.clone()));
        let made = update::update(state, user.clone(), path, Extension(remark.clone()), body).await;
        changed = match hold {
            Some(true) => made
                .map_err(|failure| partly_done_failure("the job is held, but unchanged", failure)),
            _ => made,
        }?
        .0;
        remark.set_verb("jobs/update");
        remark.set_detail(match hold {
            Some(true) => format!("{text}, held"),
            _ => text.clone(),
        });
    }
    if hold == Some(false) {
        let released = jobs::release(State(core), user, Path(id)).await;
        changed = match text.is_empty() {
            false => released
                .map_err(|failure| partly_done_failure("the job is changed, but held", failure)),
            true => released,
        }?
        .0;
        match text.is_empty() {
            true => remark.set_verb("jobs/release"),
            false => remark.set_detail(format!("{text}, released")),
        }
    }
    Ok(slurm.answer_with(update_answer(&changed.jobs, slurm.version), &warnings))
}

/// Whether the change holds the job, or releases it.
///
/// # Errors
/// [`Refusal::WrongPhase`] for a job that has ended: nothing of it can be changed.
fn effective_hold(core: &Core, key: JobKey, change: &Change) -> Result<Option<bool>, Refusal> {
    let state = core.state.read();
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    let named = |index: &Option<ArrayIndex>| key.index.is_none() || *index == key.index;
    let elements = || record.elements.iter().filter(|(index, _)| named(index)).map(|(_, one)| one);
    if elements().all(|element| element.phase == Phase::Done) {
        let (verb, phase) = ("update".to_owned(), Phase::Done);
        return Err(Refusal::WrongPhase { key, verb, phase });
    }
    Ok(match change.hold {
        Some(Hold::Hold) => Some(true),
        Some(Hold::Release) => Some(false),
        Some(Hold::ReleaseIfHeld) => elements().any(|element| element.held).then_some(false),
        None => None,
    })
}

/// A failure of the second part of a change, with what the first part did.
fn partly_done_failure(done: &str, failure: ApiFailure) -> ApiFailure {
    let (status, code) = failure.status_and_code();
    let refusal = net::Refusal::new(status, code, format!("{done}: {failure}"));
    ApiFailure::Http(match failure.hint() {
        Some(hint) => refusal.with_hint(hint),
        None => refusal,
    })
}

/// DELETE /slurm/{version}/job/{job_id}: ends a job, or sends it the signal that the query names.
pub async fn cancel(
    State(core): State<Arc<Core>>,
    slurm: Slurm,
    Path((_, id)): Path<(String, String)>,
    Query(query): Query<Parameters>,
    Extension(remark): Extension<AuditRemark>,
) -> Result<Response, ApiFailure> {
    check(&query, &["signal", "flags"], &[])?;
    let named = query.get("signal").filter(|text| !text.is_empty());
    let signal = named.map(|text| text.parse::<SignalNumber>());
    let signal = signal.transpose().map_err(|error| bad_request(format!("signal: {error}")))?;
    let to = recipients(query.get("flags").map_or("", String::as_str))?;
    let (user, path) = (slurm.user.clone(), Path(id.clone()));
    let Json(Changed { jobs }) = match signal {
        // KILL ends the job, as with scancel.
        None | Some(SignalNumber(9)) => jobs::cancel(State(core), user, path).await?,
        Some(signal) => {
            remark.set_verb("jobs/signal");
            // Fewer users may signal a job than may end it.
            check_action(&core, &user, core.parse_job_key(&id)?, JobAction::Signal).await?;
            let body = Ok(Json(JobSignalRequest { signal, to }));
            signal::signal(State(core), user, path, Extension(remark), body).await?
        }
    };
    Ok(slurm.answer(cancellation_answer(&jobs, slurm.version)))
}

/// Flags that change nothing here: there is one cluster, and jobs end at once.
const OTHER_FLAGS: &[&str] = &["ARRAY_TASK", "HURRY", "NO_SIBLING_JOBS", "VERBOSE"];

/// The processes that get a signal (man scancel, --batch and --full).
fn recipients(flags: &str) -> Result<Reached, ApiFailure> {
    let mut to = Reached::Steps;
    for flag in flags.split(',').map(str::trim).filter(|flag| !flag.is_empty()) {
        match flag.to_ascii_uppercase().as_str() {
            "BATCH_JOB" => to = Reached::Script,
            "FULL_JOB" => to = Reached::All,
            flag if OTHER_FLAGS.contains(&flag) => {}
            flag => {
                let message = format!("flags: there is no `{flag}`: use BATCH_JOB or FULL_JOB");
                return Err(bad_request(message));
            }
        }
    }
    Ok(to)
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
