//! `scancel`: ends jobs and steps, or signals them. It prints nothing on success, as Slurm's does,
//! and sends no signal twice.
//! Source: man scancel.

mod target;

use super::shared_options::Common;
use cli::failure::{Failure, Kind, OK};
use cli::keys;
use cli::output::{Screen, screen};
use cli::server::{Retry, Server};
use cli::step::ledger_client;
use cli::verb::bulk_action;
use cli::verb::cancel::signal_request;
use cli::verb::filter::{Filter, check_states};
use common::id::{AccountName, JobKey, QosName, QueueName, ReservationName};
use common::job::Phase;
use common::job::attributes::Hosts;
use common::wire::api::{JobSignalRequest, JobView};
use futures_util::StreamExt as _;
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::pin::pin;
use target::Target;

/// Cancel or signal jobs and steps, as Slurm's scancel does
#[derive(clap::Parser, Debug)]
#[command(name = "scancel", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Jobs (42, 42_7, 42_[0-3]) or steps of running jobs (42.0)
    #[arg(value_name = "JOB[.STEP]")]
    pub jobs: Vec<Target>,
    /// Only jobs of this account
    #[arg(short = 'A', long, value_name = "ACCOUNT")]
    pub account: Option<AccountName>,
    /// Signal the batch script only
    #[arg(short = 'b', long)]
    pub batch: bool,
    /// Signal the batch script and all steps
    #[arg(short = 'f', long)]
    pub full: bool,
    /// Include requeued jobs (always)
    #[arg(long, hide = true)]
    pub ctld: bool,
    /// Only your own jobs
    #[arg(long)]
    pub me: bool,
    /// Only jobs with these names
    #[arg(
        short = 'n',
        long = "name",
        visible_alias = "jobname",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    pub names: Vec<String>,
    /// Only jobs of these partitions
    #[arg(short = 'p', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// Only jobs with this QoS
    #[arg(short = 'q', long, value_name = "QOS")]
    pub qos: Option<QosName>,
    /// Do not report jobs that have already ended
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Only jobs in this reservation
    #[arg(short = 'R', long, value_name = "NAME")]
    pub reservation: Option<ReservationName>,
    /// Send this signal to running jobs or steps instead of ending them; KILL ends a job
    #[arg(short = 's', long, value_name = "SIGNAL")]
    pub signal: Option<String>,
    /// Only jobs in this state
    #[arg(
        short = 't',
        long = "state",
        visible_alias = "states",
        value_delimiter = ',',
        value_name = "STATE"
    )]
    pub states: Vec<String>,
    /// Only jobs of this user
    #[arg(short = 'u', long = "user", value_delimiter = ',', value_name = "USER")]
    pub users: Vec<String>,
    /// Only jobs on these nodes
    #[arg(short = 'w', long = "nodelist", value_name = "NODES")]
    pub nodes: Option<Hosts>,
}

impl Args {
    /// With `-v`, reports an action and its target.
    fn report_if_verbose(&self, what: &str, to: &str) {
        if self.common.verbose > 0 && !self.quiet {
            screen::note(&format!("{what} {to}"));
        }
    }

    fn has_filters(&self) -> bool {
        !self.filter().is_empty()
            || self.account.is_some()
            || self.qos.is_some()
            || self.reservation.is_some()
    }

    fn filter(&self) -> Filter {
        Filter {
            me: self.me,
            user: if self.me { Vec::new() } else { self.users.clone() },
            queue: self.partitions.clone(),
            nodes: self.nodes.clone(),
            states: self.states.clone(),
            names: self.names.clone(),
        }
    }

    fn matches_job(&self, job: &JobView, named: &[JobKey]) -> bool {
        let same = |asked: bool, equal: bool| !asked || equal;
        (named.is_empty() || keys::contains_job(named, job))
            && same(self.account.is_some(), job.ask.account == self.account)
            && same(self.qos.is_some(), job.ask.qos == self.qos)
            && same(self.reservation.is_some(), job.ask.reservation == self.reservation)
    }

    /// The selected jobs: waiting ones first, since the resources of a cancelled running job would
    /// go to one of them. A heterogeneous job is cancelled as a whole.
    async fn find_jobs(
        &self,
        server: &Server,
        named: &[JobKey],
        signals: bool,
    ) -> Result<[Vec<JobKey>; 2], Failure> {
        let found = self.filter().fetch_brief(server, false).await?.jobs;
        let mut seen = BTreeSet::new();
        let mut batches = [Vec::new(), Vec::new()];
        for job in found.iter().filter(|job| self.matches_job(job, named)) {
            let waits = job.phase == Phase::Pending;
            let is_selected = !signals || job.phase == Phase::Running;
            if is_selected && seen.insert(job.whole_job_key()) {
                batches[usize::from(!waits)].push(job.whole_job_key());
            }
        }
        Ok(batches)
    }
}

/// Cancels or signals jobs and steps.
///
/// # Errors
/// [`Failure`] when no job is named, or the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, _: &Screen) -> Result<u8, Failure> {
    check_states(&args.states)?;
    let mut code = OK;
    for (key, number) in target::steps(&args.jobs) {
        let signal = target::signal(args.signal.as_deref())?;
        let words = signal_words(args.signal.is_some().then_some(signal.0));
        args.report_if_verbose(&words, &format!("step {key}.{number}"));
        if let Err(failure) = ledger_client::signal(server, key, number, signal).await {
            let is_gone = args.signal.is_none() && is_gone(&failure);
            if is_gone && args.common.verbose == 0 {
                continue;
            }
            let text = format!("error: Kill job error on job step id {key}.{number}: {failure}");
            screen::print_failure(&Failure::from_message(text));
            code = if is_gone { code } else { 1 };
        }
    }
    let named = target::jobs(&args.jobs);
    if named.is_empty() && !args.jobs.is_empty() {
        return Ok(code);
    }
    let signal = args.signal.as_deref().map(|text| target::signal(Some(text))).transpose()?;
    let request = signal_request(signal, args.batch, args.full);
    if named.is_empty() && !args.has_filters() {
        return Err(Failure::usage(anyhow::anyhow!("No job identification provided")));
    }
    let batches = match args.has_filters() {
        true => args.find_jobs(server, &named, request.is_some()).await?,
        false => [named, Vec::new()],
    };
    let words = signal_words(request.as_ref().and(signal).map(|signal| signal.0));
    let (stop, mut lost) = (Cell::new(false), None);
    for batch in &batches {
        let mut answers =
            pin!(bulk_action::send_concurrently(batch, &stop, |key| cancel_or_signal(
                server, *key, request
            )));
        while let Some((key, answered)) = answers.next().await {
            match answered {
                Ok(()) => args.report_if_verbose(&words, &format!("job {key}")),
                // The job is ending, has ended or is unknown: there is nothing to cancel.
                Err(failure) if request.is_none() && is_gone(&failure) => {
                    if args.common.verbose > 0 {
                        print_cancel_failure(*key, &failure);
                    }
                }
                // Other requests that were in flight are reported as refused.
                Err(failure) if failure.kind == Kind::Unreachable && lost.is_none() => {
                    stop.set(true);
                    lost = Some(failure);
                }
                Err(failure) => {
                    print_cancel_failure(*key, &failure);
                    code = 1;
                }
            }
        }
    }
    lost.map_or(Ok(code), Err)
}

/// Whether the job has ended, is ending, or is unknown to the controller.
fn is_gone(failure: &Failure) -> bool {
    let codes = ["already_done", "already_ending", "wrong_phase", "unknown_job"];
    failure.error_code().is_some_and(|code| codes.contains(&code))
}

/// The action that `-v` reports, before the target.
fn signal_words(signal: Option<u8>) -> String {
    signal.map_or_else(|| "Terminating".to_owned(), |number| format!("Signal {number} to"))
}

/// Cancels or signals one job.
async fn cancel_or_signal(
    server: &Server,
    key: JobKey,
    request: Option<JobSignalRequest>,
) -> Result<(), Failure> {
    let _: Value = match request {
        Some(request) => {
            server.post(&format!("/v1/jobs/{key}/signal"), &request, Retry::IfUnsent).await?
        }
        None => {
            let path = format!("/v1/jobs/{key}/cancel");
            server.post(&path, &Value::Null, Retry::IfUnanswered).await?
        }
    };
    Ok(())
}

fn print_cancel_failure(key: JobKey, failure: &Failure) {
    let why = match failure.error_code() {
        Some("unknown_job") => "Invalid job id specified".to_owned(),
        Some("already_done" | "already_ending" | "wrong_phase") => {
            "Job/step already completing or completed".to_owned()
        }
        _ => failure.to_string(),
    };
    let text = format!("error: Kill job error on job id {key}: {why}");
    screen::print_failure(&Failure::from_message(text));
}
