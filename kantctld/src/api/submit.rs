//! POST /v1/jobs: checks, resolves and proposes a job, and answers once it is durable. The owner is
//! the authenticated user.

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::origin::Origin;
use super::right_check::check_dependencies;
use crate::core::{CommandError, Core};
use crate::disk_guard::DiskGuard;
use crate::raft::ProposeError;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json, extract};
use common::id::{Gid, JobId, Uid};
use common::job::check::{AskError, ENVIRONMENT_BYTES_MAX, check_ask, check_script};
use common::job::{Ask, Outcome, Owner, Phase};
use common::reason::{Refusal, WaitReason};
use common::token::is_token_variable;
use common::wire::api::{SubmitAnswer, SubmitRequest};
use engine::Snapshot;
use query::view;
use query::view::Waits;
use query::viewer::Viewer;
use state::{Command, Event, State};
use std::collections::BTreeMap;
use std::sync::Arc;

pub async fn submit(
    extract::State(core): extract::State<Arc<Core>>,
    Extension(disk_guard): Extension<Arc<DiskGuard>>,
    user: net::User,
    origin: Origin,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<SubmitRequest>, JsonRejection>,
) -> Result<Json<SubmitAnswer>, ApiFailure> {
    let Json(request) = body?;
    check_ask(&request.ask)?;
    check_script(request.script.as_bytes())?;
    let environment = join_environment(&request.environment)?;
    let known = core.state.read().answered_request(Uid(user.uid), &request.request_key).is_some();
    if !known {
        check_dependencies(&core, &user, &request.ask)?;
        disk_guard.check()?;
        refuse_what_never_fits(&core, &request.ask).await?;
    }
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(&user).operator;
    let note = core.mail.warning(&request.ask);
    let command = Command::SubmitJob {
        request_key: request.request_key,
        owner,
        groups,
        operator,
        via: origin.vouching_node(),
        ask: Box::new(request.ask),
        script: request.script,
        environment,
    };
    propose(&core, &remark, note, command).await
}

/// Proposes a job, or a set of jobs, and answers once it is durable.
pub(super) async fn propose(
    core: &Core,
    remark: &AuditRemark,
    note: Option<String>,
    command: Command,
) -> Result<Json<SubmitAnswer>, ApiFailure> {
    let events = core.propose_command(command).await?;
    // The first component of a set has the number of the whole job.
    let submitted = events.iter().find_map(|event| match event {
        Event::JobSubmitted { job, tasks, .. } => Some((*job, *tasks)),
        _ => None,
    });
    let (job, tasks) = submitted.ok_or_else(no_outcome)?;
    remark.set_target(job);
    Ok(Json(submit_answer(core, note, job, tasks)))
}

pub(super) fn submit_answer(
    core: &Core,
    note: Option<String>,
    job: JobId,
    tasks: u32,
) -> SubmitAnswer {
    SubmitAnswer { job, tasks, warning: join_warnings(note, dependency_warning(core, job)) }
}

pub(super) fn no_outcome() -> Refusal {
    Refusal::BadAsk {
        message: "the controller did not report the outcome: see `kantctl queue`".to_owned(),
    }
}

/// Joins two optional warnings.
pub(super) fn join_warnings(one: Option<String>, other: Option<String>) -> Option<String> {
    one.into_iter().chain(other).reduce(|one, other| format!("{one}; {other}"))
}

/// A warning if the job's dependency can no longer be met. As in Slurm, the job is accepted.
fn dependency_warning(core: &Core, job: JobId) -> Option<String> {
    core.state.read().job(job).filter(|record| record.spec.ask.dependency.is_some())?;
    let waits = core.last_waits();
    dependency_warning_in(&core.state.read(), &waits, job)
}

/// The same in a given state.
pub(super) fn dependency_warning_in(state: &State, waits: &Waits, job: JobId) -> Option<String> {
    let record = state.job(job).filter(|record| record.spec.ask.dependency.is_some())?;
    let index = record.elements.keys().next().copied().flatten();
    let view = view::job_view(state, &Viewer::ALL, record.key(index), waits)?;
    if view.phase == Phase::Done && view.outcome == Some(Outcome::Cancelled) {
        return Some(format!(
            "job {job} was cancelled at once: its dependency can no longer be met, and it was \
             submitted with --kill-on-invalid-dep"
        ));
    }
    match view.reason?.detail {
        never @ WaitReason::DependencyNever { .. } => Some(format!(
            "job {job} will never start: {never}. `kantctl update {job} --dependency=none` removes \
             it"
        )),
        _ => None,
    }
}

/// Encodes variables as `NAME=value`, each terminated by NUL, without tokens; invalid names and
/// values are refused.
pub(super) fn join_environment(
    environment: &BTreeMap<String, String>,
) -> Result<String, ApiFailure> {
    let mut text = String::new();
    for (name, value) in environment {
        // A job must not act for its user beyond what the job is.
        if is_token_variable(name, value) {
            continue;
        }
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let message =
                format!("`{name}` cannot be passed: invalid name, or a NUL byte in its value");
            return Err(Refusal::BadAsk { message }.into());
        }
        text.extend([name, "=", value, "\0"]);
    }
    if text.len() > ENVIRONMENT_BYTES_MAX {
        return Err(AskError::EnvironmentTooLarge(text.len()).into());
    }
    Ok(text)
}

/// Refuses a job that can never run. The leader checks this with the engine, and `apply` does not,
/// because engines of two releases may differ and replicas may not. A job that fits the nodes of
/// the last round is accepted without waiting; a refusal is always made on an up-to-date view.
pub async fn refuse_what_never_fits(core: &Arc<Core>, ask: &Ask) -> Result<(), ApiFailure> {
    let ask = ask.clone();
    let never = move |state: &State, snapshot: &Snapshot| {
        state::snapshot::never_fits(state, snapshot, &ask)
    };
    refuse_if_never_fits(core, never).await
}

/// The same for a heterogeneous job, whose components must also fit together.
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
    refuse_if_never_fits(core, never).await
}

/// Refuses if `never` still gives a reason on an up-to-date view.
async fn refuse_if_never_fits(
    core: &Arc<Core>,
    never: impl Fn(&State, &Snapshot) -> Option<Refusal> + Send + 'static,
) -> Result<(), ApiFailure> {
    let core = core.clone();
    let judged = tokio::task::spawn_blocking(move || {
        let judge = |snapshot: &Snapshot| never(&core.state.read(), snapshot);
        match core.scheduler_cache.peek(&core.state, judge) {
            Some(None) => None,
            Some(Some(_)) | None => {
                core.scheduler_cache.with_current(&core.state, core.now(), judge)
            }
        }
    });
    // The task fails only while the controller stops, and then the log accepts no job either.
    judged.await.ok().flatten().map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// The owner, with all groups of the user as this host knows them.
///
/// # Errors
/// Why this user may not own jobs.
pub(super) async fn owner(core: &Core, user: &net::User) -> Result<(Owner, Vec<Gid>), ApiFailure> {
    let (access, uid, gid) = (core.access(), user.uid, user.gid);
    let found = tokio::task::spawn_blocking(move || access.owner(uid, gid)).await;
    let stopping = |_| CommandError::NotTaken(ProposeError::Stopped);
    found.map_err(stopping)?.map_err(ApiFailure::Http)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_become_part_of_a_job() {
        let secret = net::new_token().unwrap();
        let variables = [("KANT_TOKEN", ""), ("API_KEY", &secret), ("HOME", "/root")];
        let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(join_environment(&environment.into()).unwrap(), "HOME=/root\0");
    }
}
