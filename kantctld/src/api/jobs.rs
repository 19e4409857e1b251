//! Views of jobs, and commands on them.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::slow_query;
use crate::core::Core;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::{Extension, Json};
use common::id::{JobKey, Uid};
use common::job::Phase;
use common::reason::Refusal;
use common::wire::api::{
    Changed, CheckpointAnswer, Explanation, JobList, JobQuery, Looked, ResizeRequest, Until,
    WaitQuery,
};
use query::view;
use query::viewer::Viewer;
use state::{Actor, Command, Target};
use std::sync::Arc;
use std::time::Duration;

/// The longest time one GET .../wait blocks.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// GET /v1/jobs
pub async fn list(
    State(core): State<Arc<Core>>,
    user: net::User,
    Query(query): Query<JobQuery>,
) -> Result<Response, ApiFailure> {
    let (waits, now, viewer) = (core.last_waits(), core.now(), core.viewer(&user));
    if query.lines {
        let head = Looked { as_of: now };
        return slow_query::respond_lines(&core, user.uid, move |state, lines| {
            lines.add(&head)?;
            view::list_rows(state, &viewer, &query, &waits).try_for_each(|job| lines.add(&job))
        })
        .await;
    }
    slow_query::respond_json(&core, user.uid, move |state| {
        Ok(JobList { as_of: now, ..view::job_list(state, &viewer, &query, &waits) })
    })
    .await
}

/// A job or all tasks of an array, with their timelines.
///
/// # Errors
/// [`Refusal::UnknownJob`].
pub fn detail(core: &Core, viewer: &Viewer, key: JobKey) -> Result<JobList, Refusal> {
    let waits = core.last_waits();
    let list = view::job_detail(&core.state.read(), viewer, key, &waits);
    let list = list.ok_or(Refusal::UnknownJob { key })?;
    Ok(JobList { as_of: core.now(), ..list })
}

/// GET /v1/jobs/{key}
pub async fn show(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Response, ApiFailure> {
    core.wait_for_current_state().await?;
    let (key, waits, now) = (core.parse_job_key(&key)?, core.last_waits(), core.now());
    let viewer = core.viewer(&user);
    slow_query::respond_json(&core, user.uid, move |state| {
        let list =
            view::job_detail(state, &viewer, key, &waits).ok_or(Refusal::UnknownJob { key })?;
        Ok(JobList { as_of: now, ..list })
    })
    .await
}

/// Proposes a command on a job and returns the jobs it changed.
async fn change_jobs(
    core: &Arc<Core>,
    user: &net::User,
    key: &str,
    command: impl FnOnce(Actor, Target) -> Command,
) -> Result<Json<Changed>, ApiFailure> {
    let target = core.parse_target(key)?;
    let jobs = core.change_jobs(command(core.actor(user), target)).await?;
    Ok(Json(Changed { jobs }))
}

/// POST /v1/jobs/{key}/cancel
pub async fn cancel(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<Changed>, ApiFailure> {
    change_jobs(&core, &user, &key, |actor, target| Command::CancelJob { actor, target }).await
}

/// POST /v1/jobs/{key}/hold
pub async fn hold(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<Changed>, ApiFailure> {
    change_jobs(&core, &user, &key, |actor, target| Command::HoldJob { actor, target }).await
}

/// POST /v1/jobs/{key}/release
pub async fn release(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<Changed>, ApiFailure> {
    change_jobs(&core, &user, &key, |actor, target| Command::ReleaseJob { actor, target }).await
}

/// POST /v1/jobs/{key}/requeue
pub async fn requeue(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<Changed>, ApiFailure> {
    change_jobs(&core, &user, &key, |actor, target| Command::RequeueJob { actor, target }).await
}

/// POST /v1/jobs/{key}/suspend
pub async fn suspend(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<Changed>, ApiFailure> {
    change_jobs(&core, &user, &key, |actor, target| Command::SuspendJob { actor, target }).await
}

/// POST /v1/jobs/{key}/resume
pub async fn resume(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<Changed>, ApiFailure> {
    change_jobs(&core, &user, &key, |actor, target| Command::ResumeJob { actor, target }).await
}

/// POST /v1/jobs/{key}/checkpoint
pub async fn checkpoint(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<CheckpointAnswer>, ApiFailure> {
    let (actor, target) = (core.actor(&user), core.parse_target(&key)?);
    let events = core.propose_command(Command::CheckpointJob { actor, target }).await?;
    let jobs = state::event::changed_jobs(&events)?;
    // A granted request has the time in its event.
    let checkpoint_at = state::event::saved_at(&events).unwrap_or_else(|| core.now());
    Ok(Json(CheckpointAnswer { jobs, checkpoint_at }))
}

/// POST /v1/jobs/{key}/resize
pub async fn resize(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<ResizeRequest>, JsonRejection>,
) -> Result<Json<Changed>, ApiFailure> {
    let Json(ResizeRequest { size }) = body?;
    remark.set_detail(size);
    change_jobs(&core, &user, &key, |actor, target| Command::ResizeJob { actor, target, size })
        .await
}

/// Whether a job in this phase has reached the end of a wait.
const fn is_reached_by_phase(until: Until, phase: Phase) -> bool {
    match until {
        Until::Over => matches!(phase, Phase::Done),
        Until::Started => !matches!(phase, Phase::Pending | Phase::Starting),
    }
}

/// GET /v1/jobs/{key}/wait
pub async fn wait(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Result<Json<JobList>, ApiFailure> {
    let deadline = tokio::time::Instant::now() + WAIT_LIMIT.min(Duration::from_secs(query.seconds));
    core.wait_for_current_state().await?;
    let key = core.parse_job_key(&key)?;
    let mut applied = core.applied.clone();
    loop {
        applied.mark_unchanged();
        if have_tasks_reached(&core, key, query.until)? {
            break;
        }
        match tokio::time::timeout_at(deadline, applied.changed()).await {
            Ok(Ok(())) => {}
            // Timeout, or the controller stops: answer with what is known.
            Ok(Err(_)) | Err(_) => break,
        }
    }
    // The user's roles may have changed meanwhile.
    let user = net::User { groups: core.access().groups(Uid(user.uid)).await, ..user };
    Ok(Json(detail(&core, &core.viewer(&user), key)?))
}

/// Whether all tasks of a job have reached this point. Cheap, because many clients may wait.
fn have_tasks_reached(core: &Core, key: JobKey, until: Until) -> Result<bool, Refusal> {
    let state = core.state.read();
    let unknown = Refusal::UnknownJob { key };
    match key.index {
        Some(_) => {
            let (_, element) = state.element(key).ok_or(unknown)?;
            Ok(is_reached_by_phase(until, element.phase))
        }
        None => {
            let record = state.job(key.job).ok_or(unknown)?;
            Ok(record.elements.values().all(|element| is_reached_by_phase(until, element.phase)))
        }
    }
}

/// GET /v1/jobs/{key}/explain
pub async fn explain(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
) -> Result<Json<Explanation>, ApiFailure> {
    core.wait_for_current_state().await?;
    let key = core.parse_job_key(&key)?;
    let viewer = core.viewer(&user);
    let looked = slow_query::forecast(&core, user.uid, move |core| {
        let now = core.now();
        let (waits, state) = (core.last_waits(), core.state.read().clone());
        let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
        view::explain(&state, &viewer, key, &waits, &snapshot, now)
    });
    let explanation = looked.await?;
    Ok(Json(explanation.ok_or(Refusal::UnknownJob { key })?))
}
