//! `scancel`: ends jobs and steps, or signals them, silently, as Slurm's does. Never sends a signal
//! twice.
//! Source: man scancel.

mod target;

use super::name::Common;
use crate::failure::{Failure, Kind, OK};
use crate::keys;
use crate::output::{Screen, screen};
use crate::server::{Retry, Server};
use crate::step::ledger_client;
use crate::submission::value::Hosts;
use crate::verb::bulk_action;
use crate::verb::cancel::signalled;
use crate::verb::filter::{Filter, check_states};
use common::id::{AccountName, JobKey, QosName, QueueName, ReservationName};
use common::job::Phase;
use common::wire::api::{JobSignalRequest, JobView};
use futures_util::StreamExt as _;
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::pin::pin;
use target::Target;

/// End jobs, as Slurm's scancel does
#[derive(clap::Parser, Debug)]
#[command(name = "scancel", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Jobs: 42, 42_7, 42_[0-3]; or steps of jobs that run: 42.0
    #[arg(value_name = "JOB[.STEP]")]
    pub jobs: Vec<Target>,
    /// Only of this account
    #[arg(short = 'A', long, value_name = "ACCOUNT")]
    pub account: Option<AccountName>,
    /// Signal the script alone
    #[arg(short = 'b', long)]
    pub batch: bool,
    /// Signal the script and its steps
    #[arg(short = 'f', long)]
    pub full: bool,
    /// Jobs that were requeued too (always)
    #[arg(long, hide = true)]
    pub ctld: bool,
    /// Only mine
    #[arg(long)]
    pub me: bool,
    /// Only with these names
    #[arg(
        short = 'n',
        long = "name",
        visible_alias = "jobname",
        value_delimiter = ',',
        value_name = "NAME"
    )]
    pub names: Vec<String>,
    /// Only of these partitions
    #[arg(short = 'p', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// Only of this quality of service
    #[arg(short = 'q', long, value_name = "QOS")]
    pub qos: Option<QosName>,
    /// Say nothing of jobs that are over
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Only in this reservation
    #[arg(short = 'R', long, value_name = "NAME")]
    pub reservation: Option<ReservationName>,
    /// End nothing: send this signal to jobs or steps that run. KILL ends a job
    #[arg(short = 's', long, value_name = "SIGNAL")]
    pub signal: Option<String>,
    /// Only in this state
    #[arg(
        short = 't',
        long = "state",
        visible_alias = "states",
        value_delimiter = ',',
        value_name = "STATE"
    )]
    pub states: Vec<String>,
    /// Only of this user
    #[arg(short = 'u', long = "user", value_delimiter = ',', value_name = "USER")]
    pub users: Vec<String>,
    /// Only on these nodes
    #[arg(short = 'w', long = "nodelist", value_name = "NODES")]
    pub nodes: Option<Hosts>,
}

impl Args {
    /// With `-v`, says what is done, and to what.
    fn speak(&self, what: &str, to: &str) {
        if self.common.verbose > 0 && !self.quiet {
            screen::note(&format!("{what} {to}"));
        }
    }

    fn filters(&self) -> bool {
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

    fn takes(&self, job: &JobView, named: &[JobKey]) -> bool {
        let same = |asked: bool, equal: bool| !asked || equal;
        (named.is_empty() || keys::contains_job(named, job))
            && same(self.account.is_some(), job.ask.account == self.account)
            && same(self.qos.is_some(), job.ask.qos == self.qos)
            && same(self.reservation.is_some(), job.ask.reservation == self.reservation)
    }

    /// Those that are meant: the ones that wait, then the ones that run, for what one of these
    /// leaves another of them would get. A set goes as a whole.
    async fn found(
        &self,
        server: &Server,
        named: &[JobKey],
        signals: bool,
    ) -> Result<[Vec<JobKey>; 2], Failure> {
        let found = self.filter().fetch_brief(server, false).await?.jobs;
        let mut seen = BTreeSet::new();
        let mut lots = [Vec::new(), Vec::new()];
        for job in found.iter().filter(|job| self.takes(job, named)) {
            let waits = job.phase == Phase::Pending;
            let meant = !signals || job.phase == Phase::Running;
            if meant && seen.insert(job.whole()) {
                lots[usize::from(!waits)].push(job.whole());
            }
        }
        Ok(lots)
    }
}

/// Ends jobs.
///
/// # Errors
/// [`Failure`] when none is named, or the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, _: &Screen) -> Result<u8, Failure> {
    check_states(&args.states)?;
    let mut code = OK;
    for (key, number) in target::steps(&args.jobs) {
        let signal = target::signal(args.signal.as_deref())?;
        let words = signal_words(args.signal.is_some().then_some(signal.0));
        args.speak(&words, &format!("step {key}.{number}"));
        if let Err(failure) = ledger_client::signal(server, key, number, signal).await {
            let told = format!("error: Kill job error on job step id {key}.{number}: {failure}");
            screen::complain(&Failure::message(told));
            code = 1;
        }
    }
    let named = target::jobs(&args.jobs);
    if named.is_empty() && !args.jobs.is_empty() {
        return Ok(code);
    }
    let signal = args.signal.as_deref().map(|text| target::signal(Some(text))).transpose()?;
    let wish = signalled(signal, args.batch, args.full);
    if named.is_empty() && !args.filters() {
        return Err(Failure::usage(anyhow::anyhow!("No job identification provided")));
    }
    let lots = match args.filters() {
        true => args.found(server, &named, wish.is_some()).await?,
        false => [named, Vec::new()],
    };
    let words = signal_words(wish.as_ref().and(signal).map(|signal| signal.0));
    let (stop, mut lost) = (Cell::new(false), None);
    for lot in &lots {
        let mut answers = pin!(bulk_action::answers(lot, &stop, |key| end(server, *key, wish)));
        while let Some((key, answered)) = answers.next().await {
            match answered {
                Ok(()) => args.speak(&words, &format!("job {key}")),
                // It ends, or there is none: as was wished.
                Err(failure) if wish.is_none() && is_gone(&failure) => {
                    if args.common.verbose > 0 {
                        complain(*key, &failure);
                    }
                }
                // The others that were on their way are told as refused.
                Err(failure) if failure.kind == Kind::Unreachable && lost.is_none() => {
                    stop.set(true);
                    lost = Some(failure);
                }
                Err(failure) => {
                    complain(*key, &failure);
                    code = 1;
                }
            }
        }
    }
    lost.map_or(Ok(code), Err)
}

/// Is the job over, about to be, or none that the controller knows?
fn is_gone(failure: &Failure) -> bool {
    matches!(failure.code(), Some("already_done" | "wrong_phase" | "unknown_job"))
}

/// What `-v` says is done, before what it is done to.
fn signal_words(signal: Option<u8>) -> String {
    signal.map_or_else(|| "Terminating".to_owned(), |number| format!("Signal {number} to"))
}

/// Ends a job, or sends it a signal.
async fn end(server: &Server, key: JobKey, wish: Option<JobSignalRequest>) -> Result<(), Failure> {
    let _: Value = match wish {
        Some(wish) => {
            server.post(&format!("/v1/jobs/{key}/signal"), &wish, Retry::IfUnsent).await?
        }
        None => {
            let path = format!("/v1/jobs/{key}/cancel");
            server.post(&path, &Value::Null, Retry::IfUnanswered).await?
        }
    };
    Ok(())
}

fn complain(key: JobKey, failure: &Failure) {
    let why = match failure.code() {
        Some("unknown_job") => "Invalid job id specified".to_owned(),
        Some("already_done" | "wrong_phase") => {
            "Job/step already completing or completed".to_owned()
        }
        _ => failure.to_string(),
    };
    let told = format!("error: Kill job error on job id {key}: {why}");
    screen::complain(&Failure::message(told));
}
