//! POST /v1/jobs: checks, resolves, proposes, and answers once the job is on disk. Never takes the
//! owner from the body.

use super::audited::Remark;
use super::error::ApiFailure;
use super::origin::Origin;
use crate::core::{CommandError, Core};
use crate::raft::ProposeError;
use crate::room::Room;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json, extract};
use common::id::{Gid, JobId, Uid};
use common::job::check::{AskError, ENVIRONMENT_BYTES_MAX, check_ask, check_script};
use common::job::{Ask, Outcome, Owner, Phase};
use common::reason::{Refusal, WaitReason};
use common::wire::api::{SubmitAnswer, SubmitRequest};
use engine::Snapshot;
use state::view::Waits;
use state::{Command, Event, State, view};
use std::collections::BTreeMap;
use std::sync::Arc;

pub async fn submit(
    extract::State(core): extract::State<Arc<Core>>,
    Extension(room): Extension<Arc<Room>>,
    user: net::User,
    origin: Origin,
    Extension(remark): Extension<Remark>,
    body: Result<Json<SubmitRequest>, JsonRejection>,
) -> Result<Json<SubmitAnswer>, ApiFailure> {
    let Json(request) = body?;
    check_ask(&request.ask)?;
    check_script(request.script.as_bytes())?;
    let environment = join_environment(&request.environment)?;
    let known = core.state.read().request(Uid(user.uid), &request.request_key).is_some();
    if !known {
        room.check()?;
        refuse_what_never_fits(&core, &request.ask).await?;
    }
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(owner.uid).operator;
    let note = core.mail.note(&request.ask);
    let command = Command::SubmitJob {
        request_key: request.request_key,
        owner,
        groups,
        operator,
        via: origin.node(),
        ask: Box::new(request.ask),
        script: request.script,
        environment,
    };
    let events = core.command(command).await?;
    let accepted = events.iter().find_map(|event| match event {
        Event::JobSubmitted { job, tasks, .. } => Some(SubmitAnswer {
            job: *job,
            tasks: *tasks,
            warning: both(note.clone(), doubt(&core, *job)),
        }),
        _ => None,
    });
    let answer = accepted.ok_or(Refusal::BadAsk {
        message: "the controller did not say what became of it: see `kantctl queue`".to_owned(),
    })?;
    remark.target(answer.job);
    Ok(Json(answer))
}

/// Two sentences, or what there is of them.
pub(super) fn both(one: Option<String>, other: Option<String>) -> Option<String> {
    one.into_iter().chain(other).reduce(|one, other| format!("{one}; {other}"))
}

/// What it waits for may have failed before. As in Slurm it is accepted all the same.
pub(super) fn doubt(core: &Core, job: JobId) -> Option<String> {
    core.state.read().job(job).filter(|record| record.spec.ask.dependency.is_some())?;
    let waits = core.last_waits();
    doubt_in(&core.state.read(), &waits, job)
}

/// The same of a job in this state.
pub(super) fn doubt_in(state: &State, waits: &Waits, job: JobId) -> Option<String> {
    let record = state.job(job).filter(|record| record.spec.ask.dependency.is_some())?;
    let index = record.elements.keys().next().copied().flatten();
    let view = view::job_view(state, record.key(index), waits)?;
    if view.phase == Phase::Done && view.outcome == Some(Outcome::Cancelled) {
        return Some(format!(
            "job {job} was cancelled at once: what it waits for cannot come any more, and it asked \
             for that with --kill-on-invalid-dep"
        ));
    }
    match view.reason?.detail {
        never @ WaitReason::DependencyNever { .. } => Some(format!(
            "job {job} will never start: {never}. `kantctl update {job} --dependency=none` lets it"
        )),
        _ => None,
    }
}

/// `NAME=value`, each ended by NUL; a name or value that cannot be in an environment is refused.
pub(super) fn join_environment(
    environment: &BTreeMap<String, String>,
) -> Result<String, ApiFailure> {
    let mut text = String::new();
    for (name, value) in environment {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let message =
                format!("`{name}` cannot be passed: bad name, or a NUL byte in its value");
            return Err(Refusal::BadAsk { message }.into());
        }
        text.extend([name, "=", value, "\0"]);
    }
    if text.len() > ENVIRONMENT_BYTES_MAX {
        return Err(AskError::EnvironmentTooLarge(text.len()).into());
    }
    Ok(text)
}

/// The engine's judgement, so it is the leader's to make, not `apply`'s: engines of two releases
/// may differ, replicas may not. Whoever fits as the scheduler last saw the nodes is let in without
/// waiting for a round that runs; nobody is refused but by the nodes and settings of now.
pub async fn refuse_what_never_fits(core: &Arc<Core>, ask: &Ask) -> Result<(), ApiFailure> {
    let ask = ask.clone();
    let never = move |state: &State, snapshot: &Snapshot| {
        state::snapshot::never_fits(state, snapshot, &ask)
    };
    refuse(core, never).await
}

/// The same of a set, whose components also have to fit side by side.
pub async fn refuse_a_set_that_never_fits(
    core: &Arc<Core>,
    asks: &[Ask],
) -> Result<(), ApiFailure> {
    let asks = asks.to_vec();
    let never = move |state: &State, snapshot: &Snapshot| {
        let mut alone =
            asks.iter().filter_map(|ask| state::snapshot::never_fits(state, snapshot, ask));
        let together = || state::snapshot::never_fit_together(state, snapshot, &asks);
        alone.next().or_else(together)
    };
    refuse(core, never).await
}

/// Refuses for this reason, if it still is one in a snapshot that is up to date.
async fn refuse(
    core: &Arc<Core>,
    never: impl Fn(&State, &Snapshot) -> Option<Refusal> + Send + 'static,
) -> Result<(), ApiFailure> {
    let core = core.clone();
    let judged = tokio::task::spawn_blocking(move || {
        let judge = |snapshot: &Snapshot| never(&core.state.read(), snapshot);
        match core.lookout.glance(&core.state, judge) {
            Some(None) => None,
            Some(Some(_)) | None => core.lookout.fresh(&core.state, core.now(), judge),
        }
    });
    // A controller that stops judges nothing; the log does not take the job either.
    judged.await.ok().flatten().map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// Whose job it is, with all groups of that user as this host knows them.
///
/// # Errors
/// Why this user may have no jobs.
pub(super) async fn owner(core: &Core, user: &net::User) -> Result<(Owner, Vec<Gid>), ApiFailure> {
    let (access, uid, gid) = (core.access(), user.uid, user.gid);
    let found = tokio::task::spawn_blocking(move || access.owner(uid, gid)).await;
    let stopping = |_| CommandError::NotTaken(ProposeError::Stopped);
    found.map_err(stopping)?.map_err(ApiFailure::Said)
}
