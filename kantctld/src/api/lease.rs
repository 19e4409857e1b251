//! Jobs that clients keep alive: renewals of leases on held allocations, and the end that a client
//! reports.

use super::error::ApiFailure;
use crate::core::Core;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use common::reason::Refusal;
use common::wire::api::{AttendAnswer, Changed, FinishRequest};
use state::{Command, Target};
use std::sync::Arc;

/// POST /v1/jobs/{key}/attend
pub async fn renew_lease(
    State(core): State<Arc<Core>>,
    _user: net::User,
    Path(key): Path<String>,
) -> Result<Json<AttendAnswer>, ApiFailure> {
    let key = core.parse_job_key(&key)?;
    let phase = {
        let state = core.state.read();
        let (_, element) = state.element(key).ok_or(Refusal::UnknownJob { key })?;
        element.phase
    };
    core.renewed_leases.lock().insert(key);
    Ok(Json(AttendAnswer { phase }))
}

/// POST /v1/jobs/{key}/finish
pub async fn finish_leased_job(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    body: Result<Json<FinishRequest>, JsonRejection>,
) -> Result<Json<Changed>, ApiFailure> {
    let Json(FinishRequest { exit }) = body?;
    let (actor, target) = (core.actor(&user), Target { key: core.parse_job_key(&key)? });
    let events = core.propose_command(Command::FinishJob { actor, target, exit }).await?;
    Ok(Json(Changed { jobs: state::event::changed_jobs(&events)? }))
}
