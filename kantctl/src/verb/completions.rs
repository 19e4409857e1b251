//! `kantctl completions`: what a shell needs to complete kantctl's words; and, asked by those
//! completions, the ids and names there are. Never makes anybody wait longer than a second for
//! them, and says nothing when no controller answers.

mod shells;

use super::ask;
use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::server::Server;
use clap_complete::Shell;
use common::text::shown;
use common::wire::api::JobList;
use serde_json::Value;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  . <(kantctl completions bash)
  kantctl completions zsh > _kantctl

Where a job, a node or a queue is meant, the controller is asked which there are (your jobs), for
a second at most; when it does not answer there is nothing to choose from.";

/// Who presses a key waits for no more than this.
const PATIENCE: Duration = Duration::from_secs(1);
/// More than this nobody chooses from.
const CHOICES_MAX: usize = 200;

/// Arguments of `completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    #[arg(required_unless_present = "live")]
    pub shell: Option<Shell>,
    /// What there is of these, a line each, for the completions themselves
    #[arg(long, hide = true, value_parser = ["jobs", "nodes", "queues"], conflicts_with = "shell")]
    pub live: Option<String>,
}

/// Prints completions.
///
/// # Errors
/// [`Failure`] when stdout does not take them.
pub fn run(shell: Shell, screen: &Screen) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "kantctl", &mut text);
    screen.bytes(shells::with_live_words(shell, &String::from_utf8_lossy(&text)).as_bytes())?;
    Ok(OK)
}

/// Prints what there is: a word, a tab, and what it is.
///
/// # Errors
/// [`Failure`] when stdout does not take it; none when the controller does not answer.
pub async fn live(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let kind = args.live.as_deref().unwrap_or_default();
    let asked = async {
        match kind {
            "jobs" => jobs(server).await,
            kind => named(kind, server).await,
        }
    };
    let found = tokio::time::timeout(PATIENCE, asked).await;
    let Ok(Ok(choices)) = found else { return Ok(OK) };
    let lines = choices.iter().take(CHOICES_MAX);
    screen.print(
        &lines.map(|(word, what)| format!("{word}\t{}\n", shown(what))).collect::<String>(),
    )?;
    Ok(OK)
}

/// The caller's own, the latest first; an array by its own number.
async fn jobs(server: &Server) -> Result<Vec<(String, String)>, Failure> {
    let list: JobList = server.get(&format!("/v1/jobs?user={}", nix::unistd::getuid())).await?;
    let told =
        |job: &common::wire::api::JobView| (job.key.job, format!("{} {}", job.ask.name, job.state));
    let mut jobs: Vec<_> = list.jobs.iter().map(told).collect();
    jobs.sort_by_key(|(job, _)| std::cmp::Reverse(*job));
    jobs.dedup_by_key(|(job, _)| *job);
    Ok(jobs.into_iter().map(|(job, what)| (job.to_string(), what)).collect())
}

/// Nodes or queues.
async fn named(kind: &str, server: &Server) -> Result<Vec<(String, String)>, Failure> {
    let list: ask::Answer<Value> = ask::get(server, &format!("/v1/{kind}")).await?;
    let all = list.raw.get(kind).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
    let told = |one| Some((text(one, "name")?, text(one, "status").unwrap_or_default()));
    Ok(all.iter().filter_map(told).collect())
}
