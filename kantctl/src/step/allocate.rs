//! Nodes for a step or a shell: a job that runs nothing by itself, asked for, waited for with a
//! word why it waits, and given back. Never keeps one longer than this process lives, but where
//! that is wanted.

use super::ground::Ground;
use super::keeper::{Keeper, lease};
use crate::failure::Failure;
use crate::output::jobs::{ending, why};
use crate::output::screen::note;
use crate::server::{Again, POLL_SECONDS, Server};
use crate::signals::Signals;
use crate::submission::options::Options;
use crate::submission::script::Script;
use crate::submission::shell::Shell;
use crate::verb::{submit, trial};
use common::id::JobKey;
use common::job::{ExitStatus, Launch, Phase};
use common::time::Span;
use common::wire::api::{
    Changed, Explanation, FinishRequest, JobList, JobView, SubmitAnswer, SubmitRequest,
};
use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a controller may be away before a submission is given up.
const SUBMIT_PATIENCE: Duration = Duration::from_secs(30);
/// How long it may be away while somebody waits.
const PATIENCE: Duration = Duration::from_secs(600);
/// What starts within this time did not wait.
const AT_ONCE_SECONDS: u64 = 1;

/// In whose words it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    Kant,
    /// `srun`'s.
    Srun,
    /// `salloc`'s, which clients read.
    Salloc,
}

/// What is asked for.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// Resources and the rest, as of a submission.
    pub options: &'a Options,
    /// What it is for, for the record; the first word is its name.
    pub program: &'a [String],
    /// How it is told.
    pub voice: Voice,
    /// Given up when it has not started by then.
    pub immediate: Option<Duration>,
    /// It stays when this process is gone.
    pub stays: bool,
}

/// A job whose nodes are ours.
#[derive(Debug)]
pub struct Held {
    /// As it began to run.
    pub job: JobView,
    pub ground: Ground,
    pub keeper: Keeper,
}

/// Options that make no sense for a job that somebody waits for.
///
/// # Errors
/// [`Failure`] with the first of them.
pub fn check(options: &Options) -> Result<(), Failure> {
    let wrong = [
        (options.array.is_some(), "--array: `kantctl submit` has arrays"),
        (options.launch.is_some(), "--launch: tasks always run; choose them with --ntasks"),
        (options.wait, "--wait: it always waits"),
        (options.parsable, "--parsable: `kantctl submit` prints ids"),
    ];
    match wrong.into_iter().find(|(given, _)| *given) {
        Some((_, text)) => Err(Failure::usage(anyhow::anyhow!(text))),
        None => Ok(()),
    }
}

/// Asks for nodes and waits until they are there.
///
/// # Errors
/// [`Failure`] when it is refused, given up, or ends before it began.
pub async fn allocate(
    wanted: &Wanted<'_>,
    server: &Server,
    signals: &mut Signals,
) -> Result<Held, Failure> {
    let request = request(wanted)?;
    let answer: SubmitAnswer = server.post_keyed("/v1/jobs", &request, SUBMIT_PATIENCE).await?;
    let key = JobKey::single(answer.job);
    let keeper = Keeper::start(server, (!wanted.stays).then_some(key));
    let waited = tokio::select! {
        job = wait(wanted, key, server) => job,
        signal = refusal(signals) => {
            Err(Failure::message(format!("gave up job {key} at {signal}")))
        }
    };
    let started = waited.and_then(|job| match Ground::of(&job) {
        Some(ground) => Ok((job, ground)),
        None => Err(Failure::message(format!("job {key} was given no nodes"))),
    });
    match started {
        Ok((job, ground)) => Ok(Held { job, ground, keeper }),
        Err(failure) => {
            cancel(server, key).await;
            Err(failure)
        }
    }
}

/// Says when and where there would be nodes, and asks for none.
///
/// # Errors
/// [`Failure`] when it would be refused, or could never start.
pub async fn try_out(wanted: &Wanted<'_>, server: &Server) -> Result<u8, Failure> {
    trial::tell(&request(wanted)?, wanted.voice != Voice::Kant, server, None).await
}

fn request(wanted: &Wanted<'_>) -> Result<SubmitRequest, Failure> {
    check(wanted.options)?;
    let shell = Shell::look()?;
    let options = match wanted.voice {
        Voice::Kant => wanted.options.clone(),
        Voice::Srun | Voice::Salloc => wanted.options.clone().with_all_named_nodes(),
    };
    let mut request = submit::request(&options, &record(wanted.program), &[], &shell)?;
    request.ask.launch = Launch::Held;
    request.ask.requeue = false;
    request.ask.stdin = None;
    request.ask.stdout = Some("/dev/null".to_owned());
    request.ask.stderr = None;
    let lease = Span::from_seconds(lease().as_secs());
    request.ask.lease = (!wanted.stays).then_some(lease);
    Ok(request)
}

/// Those that nobody wants to wait after.
pub async fn refusal(signals: &mut Signals) -> Signal {
    loop {
        let signal = signals.next().await;
        let ends = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
        if ends.contains(&signal) {
            return signal;
        }
    }
}

/// What is kept of it as its script, which never runs.
fn record(program: &[String]) -> Script {
    let words: Vec<String> =
        program.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let first = program.first().map(String::as_str).unwrap_or_default();
    let name = std::path::Path::new(first).file_name().unwrap_or_default();
    Script {
        origin: "the command".to_owned(),
        command: Some(program.join(" ")).filter(|command| !command.is_empty()),
        job_name: name.to_string_lossy().into_owned(),
        text: format!("#!/bin/sh\n# Started by hand, on nodes held for it.\n{}\n", words.join(" ")),
        has_directives: false,
    }
}

async fn wait(wanted: &Wanted<'_>, key: JobKey, server: &Server) -> Result<JobView, Failure> {
    let until = wanted.immediate.map(|patience| Instant::now() + patience);
    let (mut seconds, mut told) = (AT_ONCE_SECONDS, None);
    if wanted.voice == Voice::Salloc && !wanted.options.quiet {
        note(&format!("Pending job allocation {key}"));
    }
    loop {
        let path = format!("/v1/jobs/{key}/wait?seconds={seconds}&until=started");
        let asked = server.get_for::<JobList>(&path, PATIENCE);
        let list = match until {
            None => asked.await?,
            Some(until) => match timeout_at(until, asked).await {
                Ok(list) => list?,
                Err(_) => return Err(busy(key)),
            },
        };
        let Some(job) = list.jobs.into_iter().next() else {
            return Err(Failure::message(format!("job {key} is not known any more")));
        };
        match job.phase {
            Phase::Running => {
                started(wanted, key, told.is_some());
                return Ok(job);
            }
            Phase::Pending | Phase::Starting => {}
            Phase::Suspended | Phase::Completing | Phase::Done => {
                let how = ending(&job);
                let gap = if how.is_empty() { "" } else { ": " };
                let text = format!("job {key} ended before it began, as {}{gap}{how}", job.state);
                return Err(Failure::message(text));
            }
        }
        let code = job.reason.as_ref().map(|reason| reason.code.clone()).unwrap_or_default();
        if job.phase == Phase::Pending && told.as_ref() != Some(&code) {
            if !wanted.options.quiet {
                waits(wanted, &job, told.is_none(), server).await;
            }
            told = Some(code);
        }
        seconds = POLL_SECONDS;
    }
}

fn busy(key: JobKey) -> Failure {
    let text = format!("Unable to allocate resources: job {key} could not start in time");
    Failure::message(text).hint("leave out --immediate to wait for it")
}

fn started(wanted: &Wanted<'_>, key: JobKey, has_waited: bool) {
    if wanted.options.quiet {
        return;
    }
    match wanted.voice {
        Voice::Kant if has_waited => note(&format!("job {key} starts")),
        Voice::Srun | Voice::Salloc if has_waited => {
            note(&format!("job {key} has been allocated resources"));
        }
        _ => {}
    }
    if wanted.voice == Voice::Salloc {
        note(&format!("Granted job allocation {key}"));
    }
}

/// Why, where in line, and until when as far as anybody can say.
async fn waits(wanted: &Wanted<'_>, job: &JobView, is_first: bool, server: &Server) {
    let key = job.key;
    if is_first && wanted.voice != Voice::Kant {
        note(&format!("job {key} queued and waiting for resources"));
    }
    let place = job.position.map(|place| format!(" (number {place} in line)")).unwrap_or_default();
    let why = why(job).unwrap_or_default();
    let asked = server.get::<Explanation>(&format!("/v1/jobs/{key}/explain")).await;
    let expected = asked.ok().and_then(|told| told.expected_at);
    // Some reasons name the time themselves.
    let expected = expected.map(|at| format!("; expected by {at}"));
    let expected = expected.filter(|at| !why.ends_with(at.as_str())).unwrap_or_default();
    note(&format!("job {key} waits{place}: {why}{expected}"));
}

/// A shell's code as an exit: 128+N is signal N.
#[must_use]
pub const fn as_exit(code: u8) -> ExitStatus {
    match code {
        129..=192 => ExitStatus { code: 0, signal: Some(code - 128) },
        code => ExitStatus { code, signal: None },
    }
}

/// Gives the nodes back; the job ends as what ran on them did.
pub async fn finish(server: &Server, key: JobKey, code: u8) {
    let exit = as_exit(code);
    let path = format!("/v1/jobs/{key}/finish");
    let wish = FinishRequest { exit };
    let told = server.post::<_, Changed>(&path, &wish, Again::IfUnanswered).await;
    if let Err(failure) = told
        && !is_over(&failure)
    {
        note(&format!("failed to give job {key} back: it ends by itself soon: {failure}"));
    }
}

async fn cancel(server: &Server, key: JobKey) {
    let path = format!("/v1/jobs/{key}/cancel");
    let told = server.post::<_, Changed>(&path, &(), Again::IfUnanswered).await;
    if let Err(failure) = told
        && !is_over(&failure)
    {
        note(&format!("failed to cancel job {key}: it ends by itself soon: {failure}"));
    }
}

/// It had ended by other means.
fn is_over(failure: &Failure) -> bool {
    matches!(failure.code(), Some("already_done" | "wrong_phase" | "unknown_job"))
}
