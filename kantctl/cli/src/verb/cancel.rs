//! `kantctl cancel`: ends jobs, or sends a signal to running ones. A signal is never sent twice,
//! because a program may count signals.

use super::bulk_action::{self, Action, JOBS};
use super::filter::Filter;
use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::output::screen::note;
use crate::server::{Retry, Server};
use anyhow::Context;
use common::job::{Phase, SignalNumber};
use common::wire::api::{JobSignalRequest, JobView};
use common::wire::node::Reached;

/// SIGKILL (man 7 signal).
const KILL: SignalNumber = SignalNumber(9);

const EXAMPLES: &str = "\
Examples:
  kantctl cancel 42
  kantctl cancel 42_[4-9] 50
  kantctl cancel --me -t PENDING
  kantctl cancel --signal=USR1 42
  kantctl cancel $(kantctl submit --parsable --wrap 'sleep 600')

Cancelling sends SIGTERM, and after a grace period SIGKILL to the processes that are left. With
--signal the job continues: the signal is sent to its steps; if there are no steps, to all its
processes, including the script only if it handles the signal (a waiting shell would end) or is the
only process. --signal=KILL without --batch ends the job.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]; or select jobs with the options below
    #[arg(value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Send this signal to running jobs instead of ending them
    #[arg(short, long, value_name = "SIGNAL")]
    pub signal: Option<SignalNumber>,
    /// Send the signal to the script only
    #[arg(short, long, requires = "signal", conflicts_with = "full")]
    pub batch: bool,
    /// Send the signal to the script and all other processes
    #[arg(short, long, requires = "signal")]
    pub full: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// The signal request for Slurm's options; `None` if the job is to be cancelled.
#[must_use]
pub fn signal_request(
    signal: Option<SignalNumber>,
    batch: bool,
    full: bool,
) -> Option<JobSignalRequest> {
    let target = match (batch, full) {
        (true, _) => Reached::Script,
        (_, true) => Reached::All,
        (false, false) => Reached::Steps,
    };
    let signal = signal.filter(|signal| batch || *signal != KILL)?;
    Some(JobSignalRequest { signal, to: target })
}

/// Cancels jobs: waiting ones before running ones, because otherwise a waiting job would start on
/// the nodes that a running one releases.
///
/// # Errors
/// [`Failure`] when the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let request = signal_request(args.signal, args.batch, args.full);
    let mut keys = keys::flatten(&args.keys);
    let mut waiting = 0;
    if keys.is_empty() && args.filter.is_empty() {
        let missing = Failure::usage(anyhow::anyhow!("a job or a filter option is required"));
        return Err(missing.with_hint(
            "name jobs (`kantctl cancel 42 50_7`), or select them: --me, --user, --queue, --node, \
             --state, --name",
        ));
    }
    if !args.filter.is_empty() {
        let named = keys;
        let mut found = args.filter.fetch_brief(server, false).await?.jobs;
        // Waiting and ending jobs get no signal.
        found.retain(|job| request.is_none() || job.phase == Phase::Running);
        found.sort_by_key(|job| job.phase != Phase::Pending);
        let meant = |job: common::id::JobKey| {
            let whole = common::id::JobKey::single(job.job);
            named.is_empty() || named.contains(&job) || named.contains(&whole)
        };
        // A het job is cancelled as a whole.
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|job| meant(job.whole_job_key()) && seen.insert(job.whole_job_key()));
        waiting = found.iter().take_while(|job| job.phase == Phase::Pending).count();
        keys = found.iter().map(JobView::whole_job_key).collect();
        if keys.is_empty() && !screen.json {
            note("no matching jobs");
            return Ok(OK);
        }
    }
    if let Some(request) = request {
        let request = serde_json::to_value(request).context("failed to write the request")?;
        let path = |key: &str| format!("/v1/jobs/{key}/signal");
        let action =
            Action { body: &request, retry: Retry::IfUnsent, done: "Signalled", changed: JOBS };
        return bulk_action::act_on_each(&keys, path, action, server, screen).await;
    }
    let (first, then) = keys.split_at(waiting);
    let path = |key: &str| format!("/v1/jobs/{key}/cancel");
    let body = &serde_json::Value::Null;
    let action = Action { body, retry: Retry::IfUnanswered, done: "Cancelled", changed: JOBS };
    bulk_action::act_in_groups(&[first, then], path, action, server, screen).await
}
