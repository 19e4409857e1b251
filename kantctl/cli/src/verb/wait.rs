//! `kantctl wait`: waits until jobs end, and exits with their exit code.

use crate::failure::Failure;
use crate::fetch::{self, Answer};
use crate::keys::{self, Keys};
use crate::output::Screen;
use crate::output::jobs::{ending, where_or_why};
use crate::output::screen::note;
use crate::server::{POLL_SECONDS, Server};
use common::id::JobKey;
use common::job::{Outcome, Phase};
use common::text::escape_hidden;
use common::wire::api::{JobList, JobView};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  kantctl wait $(kantctl submit --parsable --wrap 'sleep 5')
  kantctl wait 42 43_[0-9]

Exit codes:
  The job's: 0 if it completed, its own exit code, 128+N if signal N ended it, otherwise 1; of
  several jobs the largest. If the controller does not answer: 3.";

/// How long a controller may be unreachable before waiting is given up.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The most tasks of an array that are listed; larger arrays are summarized.
const MESSAGES_MAX: usize = 8;

const TICK: Duration = Duration::from_millis(120);

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
}

/// Waits for jobs.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or does not know one of them.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let keys = keys::flatten(&args.keys);
    // Unknown jobs are reported at once, before waiting for the others.
    for key in &keys {
        fetch::jobs(server, *key, Duration::ZERO).await?;
    }
    let ended = until_done(server, &keys).await?;
    if screen.json {
        let raw: Vec<Value> = ended.iter().map(|answer| answer.raw.clone()).collect();
        screen.print_answer_json(&fetch::join_lists(raw, "jobs"))?;
    }
    Ok(worst(&ended))
}

/// Waits until all of these jobs have ended, and prints on stderr how each ended.
///
/// # Errors
/// [`Failure`] when the controller does not answer for a long time, or forgets one of them.
pub async fn until_done(server: &Server, keys: &[JobKey]) -> Result<Vec<Answer<JobList>>, Failure> {
    let progress = progress();
    let mut ended = Vec::new();
    for key in keys {
        let list = wait_for(server, *key, &progress).await?;
        progress
            .suspend(|| end_messages(*key, &list.typed.jobs).iter().for_each(|text| note(text)));
        ended.push(list);
    }
    progress.finish_and_clear();
    Ok(ended)
}

/// A spinner, shown on a terminal only.
fn progress() -> ProgressBar {
    let progress = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
        progress.set_style(style);
    }
    if !progress.is_hidden() {
        progress.enable_steady_tick(TICK);
    }
    progress
}

async fn wait_for(
    server: &Server,
    key: JobKey,
    progress: &ProgressBar,
) -> Result<Answer<JobList>, Failure> {
    // The first request does not wait, so that the spinner has a message.
    let mut seconds = if progress.is_hidden() { POLL_SECONDS } else { 0 };
    loop {
        let path = format!("/v1/jobs/{key}/wait?seconds={seconds}");
        let asked = std::time::Instant::now();
        let answer: Answer<JobList> =
            server.get_retrying::<Value>(&path, PATIENCE).await?.try_into()?;
        let waiting = answer.typed.jobs.iter().find(|job| job.phase != Phase::Done);
        let Some(job) = waiting else { return Ok(answer) };
        progress.set_message(format!("{} {} {}", job.key, job.state, where_or_why(job)));
        // A controller that is shutting down may answer early; this prevents a tight loop.
        if seconds > 0 && asked.elapsed() < Duration::from_secs(1) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        seconds = POLL_SECONDS;
    }
}

/// Messages about the end of a job or an array; of a large array the number of tasks by state.
fn end_messages(key: JobKey, jobs: &[JobView]) -> Vec<String> {
    if jobs.len() <= MESSAGES_MAX {
        return jobs.iter().map(end_message).collect();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    jobs.iter().for_each(|job| *counts.entry(&job.state).or_default() += 1);
    let counts: Vec<String> =
        counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    vec![format!("job {key} ended: {}", counts.join(", "))]
}

fn end_message(job: &JobView) -> String {
    let how = ending(job);
    let gap = if how.is_empty() { "" } else { ": " };
    format!("job {} ended: {}{gap}{}", job.key, job.state, escape_hidden(&how))
}

/// The largest exit code of all these jobs.
#[must_use]
pub fn worst(ended: &[Answer<JobList>]) -> u8 {
    ended.iter().flat_map(|list| &list.typed.jobs).map(code).max().unwrap_or(0)
}

/// The exit code that represents a job.
#[must_use]
pub fn code(job: &JobView) -> u8 {
    let exit = job.exit.map_or(0, |exit| exit.shell_code());
    match job.outcome {
        Some(Outcome::Completed) => exit,
        _ => exit.max(1),
    }
}
