//! POST /v1/jobs/batch: many submits in one request. Each is checked, accepted or refused by
//! itself, as POST /v1/jobs would; together they share entries of the log, and their syncs. Never
//! answers before all that it accepted is on disk.

mod fitting;

use super::audited::Remark;
use super::error::ApiFailure;
use super::origin::Origin;
use super::submit::{both, doubt, join_environment, owner};
use crate::core::{CommandError, Core};
use crate::room::Room;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use common::id::{RequestKey, Uid};
use common::job::check::{check_ask, check_script};
use common::reason::Refusal;
use common::wire::api::{
    BATCH_BYTES_MAX, BATCH_JOBS_MAX, BatchAnswer, BatchJob, BatchOutcome, BatchRequest,
    SubmitAnswer,
};
use fitting::{Last, never_fit};
use state::{Command, Event, ManyJobs, OneOfMany};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many wait for the log at once, with so many bytes of scripts and environments: few enough
/// that others still find room there.
const AT_ONCE: usize = 512;
const AT_ONCE_BYTES: usize = 8 << 20;
/// So many are judged before rounds and other people's jobs have their turn again.
const JUDGED_AT_ONCE: usize = 64;

pub async fn submit(
    State(core): State<Arc<Core>>,
    Extension(room): Extension<Arc<Room>>,
    user: net::User,
    origin: Origin,
    Extension(remark): Extension<Remark>,
    body: Result<Json<BatchRequest>, JsonRejection>,
) -> Result<Json<BatchAnswer>, ApiFailure> {
    let Json(request) = body?;
    let environments: Vec<String> =
        request.environments.iter().map(join_environment).collect::<Result<_, _>>()?;
    let texts = Texts { scripts: request.scripts, environments };
    check_size(&request.jobs, &texts)?;
    let known = known(&core, Uid(user.uid), &request.request_key, request.jobs.len());
    let mut judged = judge(&core, request.jobs, &known, &texts).await;
    let (owner, groups) = owner(&core, &user).await?;
    let operator = core.actor(owner.uid).operator;
    let mut outcomes = Vec::with_capacity(judged.len());
    while !judged.is_empty() {
        let later = judged.split_off(at_once(&judged, &texts));
        let now = std::mem::replace(&mut judged, later);
        let place = outcomes.len();
        // What was accepted before is answered again, also where there is no room for more.
        if !known[place..place + now.len()].iter().all(|known| *known) {
            room.check()?;
        }
        let (now, failures) = parted(now);
        let scripts = Brought::new(&texts.scripts, now.iter().map(|(_, job)| job.script));
        let environments =
            Brought::new(&texts.environments, now.iter().map(|(_, job)| job.environment));
        let one = |(number, job): At<BatchJob>| OneOfMany {
            request_key: key(&request.request_key, place + number),
            ask: job.ask,
            script: scripts.place(job.script),
            environment: environments.place(job.environment),
        };
        let notes = now.iter().map(|(_, job)| core.mail.note(&job.ask)).collect();
        let command = Command::SubmitJobs(ManyJobs {
            owner: owner.clone(),
            groups: groups.clone(),
            operator,
            via: origin.node(),
            jobs: now.into_iter().map(one).collect(),
            scripts: scripts.texts,
            environments: environments.texts,
        });
        let accepted = propose(&core, command, notes).await?;
        outcomes.extend(in_order(accepted, failures));
    }
    say(&remark, &outcomes);
    Ok(Json(BatchAnswer { jobs: outcomes }))
}

/// Which were accepted: their numbers mostly follow each other.
fn say(remark: &Remark, outcomes: &[BatchOutcome]) {
    let accepted = outcomes.iter().filter_map(|outcome| match outcome {
        BatchOutcome::Accepted(answer) => Some(answer.job),
        BatchOutcome::Refused { .. } => None,
    });
    let (first, last) = (accepted.clone().min(), accepted.clone().max());
    if let (Some(first), Some(last)) = (first, last) {
        remark.target(format!("{first}-{last}"));
    }
    remark.detail(format!("{} of {} accepted", accepted.count(), outcomes.len()));
}

/// What jobs of a request share.
struct Texts {
    scripts: Vec<String>,
    environments: Vec<String>,
}

impl Texts {
    /// Empty where the request does not bring it: such a job is refused.
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

/// The texts that some jobs of a request name, and their places among these.
struct Brought {
    texts: Vec<String>,
    places: BTreeMap<u32, u32>,
}

impl Brought {
    fn new(all: &[String], named: impl Iterator<Item = u32>) -> Self {
        let named: BTreeSet<u32> = named.collect();
        let texts = named.iter().filter_map(|place| all.get(*place as usize)).cloned().collect();
        Self { texts, places: named.into_iter().zip(0..).collect() }
    }

    fn place(&self, place: u32) -> u32 {
        self.places.get(&place).copied().unwrap_or(u32::MAX)
    }
}

/// Which of them an earlier try of the same request brought in. Nothing is asked of those again:
/// what has changed since must not make a job that runs look refused.
fn known(core: &Core, uid: Uid, whole: &RequestKey, count: usize) -> Vec<bool> {
    let state = core.state.read();
    (0..count).map(|place| state.request(uid, &key(whole, place)).is_some()).collect()
}

/// How many of the first go to the log together.
fn at_once(judged: &[Result<BatchJob, ApiFailure>], texts: &Texts) -> usize {
    let mut bytes = 0;
    let fits = |job: &&Result<BatchJob, ApiFailure>| {
        bytes += job.as_ref().map_or(0, |job| texts.bytes(job));
        bytes <= AT_ONCE_BYTES
    };
    judged.iter().take(AT_ONCE).take_while(fits).count().max(1)
}

/// What can be said of the whole.
fn check_size(jobs: &[BatchJob], texts: &Texts) -> Result<(), Refusal> {
    let count = jobs.len();
    if !(1..=BATCH_JOBS_MAX).contains(&count) {
        let message = format!("a batch of {count} jobs: send 1 to {BATCH_JOBS_MAX} in one request");
        return Err(Refusal::BadAsk { message });
    }
    let bytes: usize = jobs.iter().map(|job| texts.bytes(job)).sum();
    if bytes > BATCH_BYTES_MAX {
        let (mib, most) = (bytes >> 20, BATCH_BYTES_MAX >> 20);
        let message = format!(
            "a batch of {count} jobs whose scripts and environments are {mib} MiB, counted for \
             each job: send at most {most} MiB in one request"
        );
        return Err(Refusal::BadAsk { message });
    }
    Ok(())
}

/// Of the job at this place.
fn key(whole: &RequestKey, place: usize) -> RequestKey {
    RequestKey(format!("{}.{place}", whole.0))
}

/// Refuses what makes no sense or never fits, but for those that are known.
async fn judge(
    core: &Arc<Core>,
    jobs: Vec<BatchJob>,
    known: &[bool],
    texts: &Texts,
) -> Vec<Result<BatchJob, ApiFailure>> {
    let scripts: Vec<_> =
        texts.scripts.iter().map(|script| check_script(script.as_bytes()).map(drop)).collect();
    let checked = |(job, known): (BatchJob, &bool)| {
        let is_brought = (job.environment as usize) < texts.environments.len();
        match scripts.get(job.script as usize).filter(|_| is_brought) {
            None => {
                let message = "it names a script or environment that the request does not bring";
                Err(Refusal::BadAsk { message: message.to_owned() })?
            }
            Some(_) if *known => Ok(job),
            Some(Err(error)) => Err(error.clone())?,
            Some(Ok(())) => check_ask(&job.ask).map(|()| job).map_err(ApiFailure::from),
        }
    };
    let checked: Vec<Result<BatchJob, ApiFailure>> =
        jobs.into_iter().zip(known).map(checked).collect();
    let (core, known) = (core.clone(), known.to_vec());
    let judged = tokio::task::spawn_blocking(move || {
        let mut last = Last::default();
        let pieces = checked.chunks(JUDGED_AT_ONCE).zip(known.chunks(JUDGED_AT_ONCE));
        let refused: Vec<Option<Refusal>> =
            pieces.flat_map(|(jobs, known)| never_fit(&core, jobs, known, &mut last)).collect();
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

/// Something with its place among the jobs.
type At<T> = (usize, T);

/// Those that are proposed, and the others.
fn parted(judged: Vec<Result<BatchJob, ApiFailure>>) -> (Vec<At<BatchJob>>, Vec<At<ApiFailure>>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (place, judged) in judged.into_iter().enumerate() {
        match judged {
            Ok(job) => good.push((place, job)),
            Err(failure) => bad.push((place, failure)),
        }
    }
    (good, bad)
}

/// All outcomes, those that were refused before at their places among the others.
fn in_order(proposed: Vec<BatchOutcome>, failures: Vec<At<ApiFailure>>) -> Vec<BatchOutcome> {
    let mut outcomes = proposed;
    for (place, failure) in failures {
        outcomes.insert(place, refused(&failure));
    }
    outcomes
}

/// An outcome for each of the jobs; `notes` are what to tell the users of each that is accepted.
/// Only what is nobody's fault here fails the whole request: then it is asked again.
async fn propose(
    core: &Core,
    command: Command,
    notes: Vec<Option<String>>,
) -> Result<Vec<BatchOutcome>, ApiFailure> {
    if notes.is_empty() {
        return Ok(Vec::new());
    }
    let events = match core.command(command).await {
        Err(error @ CommandError::NotTaken(_)) => return Err(error.into()),
        Err(error) => {
            let failure = ApiFailure::from(error);
            return Ok(notes.iter().map(|_| refused(&failure)).collect());
        }
        Ok(events) => events,
    };
    let mut said = events.into_iter().filter_map(|event| match event {
        Event::JobSubmitted { job, tasks, .. } => Some(Ok((job, tasks))),
        Event::SubmitRefused { refusal, .. } => Some(Err(refusal)),
        _ => None,
    });
    let unsaid = || Refusal::BadAsk {
        message: "the controller did not say what became of it: see `kantctl queue`".to_owned(),
    };
    let outcome = |note: Option<String>| match said.next().unwrap_or_else(|| Err(unsaid())) {
        Ok((job, tasks)) => BatchOutcome::Accepted(SubmitAnswer {
            job,
            tasks,
            warning: both(note, doubt(core, job)),
        }),
        Err(refusal) => refused(&refusal.into()),
    };
    Ok(notes.into_iter().map(outcome).collect())
}

fn refused(failure: &ApiFailure) -> BatchOutcome {
    let (code, message) = (failure.code().to_owned(), failure.to_string());
    BatchOutcome::Refused { code, message, hint: None }
}
