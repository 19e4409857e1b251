//! `kantctl explain`: why a job is in its state, and what to do about it.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::keys::{self, Keys};
use crate::output::time::localized;
use crate::output::{Screen, jobs, start_outlook};
use crate::server::{Retry, Server};
use crate::submission::what_if::WhatIf;
use common::id::JobKey;
use common::text::escape_hidden;
use common::wire::api::{Explanation, SolveRequest, SolveView, WhatIfRequest, WhatIfView};
use jiff::tz::TimeZone;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl explain 42
  kantctl explain $(kantctl submit --parsable --hold --wrap hostname)
  kantctl explain 42 --what-if 'time=2h gpus=4'
  kantctl explain 42 --what-if 'queue=spot gpu-kind=any near=none'
  kantctl explain 42 --solve

What if:
  --what-if asks whether and where the job would start now with a changed request, compared with the
  request as it is. Nothing is changed; `kantctl update` changes it. Keys are time, gpus,
  gpus-per-node, gpu-kind, nodes, ntasks, cpus (per task), mem, queue, qos, near, begin, deadline,
  reservation and array-limit, with the values of the options of `kantctl submit`; gpus=0, qos=none,
  near=none, deadline=none and gpu-kind=any remove that part of the request.

Solve:
  --solve searches for the smallest set of running jobs that would have to move to make room for the
  job. Only preemptible jobs are considered, and each of them must have a place to move to. The
  answer is a list of moves, a proof that no moves make room, or that the search gave up, after
  --trials placements or 20 s. No job is moved. A controller runs one search at a time.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Show the effect of a changed request: 'time=2h gpus=4'
    #[arg(long, value_name = "CHANGES")]
    pub what_if: Option<WhatIf>,
    /// Search for running jobs that would have to move to make room for the job
    #[arg(long, conflicts_with = "what_if")]
    pub solve: bool,
    /// Try at most N placements [default: 200000]
    #[arg(long, value_name = "N", requires = "solve")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub trials: Option<u64>,
}

/// Explains jobs.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or does not know one of them.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut raw = Vec::new();
    let keys = keys::flatten(&args.keys);
    for (place, key) in keys.iter().enumerate() {
        let (answer, text) = match &args.what_if {
            None if args.solve => solve(*key, args.trials, server).await?,
            None => explain(*key, server, &screen.zone).await?,
            Some(change) => what_if(*key, change, server, &screen.zone).await?,
        };
        if screen.json {
            raw.push(answer);
            continue;
        }
        if place > 0 {
            screen.print_line("")?;
        }
        screen.print_prose(&text)?;
    }
    match raw.len() {
        0 => {}
        1 => raw.iter().try_for_each(|one| screen.print_answer_json(one))?,
        _ => screen.print_answer_json(&Value::Array(raw))?,
    }
    Ok(OK)
}

async fn explain(
    key: JobKey,
    server: &Server,
    zone: &TimeZone,
) -> Result<(Value, String), Failure> {
    let answer: Answer<Explanation> =
        fetch::get(server, &format!("/v1/jobs/{key}/explain")).await?;
    Ok((answer.raw, explanation_text(key, &answer.typed, zone)))
}

async fn what_if(
    key: JobKey,
    change: &WhatIf,
    server: &Server,
    zone: &TimeZone,
) -> Result<(Value, String), Failure> {
    let request = WhatIfRequest { patch: change.patch.clone() };
    let raw: Value =
        server.post(&format!("/v1/jobs/{key}/what-if"), &request, Retry::IfUnanswered).await?;
    let Answer { raw, typed }: Answer<WhatIfView> = raw.try_into()?;
    Ok((raw, start_outlook::comparison(&typed, &change.text, zone)))
}

async fn solve(
    key: JobKey,
    trials: Option<u64>,
    server: &Server,
) -> Result<(Value, String), Failure> {
    let request = SolveRequest { trials };
    let raw: Value =
        server.post(&format!("/v1/jobs/{key}/solve"), &request, Retry::IfUnsent).await?;
    let Answer { raw, typed }: Answer<SolveView> = raw.try_into()?;
    let SolveView { key, lines, advice, .. } = typed;
    let mut text = format!("Job {key}, if others moved:\n");
    lines.iter().for_each(|line| text.push_str(&format!("  {}\n", escape_hidden(line))));
    if let Some(advice) = advice {
        text.push_str(&format!("What to do: {}\n", escape_hidden(&advice)));
    }
    Ok((raw, text))
}

/// The explanation as text. The controller's lines include the expected start; `expected_at` is for
/// programs.
fn explanation_text(asked: JobKey, explanation: &Explanation, zone: &TimeZone) -> String {
    let Explanation { job, lines, advice, .. } = explanation;
    let show = |text: &str| escape_hidden(&localized(text, zone)).into_owned();
    let name = escape_hidden(&job.ask.name);
    // For an array the lines themselves name the task.
    let mut text = match (asked == job.key || job.set.is_some(), asked.job == job.key.job) {
        (true, _) => format!("Job {} ({name}) is {}.\n", job.name(), job.state),
        (false, true) => format!("Job {asked} ({name}) is an array.\n"),
        // The user named a task of an array by its own number.
        (false, false) => format!("Job {asked} ({name}, task {}) is {}.\n", job.key, job.state),
    };
    let own = if lines.is_empty() { Some(jobs::where_or_why(job)) } else { None };
    for line in lines.iter().cloned().chain(own.filter(|own| !own.is_empty())) {
        text.push_str(&format!("  {}\n", show(&line)));
    }
    if let Some(advice) = advice {
        text.push_str(&format!("What to do: {}\n", show(advice)));
    }
    text
}
