//! Allocation of nodes for a step or a shell: submits a job without a program, waits for it while
//! printing the reason, and releases it. The job ends with this process unless requested otherwise.

use super::job_allocation::JobAllocation;
use super::lease_renewer::{LeaseRenewer, lease_duration};
use crate::failure::Failure;
use crate::output::jobs::{ending, why};
use crate::output::screen::note;
use crate::server::{POLL_SECONDS, Retry, Server};
use crate::signals::Signals;
use crate::submission::options::Options;
use crate::submission::script::Script;
use crate::submission::shell::Shell;
use crate::submission::{submit_request, test_only};
use common::id::JobKey;
use common::job::{Attribute, ExitStatus, Launch, Phase};
use common::time::Span;
use common::wire::api::{
    Changed, Explanation, FinishRequest, JobList, JobView, SubmitAnswer, SubmitRequest,
};
use nix::sys::signal::Signal;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a controller may be unreachable before a submission is given up.
const SUBMIT_PATIENCE: Duration = Duration::from_secs(30);
/// How long it may be unreachable while the user waits.
const PATIENCE: Duration = Duration::from_secs(600);
/// Waiting is reported only if it takes longer than this.
const AT_ONCE_SECONDS: u64 = 1;

/// The command line that is imitated in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocDialect {
    Kant,
    /// srun.
    Srun,
    /// salloc, with messages that programs parse.
    Salloc,
}

/// The requested allocation.
#[derive(Debug)]
pub struct AllocationRequest<'a> {
    /// Resources and other options, as for a submission.
    pub options: &'a Options,
    /// The program, for the job's record; its first word is the default job name.
    pub program: &'a [String],
    pub dialect: AllocDialect,
    /// Give up if the job has not started within this time.
    pub immediate: Option<Duration>,
    /// The allocation outlives this process.
    pub stays: bool,
}

/// A running job with allocated nodes.
#[derive(Debug)]
pub struct AllocatedJob {
    /// The job when it started.
    pub job: JobView,
    pub allocation: JobAllocation,
    pub lease_renewer: LeaseRenewer,
}

/// Refuses options that are invalid for an interactive job.
///
/// # Errors
/// [`Failure`] with the first of them.
pub fn check(options: &Options) -> Result<(), Failure> {
    let wrong = [
        (options.has(Attribute::Array), "--array: only `kantctl submit` submits arrays"),
        (options.has(Attribute::Launch), "--launch: use --ntasks to choose the number of tasks"),
        (options.has(Attribute::Wait), "--wait: this command always waits"),
        (options.has(Attribute::Parsable), "--parsable: only `kantctl submit` prints ids"),
    ];
    match wrong.into_iter().find(|(given, _)| *given) {
        Some((_, text)) => Err(Failure::usage(anyhow::anyhow!(text))),
        None => Ok(()),
    }
}

/// Requests nodes, and waits until they are allocated.
///
/// # Errors
/// [`Failure`] when the request is refused or given up, or the job ends before it starts.
pub async fn allocate(
    wanted: &AllocationRequest<'_>,
    server: &Server,
    signals: &mut Signals,
) -> Result<AllocatedJob, Failure> {
    let request = request(wanted)?;
    let answer: SubmitAnswer = server.post_keyed("/v1/jobs", &request, SUBMIT_PATIENCE).await?;
    let key = JobKey::single(answer.job);
    let lease_renewer = LeaseRenewer::start(server, (!wanted.stays).then_some(key));
    let waited = tokio::select! {
        job = wait(wanted, key, server) => job,
        signal = ending_signal(signals) => {
            Err(Failure::from_message(format!("gave up job {key} after {signal}")))
        }
    };
    let started = waited.and_then(|job| match JobAllocation::of(&job) {
        Some(allocation) => Ok((job, allocation)),
        None => Err(Failure::from_message(format!("job {key} was given no nodes"))),
    });
    match started {
        Ok((job, allocation)) => Ok(AllocatedJob { job, allocation, lease_renewer }),
        Err(failure) => {
            cancel(server, key).await;
            Err(failure)
        }
    }
}

/// Prints when and where the job would start, without submitting it.
///
/// # Errors
/// [`Failure`] when the job would be refused, or could never start.
pub async fn test_only(wanted: &AllocationRequest<'_>, server: &Server) -> Result<u8, Failure> {
    test_only::report(&request(wanted)?, wanted.dialect != AllocDialect::Kant, server, None).await
}

fn request(wanted: &AllocationRequest<'_>) -> Result<SubmitRequest, Failure> {
    check(wanted.options)?;
    let shell = Shell::current()?;
    let options = match wanted.dialect {
        AllocDialect::Kant => wanted.options.clone(),
        AllocDialect::Srun | AllocDialect::Salloc => wanted.options.clone().with_all_named_nodes(),
    };
    let mut request =
        submit_request::build(&options, &placeholder_script(wanted.program), &[], &shell)?;
    request.ask.launch = Launch::Held;
    request.ask.requeue = false;
    request.ask.stdin = None;
    request.ask.stdout = Some("/dev/null".to_owned());
    request.ask.stderr = None;
    let lease = Span::from_seconds(lease_duration().as_secs());
    request.ask.lease = (!wanted.stays).then_some(lease);
    Ok(request)
}

/// The next signal that ends waiting.
pub async fn ending_signal(signals: &mut Signals) -> Signal {
    loop {
        let signal = signals.next().await;
        let ends = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
        if ends.contains(&signal) {
            return signal;
        }
    }
}

/// The script in the job's record, which is never executed.
fn placeholder_script(program: &[String]) -> Script {
    let words: Vec<String> =
        program.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let first = program.first().map(String::as_str).unwrap_or_default();
    let name = std::path::Path::new(first).file_name().unwrap_or_default();
    Script {
        origin: "the command".to_owned(),
        command: Some(program.join(" ")).filter(|command| !command.is_empty()),
        job_name: name.to_string_lossy().into_owned(),
        text: format!(
            "#!/bin/sh\n# Started interactively, on nodes allocated for it.\n{}\n",
            words.join(" ")
        ),
        has_directives: false,
    }
}

async fn wait(
    wanted: &AllocationRequest<'_>,
    key: JobKey,
    server: &Server,
) -> Result<JobView, Failure> {
    let until = wanted.immediate.map(|patience| Instant::now() + patience);
    let (mut seconds, mut reported) = (AT_ONCE_SECONDS, None);
    if wanted.dialect == AllocDialect::Salloc && !wanted.options.has(Attribute::Quiet) {
        note(&format!("Pending job allocation {key}"));
    }
    loop {
        let path = format!("/v1/jobs/{key}/wait?seconds={seconds}&until=started");
        let asked = server.get_retrying::<JobList>(&path, PATIENCE);
        let list = match until {
            None => asked.await?,
            Some(until) => match timeout_at(until, asked).await {
                Ok(list) => list?,
                Err(_) => return Err(not_started_in_time(key)),
            },
        };
        let Some(job) = list.jobs.into_iter().next() else {
            return Err(Failure::from_message(format!("job {key} is no longer known")));
        };
        match job.phase {
            Phase::Running => {
                report_start(wanted, key, reported.is_some());
                return Ok(job);
            }
            Phase::Pending | Phase::Starting => {}
            Phase::Suspended | Phase::Completing | Phase::Done => {
                let how = ending(&job);
                let gap = if how.is_empty() { "" } else { ": " };
                let text = format!("job {key} ended before it started, as {}{gap}{how}", job.state);
                return Err(Failure::from_message(text));
            }
        }
        let code = job.reason.as_ref().map(|reason| reason.code.clone()).unwrap_or_default();
        if job.phase == Phase::Pending && reported.as_ref() != Some(&code) {
            if !wanted.options.has(Attribute::Quiet) {
                report_waiting(wanted, &job, reported.is_none(), server).await;
            }
            reported = Some(code);
        }
        seconds = POLL_SECONDS;
    }
}

fn not_started_in_time(key: JobKey) -> Failure {
    let text = format!("Unable to allocate resources: job {key} could not start in time");
    Failure::from_message(text).with_hint("omit --immediate to wait for it")
}

fn report_start(wanted: &AllocationRequest<'_>, key: JobKey, has_waited: bool) {
    if wanted.options.has(Attribute::Quiet) {
        return;
    }
    match wanted.dialect {
        AllocDialect::Kant if has_waited => note(&format!("job {key} starts")),
        AllocDialect::Srun | AllocDialect::Salloc if has_waited => {
            note(&format!("job {key} has been allocated resources"));
        }
        _ => {}
    }
    if wanted.dialect == AllocDialect::Salloc {
        note(&format!("Granted job allocation {key}"));
    }
}

/// Prints why the job waits, its position in the queue, and its expected start if known.
async fn report_waiting(
    wanted: &AllocationRequest<'_>,
    job: &JobView,
    is_first: bool,
    server: &Server,
) {
    let key = job.key;
    if is_first && wanted.dialect != AllocDialect::Kant {
        note(&format!("job {key} queued and waiting for resources"));
    }
    let place =
        job.position.map(|place| format!(" (position {place} in the queue)")).unwrap_or_default();
    let why = why(job).unwrap_or_default();
    let asked = server.get::<Explanation>(&format!("/v1/jobs/{key}/explain")).await;
    let expected = asked.ok().and_then(|explained| explained.expected_at);
    let expected = expected.map(|at| format!("; expected by {at}"));
    // Some reasons end with the time themselves.
    let expected = expected.filter(|at| !why.ends_with(at.as_str())).unwrap_or_default();
    note(&format!("job {key} is waiting{place}: {why}{expected}"));
}

/// A shell's exit code as an exit status: 128+N is signal N.
#[must_use]
pub const fn exit_status_of(code: u8) -> ExitStatus {
    match code {
        129..=192 => ExitStatus { code: 0, signal: Some(code - 128) },
        code => ExitStatus { code, signal: None },
    }
}

/// Releases the nodes; the job ends with the exit code of the program.
pub async fn finish(server: &Server, key: JobKey, code: u8) {
    let exit = exit_status_of(code);
    let path = format!("/v1/jobs/{key}/finish");
    let request = FinishRequest { exit };
    let sent = server.post::<_, Changed>(&path, &request, Retry::IfUnanswered).await;
    if let Err(failure) = sent
        && !has_ended(&failure)
    {
        note(&format!(
            "failed to release job {key}, which will end soon when its lease expires: {failure}"
        ));
    }
}

async fn cancel(server: &Server, key: JobKey) {
    let path = format!("/v1/jobs/{key}/cancel");
    let sent = server.post::<_, Changed>(&path, &(), Retry::IfUnanswered).await;
    if let Err(failure) = sent
        && !has_ended(&failure)
    {
        note(&format!(
            "failed to cancel job {key}, which will end soon when its lease expires: {failure}"
        ));
    }
}

/// Whether the job has already ended.
fn has_ended(failure: &Failure) -> bool {
    matches!(failure.error_code(), Some("already_done" | "wrong_phase" | "unknown_job"))
}
