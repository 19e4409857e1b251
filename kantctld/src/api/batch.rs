//! POST /v1/jobs/batch: many submits in one request. Each is checked, accepted or refused by
//! itself, as POST /v1/jobs would; together they share entries of the log, and their syncs. Never
//! answers before all that it accepted is on disk.

use super::error::ApiFailure;
use super::submit::{doubt, join_environment, owner};
use crate::core::{CommandError, Core};
use crate::room::Room;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use common::id::{RequestKey, Uid};
use common::job::Ask;
use common::job::check::{check_ask, check_script};
use common::reason::Refusal;
use common::wire::api::{
    BATCH_JOBS_MAX, BatchAnswer, BatchJob, BatchOutcome, BatchRequest, SubmitAnswer,
};
use futures_util::future::join_all;
use state::{Command, Event};
use std::sync::Arc;

/// So many wait for the log at once: few enough that others still find room there.
const AT_ONCE: usize = 512;

/// Accepts jobs.
pub async fn submit(
    State(core): State<Arc<Core>>,
    Extension(room): Extension<Arc<Room>>,
    user: net::User,
    body: Result<Json<BatchRequest>, JsonRejection>,
) -> Result<Json<BatchAnswer>, ApiFailure> {
    let Json(request) = body?;
    check_size(&request)?;
    let first = key(&request.request_key, 0);
    if core.state.read().request(Uid(user.uid), &first).is_none() {
        room.check()?;
    }
    let environments: Vec<String> =
        request.environments.iter().map(join_environment).collect::<Result<_, _>>()?;
    let mut judged = judge(&core, request.jobs, &request.scripts, environments.len()).await;
    let (owner, groups) = owner(user.uid, user.gid).await;
    let operator = core.actor(owner.uid).operator;
    let mut outcomes = Vec::with_capacity(judged.len());
    while !judged.is_empty() {
        let later = judged.split_off(judged.len().min(AT_ONCE));
        let now = std::mem::replace(&mut judged, later);
        let place = outcomes.len();
        let answers = now.into_iter().enumerate().map(|(number, judged)| {
            let command = judged.map(|job| Command::SubmitJob {
                request_key: key(&request.request_key, place + number),
                owner: owner.clone(),
                groups: groups.clone(),
                operator,
                ask: Box::new(job.ask),
                script: request.scripts[job.script as usize].clone(),
                environment: environments[job.environment as usize].clone(),
            });
            propose(&core, command)
        });
        for answer in join_all(answers).await {
            outcomes.push(answer?);
        }
    }
    Ok(Json(BatchAnswer { jobs: outcomes }))
}

/// What can be said of the whole.
fn check_size(request: &BatchRequest) -> Result<(), Refusal> {
    let count = request.jobs.len();
    if !(1..=BATCH_JOBS_MAX).contains(&count) {
        let message = format!("a batch of {count} jobs: send 1 to {BATCH_JOBS_MAX} in one request");
        return Err(Refusal::BadAsk { message });
    }
    Ok(())
}

/// Of the job at this place.
fn key(whole: &RequestKey, place: usize) -> RequestKey {
    RequestKey(format!("{}.{place}", whole.0))
}

/// Refuses what makes no sense or never fits; one look at the nodes for all of them.
async fn judge(
    core: &Arc<Core>,
    jobs: Vec<BatchJob>,
    scripts: &[String],
    environments: usize,
) -> Vec<Result<BatchJob, ApiFailure>> {
    let scripts: Vec<_> =
        scripts.iter().map(|script| check_script(script.as_bytes()).map(drop)).collect();
    let checked = |job: BatchJob| {
        check_ask(&job.ask)?;
        match scripts.get(job.script as usize) {
            Some(Err(error)) => Err(error.clone())?,
            Some(Ok(())) if (job.environment as usize) < environments => Ok(job),
            _ => {
                let message = "it names a script or environment that the request does not bring";
                Err(Refusal::BadAsk { message: message.to_owned() })?
            }
        }
    };
    let checked: Vec<Result<BatchJob, ApiFailure>> = jobs.into_iter().map(checked).collect();
    let core = core.clone();
    let judged = tokio::task::spawn_blocking(move || {
        let refused = never_fit(&core, &checked);
        let judged = checked.into_iter().zip(refused);
        let judge = |(job, refusal): (Result<_, _>, Option<Refusal>)| match refusal {
            Some(refusal) => Err(ApiFailure::from(refusal)),
            None => job,
        };
        judged.map(judge).collect()
    });
    // A controller that stops judges nothing; the log does not take the jobs either.
    judged.await.unwrap_or_default()
}

/// As [`super::submit::refuse_what_never_fits`], for each. Who asks for what was just let in is let
/// in: batches hold many of a kind.
fn never_fit(core: &Core, jobs: &[Result<BatchJob, ApiFailure>]) -> Vec<Option<Refusal>> {
    let look = |snapshot: &engine::Snapshot, doubted: &dyn Fn(usize) -> bool| {
        let mut fits: Option<&Ask> = None;
        let mut refusals = vec![None; jobs.len()];
        for (place, job) in jobs.iter().enumerate().filter(|(place, _)| doubted(*place)) {
            let Ok(BatchJob { ask, .. }) = job else { continue };
            if !fits.is_some_and(|fits| is_alike(fits, ask)) {
                refusals[place] = state::snapshot::never_fits(&core.state.read(), snapshot, ask);
                fits = if refusals[place].is_none() { Some(ask) } else { fits };
            }
        }
        refusals
    };
    let seen = core.lookout.glance(&core.state, |snapshot| look(snapshot, &|_| true));
    let doubted = |place: usize| seen.as_ref().is_none_or(|seen| seen[place].is_some());
    if !(0..jobs.len()).any(doubted) {
        return vec![None; jobs.len()];
    }
    core.lookout.fresh(&core.state, core.now(), |snapshot| look(snapshot, &doubted))
}

/// Is the same asked of the cluster?
fn is_alike(one: &Ask, other: &Ask) -> bool {
    let asked = |ask: &Ask| Ask {
        // None of these says where it could run.
        name: String::new(),
        args: Vec::new(),
        comment: None,
        stdin: None,
        stdout: None,
        stderr: None,
        ..ask.clone()
    };
    asked(one) == asked(other)
}

/// Only what is nobody's fault here fails the whole request: then it is asked again.
async fn propose(
    core: &Core,
    command: Result<Command, ApiFailure>,
) -> Result<BatchOutcome, ApiFailure> {
    let events = match command {
        Err(failure) => return Ok(refused(&failure)),
        Ok(command) => match core.command(command).await {
            Err(error @ CommandError::NotTaken(_)) => return Err(error.into()),
            Err(error) => return Ok(refused(&error.into())),
            Ok(events) => events,
        },
    };
    let accepted = events.iter().find_map(|event| match event {
        Event::JobSubmitted { job, tasks, .. } => {
            Some(SubmitAnswer { job: *job, tasks: *tasks, warning: doubt(core, *job) })
        }
        _ => None,
    });
    let unsaid = || Refusal::BadAsk {
        message: "the controller did not say what became of it: see `kantctl queue`".to_owned(),
    };
    Ok(accepted.map_or_else(|| refused(&unsaid().into()), BatchOutcome::Accepted))
}

fn refused(failure: &ApiFailure) -> BatchOutcome {
    let (code, message) = (failure.code().to_owned(), failure.to_string());
    BatchOutcome::Refused { code, message, hint: None }
}
