//! POST /v1/jobs/{key}/what-if: whether a changed request would start now, and where.

use super::error::ApiFailure;
use super::slow_query::forecast;
use crate::core::Core;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use common::id::JobKey;
use common::job::check::check_ask;
use common::job::{Ask, Phase};
use common::reason::{BadRequest, Refusal, WaitReason};
use common::time::Time;
use common::wire::api::{ReasonView, StartOutlook, WhatIfRequest, WhatIfView};
use engine::{Outlook, WaitingJob};
use query::viewer::Viewer;
use std::sync::Arc;

/// POST /v1/jobs/{key}/what-if
pub async fn what_if(
    State(core): State<Arc<Core>>,
    user: net::User,
    Path(key): Path<String>,
    body: Result<Json<WhatIfRequest>, JsonRejection>,
) -> Result<Json<WhatIfView>, ApiFailure> {
    let (Json(request), key) = (body?, core.parse_job_key(&key)?);
    BadRequest::check_patch(&request.patch).map_err(Refusal::from)?;
    let (now, viewer) = (core.now(), core.viewer(&user));
    let owner = {
        let state = core.state.read();
        state.job(state.resolve_key(key).job).map(|record| record.spec.owner.uid)
    };
    let (owner, access) = (owner.ok_or(Refusal::UnknownJob { key })?, core.access());
    let operator = access.actor(owner, access.groups(owner).await.as_ref()).operator;
    let by = Asked { viewer, operator };
    forecast(&core, user.uid, move |core| forecast_changed(core, &by, key, &request, now))
        .await?
        .map(Json)
}

/// Who asks.
struct Asked {
    viewer: Viewer,
    /// Whether the owner of the job is an operator.
    operator: bool,
}

fn forecast_changed(
    core: &Core,
    by: &Asked,
    key: JobKey,
    request: &WhatIfRequest,
    now: Time,
) -> Result<WhatIfView, ApiFailure> {
    let state = &core.state.read().clone();
    let key = first_waiting_task(state, key)?;
    let (record, element) = state.element(key).ok_or(Refusal::UnknownJob { key })?;
    let ask = request.patch.apply_to(&record.spec.ask);
    check_ask(&ask)?;
    state::check_could_wait(state, record, by.operator, &ask)?;
    // A copy: rounds continue meanwhile.
    let snapshot = core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
    let job = snapshot.waiting_job(key).ok_or(Refusal::UnknownJob { key })?;
    // Checked first, whatever else keeps the job waiting.
    let free = Ask { hold: false, ..ask.clone() };
    let changed = match state::snapshot::never_fits(state, &snapshot, &free) {
        Some(Refusal::NeverFits { reason, .. } | Refusal::NeverAdmitted { reason }) => {
            Outlook { reason: Some(*reason), ..Outlook::default() }
        }
        Some(refusal) => return Err(refusal.into()),
        None => engine::what_if(&snapshot, now, with_changes(job, ask, element.released_at)),
    };
    let as_it_is = engine::outlook(&snapshot, now, key).ok_or(Refusal::UnknownJob { key })?;
    let view = |outlook| view(outlook, |reason| by.viewer.visible_reason(state, reason));
    Ok(WhatIfView { key, changed: view(changed), compared_with: view(as_it_is), as_of: now })
}

/// The job itself or, for an array, its first waiting task.
pub(super) fn first_waiting_task(state: &state::State, key: JobKey) -> Result<JobKey, Refusal> {
    let record = state.job(key.job).ok_or(Refusal::UnknownJob { key })?;
    let mut named =
        record.elements.iter().filter(|(index, _)| key.index.is_none_or(|_| **index == key.index));
    let (first, _) = named.clone().next().ok_or(Refusal::UnknownJob { key })?;
    let waits = named.find(|(_, element)| element.phase == Phase::Pending);
    waits.map(|(index, _)| record.key(*index)).ok_or_else(|| {
        let phase = record.elements[first].phase;
        let key = record.key(*first);
        Refusal::WrongPhase { key, verb: "ask about the start of".to_owned(), phase }
    })
}

/// The job with a changed request. A held job takes its queue position from its release time in the
/// snapshot.
fn with_changes(job: &WaitingJob, ask: Ask, released_at: Option<Time>) -> WaitingJob {
    WaitingJob {
        queue: ask.queue.unwrap_or_else(|| job.queue.clone()),
        qos: ask.qos,
        request: Arc::new(ask.request),
        time_limit: ask.time_limit,
        begin_at: ask.begin_at.max(released_at),
        deadline: ask.deadline,
        reservation: ask.reservation,
        array_limit: ask.array.and_then(|array| array.limit()),
        ..job.clone()
    }
}

/// `shown`: a reason as the user may see it.
pub(super) fn view(outlook: Outlook, shown: impl Fn(WaitReason) -> WaitReason) -> StartOutlook {
    let reason = outlook.reason.map(shown).map(|reason| ReasonView {
        code: reason.code().to_owned(),
        sentence: reason.to_string(),
        detail: reason,
    });
    StartOutlook {
        starts_now: outlook.starts_on,
        expected_at: outlook.expected_at,
        expected_on: outlook.expected_on,
        bounded: outlook.bounded,
        reason,
    }
}
