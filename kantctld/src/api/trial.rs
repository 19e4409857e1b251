//! POST /v1/jobs/trial: a dry run of a submission: the refusal that POST /v1/jobs would give, or
//! when and where the job would start. The job is submitted to a copy of the state.

use super::error::ApiFailure;
use super::right_check::check_dependencies;
use super::slow_query::forecast;
use super::submit::{
    dependency_warning_in, join_environment, join_warnings, owner, refuse_what_never_fits,
};
use super::what_if;
use crate::core::Core;
use crate::disk_guard::DiskGuard;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use common::id::{JobId, JobKey, RequestKey};
use common::job::check::{check_ask, check_script};
use common::reason::Refusal;
use common::time::Time;
use common::wire::api::{SubmitRequest, TrialView};
use query::view;
use query::viewer::Viewer;
use state::{Command, Event, Stamped};
use std::sync::Arc;

pub async fn try_out(
    State(core): State<Arc<Core>>,
    Extension(disk_guard): Extension<Arc<DiskGuard>>,
    user: net::User,
    body: Result<Json<SubmitRequest>, JsonRejection>,
) -> Result<Json<TrialView>, ApiFailure> {
    let Json(request) = body?;
    check_ask(&request.ask)?;
    check_script(request.script.as_bytes())?;
    let environment = join_environment(&request.environment)?;
    check_dependencies(&core, &user, &request.ask)?;
    disk_guard.check()?;
    refuse_what_never_fits(&core, &request.ask).await?;
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(&user).operator;
    let now = core.now();
    let command = Command::SubmitJob {
        // The key must be unused, or the answer would be about that job.
        request_key: RequestKey(format!("trial-{now:?}")),
        owner,
        groups,
        operator,
        via: None,
        ask: Box::new(request.ask),
        script: request.script,
        environment,
    };
    let viewer = core.viewer(&user);
    let tried = forecast(&core, user.uid, move |core| try_submission(core, &viewer, command, now));
    tried.await?.map(Json)
}

fn try_submission(
    core: &Core,
    viewer: &Viewer,
    command: Command,
    now: Time,
) -> Result<TrialView, ApiFailure> {
    // A cheap copy: records are shared, and only those that change are copied.
    let mut copy = core.state.read().clone();
    let (job, tasks) = submit_to_copy(&mut copy, command, now)?;
    let record = copy.job(job).ok_or(Refusal::UnknownJob { key: JobKey::single(job) })?;
    let key = record.key(record.elements.keys().next().copied().flatten());
    let is_array = record.spec.ask.array.is_some();
    let waits = core.last_waits();
    let seen = view::job_view(&copy, viewer, key, &waits).ok_or(Refusal::UnknownJob { key })?;
    let queue = seen.ask.queue.ok_or(Refusal::UnknownJob { key })?;
    let warning = join_warnings(
        core.mail.warning(&record.spec.ask),
        dependency_warning_in(&copy, &waits, job),
    );
    let outlook = match state::snapshot::waiting(&copy, key) {
        // A copy: rounds continue meanwhile.
        Some(waiting) => {
            let snapshot =
                core.scheduler_cache.with_current(&core.state, now, engine::Snapshot::clone);
            engine::what_if(&snapshot, now, waiting)
        }
        // Cancelled at once by --kill-on-invalid-dep, which the warning says.
        None => engine::Outlook::default(),
    };
    let (tasks, outlook) = (
        if is_array { tasks } else { 0 },
        what_if::view(outlook, |reason| viewer.visible_reason(&copy, reason)),
    );
    Ok(TrialView { job, tasks, queue, cpus: seen.cpus, outlook, warning, as_of: now })
}

/// The job that the command creates in the copy, and its number of tasks.
fn submit_to_copy(
    copy: &mut state::State,
    command: Command,
    now: Time,
) -> Result<(JobId, u32), Refusal> {
    let mut made = None;
    for event in state::apply(copy, &Stamped { at: now, command }) {
        match event {
            Event::CommandRefused(refusal) => return Err(refusal),
            Event::JobSubmitted { job, tasks, .. } => made = Some((job, tasks)),
            _ => {}
        }
    }
    made.ok_or_else(|| Refusal::BadAsk {
        message: "the controller did not report the outcome: see its log".to_owned(),
    })
}
