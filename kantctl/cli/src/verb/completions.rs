//! `kantctl completions`: the shells' completion scripts; and, called by those scripts, the ids and
//! names in the cluster. The latter takes at most a second, and prints nothing if no controller
//! answers.

mod shells;

use crate::failure::{Failure, OK};
use crate::fetch;
use crate::output::Screen;
use crate::server::Server;
use clap::Command;
use clap_complete::Shell;
use common::text::escape_hidden;
use common::wire::api::JobList;
use serde_json::Value;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  . <(kantctl completions bash)
  kantctl completions zsh > _kantctl

For a job, a node or a queue, the completions offer what the controller lists (of jobs: your own),
if it answers within a second.";

/// The longest time that the user waits after pressing the key.
const PATIENCE: Duration = Duration::from_secs(1);
/// More choices than this are of no use.
const CHOICES_MAX: usize = 200;

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    #[arg(required_unless_present = "live")]
    pub shell: Option<Shell>,
    /// Print the jobs, nodes or queues in the cluster, one per line; used by the completions
    #[arg(long, hide = true, value_parser = ["jobs", "nodes", "queues"], conflicts_with = "shell")]
    pub live: Option<String>,
}

/// Prints completions of this command line.
///
/// # Errors
/// [`Failure`] when stdout does not take them.
pub fn run(shell: Shell, command: &Command, screen: &Screen) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command.clone(), "kantctl", &mut text);
    let text = String::from_utf8_lossy(&text);
    let text = shells::with_names_from_controller(shell, command, &text);
    screen.print_bytes(text.as_bytes())?;
    Ok(OK)
}

/// Prints the choices: a word, a tab, and its description.
///
/// # Errors
/// [`Failure`] when stdout cannot be written; no failure when the controller does not answer.
pub async fn print_choices(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let kind = args.live.as_deref().unwrap_or_default();
    let asked = async {
        match kind {
            "jobs" => jobs(server).await,
            kind => node_or_queue_choices(kind, server).await,
        }
    };
    let found = tokio::time::timeout(PATIENCE, asked).await;
    let Ok(Ok(choices)) = found else { return Ok(OK) };
    let lines = choices.iter().take(CHOICES_MAX);
    screen.print(
        &lines.map(|(word, what)| format!("{word}\t{}\n", escape_hidden(what))).collect::<String>(),
    )?;
    Ok(OK)
}

/// The user's own jobs, the latest first; an array by its own number.
async fn jobs(server: &Server) -> Result<Vec<(String, String)>, Failure> {
    let list: JobList = server.get(&format!("/v1/jobs?user={}", nix::unistd::getuid())).await?;
    let choice =
        |job: &common::wire::api::JobView| (job.key.job, format!("{} {}", job.ask.name, job.state));
    let mut jobs: Vec<_> = list.jobs.iter().map(choice).collect();
    jobs.sort_by_key(|(job, _)| std::cmp::Reverse(*job));
    jobs.dedup_by_key(|(job, _)| *job);
    Ok(jobs.into_iter().map(|(job, what)| (job.to_string(), what)).collect())
}

/// Nodes or queues.
async fn node_or_queue_choices(
    kind: &str,
    server: &Server,
) -> Result<Vec<(String, String)>, Failure> {
    let list: fetch::Answer<Value> = fetch::get(server, &format!("/v1/{kind}")).await?;
    let all = list.raw.get(kind).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |one: &Value, key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
    let choice = |one| Some((text(one, "name")?, text(one, "status").unwrap_or_default()));
    Ok(all.iter().filter_map(choice).collect())
}
