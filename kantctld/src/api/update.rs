//! POST /v1/jobs/{key}/update: changes a job's request. No round in progress can start the job with
//! the old request after the answer.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::right_check::check_dependencies;
use super::submit::{refuse_a_set_that_never_fits, refuse_what_never_fits};
use crate::core::Core;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use common::id::JobKey;
use common::job::{Ask, Attribute, Phase};
use common::wire::api::{Changed, UpdateRequest};
use state::Command;
use std::sync::Arc;

/// POST /v1/jobs/{key}/update
pub async fn update(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<UpdateRequest>, JsonRejection>,
) -> Result<Json<Changed>, ApiFailure> {
    let (Json(UpdateRequest { patch }), target, key) =
        (body?, core.parse_target(&key)?, core.parse_job_key(&key)?);
    remark.set_detail(patch.summary());
    let actor = core.actor(&user);
    if patch.has(Attribute::Dependency) {
        check_dependencies(&core, &user, &patch.apply_to(&Ask::default()))?;
    }
    let (asked, set, is_known_to_fit) = {
        let state = core.state.read();
        let held = state.job(key.job).is_some_and(|record| {
            record.elements.values().all(|e| e.held || e.phase != Phase::Pending)
        });
        // `apply` reports why a job cannot be changed.
        let ask = state::patched_request(&state, key, &patch, &actor).ok();
        // A job that has nodes fits, and keeps them.
        let started = state.job(key.job).is_some_and(|record| {
            record.elements.values().any(|element| element.phase != Phase::Pending)
        });
        let asked = ask.map(|ask| Ask { hold: held, ..ask });
        let set = asked
            .as_ref()
            .map(|ask| set_with_changed_component(&state, key, ask))
            .unwrap_or_default();
        (asked, set, started)
    };
    let is_known_to_fit = is_known_to_fit || patch.is_only_array_limit();
    if let Some(ask) = asked.filter(|_| !is_known_to_fit) {
        let judged = match set.as_slice() {
            [] => refuse_what_never_fits(&core, &ask).await,
            set => refuse_a_set_that_never_fits(&core, set).await,
        };
        judged.map_err(|failure| failure.for_job_change(key))?;
    }
    // A round in progress is enacted first, and the next one sees the change.
    let _between_rounds = core.between_rounds.lock().await;
    let command = Command::UpdateJob { actor, target, patch: Box::new(patch) };
    let events = core.propose_command(command).await?;
    Ok(Json(Changed { jobs: state::event::changed_jobs(&events)? }))
}

/// The requests of all components, with this one changed; empty if the job is not a component of a
/// heterogeneous job.
fn set_with_changed_component(state: &state::State, key: JobKey, changed: &Ask) -> Vec<Ask> {
    let set = state.job(key.job).and_then(|record| record.set);
    let keys = set.into_iter().flat_map(|set| set.keys());
    let of = |one: JobKey| match one.job == key.job {
        true => Some(changed.clone()),
        false => state.job(one.job).map(|record| Ask::clone(&record.spec.ask)),
    };
    keys.filter_map(of).collect()
}
