//! POST /v1/jobs/trial: what would become of a submission: refused as POST /v1/jobs would refuse
//! it, or when and where it would start. It is submitted to a copy of the state. Never proposes
//! anything, and never keeps anything of it.

use super::error::ApiFailure;
use super::look::forecast;
use super::submit::{both, doubt_in, join_environment, owner, refuse_what_never_fits};
use super::what_if;
use crate::core::Core;
use crate::room::Room;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use common::id::{JobId, JobKey, RequestKey};
use common::job::check::{check_ask, check_script};
use common::reason::Refusal;
use common::time::Time;
use common::wire::api::{SubmitRequest, TrialView};
use state::{Command, Event, Stamped, view};
use std::sync::Arc;

pub async fn try_out(
    State(core): State<Arc<Core>>,
    Extension(room): Extension<Arc<Room>>,
    user: net::User,
    body: Result<Json<SubmitRequest>, JsonRejection>,
) -> Result<Json<TrialView>, ApiFailure> {
    let Json(request) = body?;
    check_ask(&request.ask)?;
    check_script(request.script.as_bytes())?;
    let environment = join_environment(&request.environment)?;
    room.check()?;
    refuse_what_never_fits(&core, &request.ask).await?;
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(owner.uid).operator;
    let now = core.now();
    let command = Command::SubmitJob {
        // One that was used before would answer for that job.
        request_key: RequestKey(format!("trial-{now:?}")),
        owner,
        groups,
        operator,
        via: None,
        ask: Box::new(request.ask),
        script: request.script,
        environment,
    };
    forecast(&core, user.uid, move |core| look(core, command, now)).await?.map(Json)
}

fn look(core: &Core, command: Command, now: Time) -> Result<TrialView, ApiFailure> {
    // It shares its records with the state: only what the submission touches is copied.
    let mut copy = core.state.read().clone();
    let (job, tasks) = submitted(&mut copy, command, now)?;
    let record = copy.job(job).ok_or(Refusal::UnknownJob { key: JobKey::single(job) })?;
    let key = record.key(record.elements.keys().next().copied().flatten());
    let is_array = record.spec.ask.array.is_some();
    let waits = core.last_waits();
    let seen = view::job_view(&copy, key, &waits).ok_or(Refusal::UnknownJob { key })?;
    let queue = seen.ask.queue.ok_or(Refusal::UnknownJob { key })?;
    let warning = both(core.mail.note(&record.spec.ask), doubt_in(&copy, &waits, job));
    let outlook = match state::snapshot::waiting(&copy, key) {
        // A copy: rounds go on meanwhile.
        Some(waiting) => {
            let snapshot = core.lookout.fresh(&core.state, now, engine::Snapshot::clone);
            engine::what_if(&snapshot, now, waiting)
        }
        // Over at once, by --kill-on-invalid-dep: the warning says so.
        None => engine::Outlook::default(),
    };
    let (tasks, outlook) = (if is_array { tasks } else { 0 }, what_if::view(outlook));
    Ok(TrialView { job, tasks, queue, cpus: seen.cpus, outlook, warning, as_of: now })
}

/// The job that the command makes in this copy, and of how many tasks.
fn submitted(
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
        message: "the controller did not say what would become of it: see its log".to_owned(),
    })
}
