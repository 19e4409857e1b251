//! POST /v1/jobs/batch: many submissions in one request. Each is checked and accepted or refused on
//! its own, as by POST /v1/jobs. Together they share log entries and fsyncs. The answer is sent
//! once all accepted jobs are durable.

mod feasibility;

use super::audited::AuditRemark;
use super::error::ApiFailure;
use super::origin::Origin;
use super::right_check::check_dependencies;
use super::submit::{join_environment, no_outcome, owner, submit_answer};
use crate::core::{CommandError, Core};
use crate::disk_guard::DiskGuard;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use common::id::{RequestKey, Uid};
use common::job::check::{check_ask, check_script};
use common::reason::Refusal;
use common::wire::api::{
    BATCH_BYTES_MAX, BATCH_JOBS_MAX, BatchAnswer, BatchJob, BatchOutcome, BatchRequest,
};
use feasibility::{LastChecked, refusals_of_never_fitting};
use state::{Command, Event, ManyJobs, OneOfMany};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most jobs, and bytes of their scripts and environments, that are in the log's queue at once,
/// so that it has space for other requests.
const CHUNK_JOBS_MAX: usize = 512;
const CHUNK_BYTES_MAX: usize = 8 << 20;
/// The number of jobs checked before the scheduler's cache is released for others.
const CHECKED_AT_ONCE: usize = 64;

pub async fn submit(
    State(core): State<Arc<Core>>,
    Extension(disk_guard): Extension<Arc<DiskGuard>>,
    user: net::User,
    origin: Origin,
    Extension(remark): Extension<AuditRemark>,
    body: Result<Json<BatchRequest>, JsonRejection>,
) -> Result<Json<BatchAnswer>, ApiFailure> {
    let Json(request) = body?;
    let environments: Vec<String> =
        request.environments.iter().map(join_environment).collect::<Result<_, _>>()?;
    let texts = Texts { scripts: request.scripts, environments };
    check_size(&request.jobs, &texts)?;
    let known = already_submitted(&core, Uid(user.uid), &request.request_key, request.jobs.len());
    let mut judged = check_jobs(&core, &user, request.jobs, &known, &texts).await;
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(&user).operator;
    let mut outcomes = Vec::with_capacity(judged.len());
    while !judged.is_empty() {
        let later = judged.split_off(chunk_len(&judged, &texts));
        let now = std::mem::replace(&mut judged, later);
        let place = outcomes.len();
        // A repeated request for accepted jobs is answered even if the disk is nearly full.
        if !known[place..place + now.len()].iter().all(|known| *known) {
            disk_guard.check()?;
        }
        let (now, failures) = split_refused(now);
        let scripts = UsedTexts::new(&texts.scripts, now.iter().map(|(_, job)| job.script));
        let environments =
            UsedTexts::new(&texts.environments, now.iter().map(|(_, job)| job.environment));
        let one = |(number, job): Indexed<BatchJob>| OneOfMany {
            request_key: request_key_at(&request.request_key, place + number),
            ask: job.ask,
            script: scripts.new_place(job.script),
            environment: environments.new_place(job.environment),
        };
        let notes = now.iter().map(|(_, job)| core.mail.warning(&job.ask)).collect();
        let command = Command::SubmitJobs(ManyJobs {
            owner: owner.clone(),
            groups: groups.clone(),
            operator,
            via: origin.vouching_node(),
            jobs: now.into_iter().map(one).collect(),
            scripts: scripts.texts,
            environments: environments.texts,
        });
        let accepted = propose_jobs(&core, command, notes).await?;
        outcomes.extend(merge_outcomes(accepted, failures));
    }
    note_accepted(&remark, &outcomes);
    Ok(Json(BatchAnswer { jobs: outcomes }))
}

/// Notes in the audit line which jobs were accepted; their ids are usually consecutive.
fn note_accepted(remark: &AuditRemark, outcomes: &[BatchOutcome]) {
    let accepted = outcomes.iter().filter_map(|outcome| match outcome {
        BatchOutcome::Accepted(answer) => Some(answer.job),
        BatchOutcome::Refused { .. } => None,
    });
    let (first, last) = (accepted.clone().min(), accepted.clone().max());
    if let (Some(first), Some(last)) = (first, last) {
        remark.set_target(format!("{first}-{last}"));
    }
    remark.set_detail(format!("{} of {} accepted", accepted.count(), outcomes.len()));
}

/// The scripts and environments that the jobs of a request share.
struct Texts {
    scripts: Vec<String>,
    environments: Vec<String>,
}

impl Texts {
    /// Empty if the request has no such script; the job is then refused.
    fn script(&self, job: &BatchJob) -> &str {
        self.scripts.get(job.script as usize).map_or("", String::as_str)
    }

    fn environment(&self, job: &BatchJob) -> &str {
        self.environments.get(job.environment as usize).map_or("", String::as_str)
    }

    fn bytes(&self, job: &BatchJob) -> usize {
        self.script(job).len() + self.environment(job).len()
    }
}

/// The texts that a part of the jobs uses, and their new positions.
struct UsedTexts {
    texts: Vec<String>,
    places: BTreeMap<u32, u32>,
}

impl UsedTexts {
    fn new(all: &[String], named: impl Iterator<Item = u32>) -> Self {
        let named: BTreeSet<u32> = named.collect();
        let texts = named.iter().filter_map(|place| all.get(*place as usize)).cloned().collect();
        Self { texts, places: named.into_iter().zip(0..).collect() }
    }

    fn new_place(&self, place: u32) -> u32 {
        self.places.get(&place).copied().unwrap_or(u32::MAX)
    }
}

/// Which jobs an earlier attempt of the same request submitted. These are not checked again,
/// because later changes must not make an accepted job look refused.
fn already_submitted(core: &Core, uid: Uid, whole: &RequestKey, count: usize) -> Vec<bool> {
    let state = core.state.read();
    (0..count)
        .map(|place| state.answered_request(uid, &request_key_at(whole, place)).is_some())
        .collect()
}

/// How many of the first jobs are proposed together.
fn chunk_len(judged: &[Result<BatchJob, ApiFailure>], texts: &Texts) -> usize {
    let mut bytes = 0;
    let fits = |job: &&Result<BatchJob, ApiFailure>| {
        bytes += job.as_ref().map_or(0, |job| texts.bytes(job));
        bytes <= CHUNK_BYTES_MAX
    };
    judged.iter().take(CHUNK_JOBS_MAX).take_while(fits).count().max(1)
}

/// Checks the size of the whole batch.
fn check_size(jobs: &[BatchJob], texts: &Texts) -> Result<(), Refusal> {
    let count = jobs.len();
    if !(1..=BATCH_JOBS_MAX).contains(&count) {
        let message = format!("the batch has {count} jobs: send 1 to {BATCH_JOBS_MAX} per request");
        return Err(Refusal::BadAsk { message });
    }
    let bytes: usize = jobs.iter().map(|job| texts.bytes(job)).sum();
    if bytes > BATCH_BYTES_MAX {
        let (mib, most) = (bytes >> 20, BATCH_BYTES_MAX >> 20);
        let message = format!(
            "the batch has {mib} MiB of scripts and environments, counted once for each of its \
             {count} jobs: send at most {most} MiB per request"
        );
        return Err(Refusal::BadAsk { message });
    }
    Ok(())
}

/// The request key of the job at this position.
fn request_key_at(whole: &RequestKey, place: usize) -> RequestKey {
    RequestKey(format!("{}.{place}", whole.0))
}

/// Refuses invalid jobs and jobs that can never run, except those submitted before.
async fn check_jobs(
    core: &Arc<Core>,
    user: &net::User,
    jobs: Vec<BatchJob>,
    known: &[bool],
    texts: &Texts,
) -> Vec<Result<BatchJob, ApiFailure>> {
    let scripts: Vec<_> =
        texts.scripts.iter().map(|script| check_script(script.as_bytes()).map(drop)).collect();
    let checked = |(job, known): (BatchJob, &bool)| {
        let has_environment = (job.environment as usize) < texts.environments.len();
        match scripts.get(job.script as usize).filter(|_| has_environment) {
            None => {
                let message = "it refers to a script or environment that is not in the request";
                Err(Refusal::BadAsk { message: message.to_owned() })?
            }
            Some(_) if *known => Ok(job),
            Some(Err(error)) => Err(error.clone())?,
            Some(Ok(())) => {
                check_ask(&job.ask)?;
                check_dependencies(core, user, &job.ask)?;
                Ok(job)
            }
        }
    };
    let checked: Vec<Result<BatchJob, ApiFailure>> =
        jobs.into_iter().zip(known).map(checked).collect();
    let (core, known) = (core.clone(), known.to_vec());
    let judged = tokio::task::spawn_blocking(move || {
        let mut last = LastChecked::default();
        let pieces = checked.chunks(CHECKED_AT_ONCE).zip(known.chunks(CHECKED_AT_ONCE));
        let refused: Vec<Option<Refusal>> = pieces
            .flat_map(|(jobs, known)| refusals_of_never_fitting(&core, jobs, known, &mut last))
            .collect();
        let judged = checked.into_iter().zip(refused);
        let judge = |(job, refusal): (Result<_, _>, Option<Refusal>)| match refusal {
            Some(refusal) => Err(ApiFailure::from(refusal)),
            None => job,
        };
        judged.map(judge).collect()
    });
    // The task fails only while the controller stops, and then the log accepts no jobs either.
    judged.await.unwrap_or_default()
}

/// An item with its position among the jobs.
type Indexed<T> = (usize, T);

/// Separates the jobs to propose from those refused.
fn split_refused(
    judged: Vec<Result<BatchJob, ApiFailure>>,
) -> (Vec<Indexed<BatchJob>>, Vec<Indexed<ApiFailure>>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (place, judged) in judged.into_iter().enumerate() {
        match judged {
            Ok(job) => good.push((place, job)),
            Err(failure) => bad.push((place, failure)),
        }
    }
    (good, bad)
}

/// All outcomes in order, with the earlier refusals inserted at their positions.
fn merge_outcomes(
    proposed: Vec<BatchOutcome>,
    failures: Vec<Indexed<ApiFailure>>,
) -> Vec<BatchOutcome> {
    let mut outcomes = proposed;
    for (place, failure) in failures {
        outcomes.insert(place, refused_outcome(&failure));
    }
    outcomes
}

/// Proposes jobs and returns the outcome of each; `notes` are warnings for the accepted ones. Only
/// a failure unrelated to the jobs fails the whole request, which can then be repeated.
async fn propose_jobs(
    core: &Core,
    command: Command,
    notes: Vec<Option<String>>,
) -> Result<Vec<BatchOutcome>, ApiFailure> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let events = match core.propose_command(command).await {
        Err(error @ CommandError::NotTaken(_)) => return Err(error.into()),
        Err(error) => {
            let failure = ApiFailure::from(error);
            return Ok(notes.iter().map(|_| refused_outcome(&failure)).collect());
        }
        Ok(events) => events,
    };
    let mut reported = events.into_iter().filter_map(|event| match event {
        Event::JobSubmitted { job, tasks, .. } => Some(Ok((job, tasks))),
        Event::SubmitRefused { refusal, .. } => Some(Err(refusal)),
        _ => None,
    });
    let outcome = |note: Option<String>| match reported.next().unwrap_or_else(|| Err(no_outcome()))
    {
        Ok((job, tasks)) => BatchOutcome::Accepted(submit_answer(core, note, job, tasks)),
        Err(refusal) => refused_outcome(&refusal.into()),
    };
    Ok(notes.into_iter().map(outcome).collect())
}

fn refused_outcome(failure: &ApiFailure) -> BatchOutcome {
    let (code, message) = (failure.code().to_owned(), failure.to_string());
    BatchOutcome::Refused { code, message, hint: failure.hint() }
}
