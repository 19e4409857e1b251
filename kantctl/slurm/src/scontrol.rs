//! `scontrol`: shows records and changes jobs, nodes and reservations, as the verbs of kantctl do.
//! An unsupported command is refused by name.
//! Source: man scontrol.

mod job;
mod node;
mod partition;
mod reservation;
mod settings;
mod token;
mod update;

use super::shared_options::Common;
use cli::failure::{Failure, OK};
use cli::keys::{self, Keys};
use cli::output::Screen;
use cli::server::{Retry, Server};
use common::hostlist::{compress, expand};
use common::id::{JobKey, NodeName};
use common::text::escape_hidden;
use serde_json::Value;

const AFTER: &str = "\
Commands:
  show job [JOB] | node [NODE] | partition [NAME] | config | hostnames NODES | hostlist NAME,NAME
       | reservation [NAME]
  hold JOB...   release JOB...   uhold JOB...   requeue JOB...   suspend JOB...   resume JOB...
  update JobId=JOB NAME=VALUE...   update NodeName=NODES State=DRAIN|RESUME Reason=TEXT
  create reservation NAME=VALUE...   update ReservationName=NAME NAME=VALUE...
  delete ReservationName=NAME
  token [lifespan=SECONDS|infinite] [username=USER]
  reconfigure   ping   version";

/// Show and change jobs, nodes and reservations, as Slurm's scontrol does
#[derive(clap::Parser, Debug)]
#[command(name = "scontrol", disable_help_flag = true, disable_version_flag = true)]
#[command(after_help = AFTER, override_usage = "scontrol [OPTIONS] COMMAND [WORD]...")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Show all partitions (always)
    #[arg(short = 'a', long)]
    pub all: bool,
    /// Show the GPUs that a job has on each node
    #[arg(short = 'd', long)]
    pub details: bool,
    /// Print one line per record
    #[arg(short = 'o', long)]
    pub oneliner: bool,
    /// Do not report changes
    #[arg(short = 'Q', long)]
    pub quiet: bool,
    /// Print JSON in the format of Slurm 22.05
    #[arg(long)]
    pub json: bool,
    /// The command and its arguments
    #[arg(value_name = "WORD", num_args = 1.., required = true)]
    pub words: Vec<String>,
}

/// A record of `NAME=value` fields.
#[derive(Debug, Clone, Default)]
pub struct Record {
    lines: Vec<Vec<(&'static str, String)>>,
}

impl Record {
    pub fn add_line(&mut self, fields: Vec<(&'static str, String)>) {
        self.lines.push(fields);
    }

    /// The record as indented lines, or as one line.
    #[must_use]
    pub fn text(&self, oneliner: bool) -> String {
        let show = |line: &Vec<(&'static str, String)>| {
            let fields =
                line.iter().map(|(name, value)| format!("{name}={}", escape_hidden(value)));
            fields.collect::<Vec<_>>().join(" ")
        };
        let lines: Vec<String> = self.lines.iter().map(show).collect();
        if oneliner { lines.join(" ") + "\n" } else { lines.join("\n   ") + "\n\n" }
    }
}

/// Runs a command of scontrol.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or an argument is unknown.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let [command, rest @ ..] = words.as_slice() else {
        return Err(Failure::usage(anyhow::anyhow!("no command given: see `scontrol --help`")));
    };
    match command.to_ascii_lowercase().as_str() {
        "show" => show(args, rest, server, screen).await,
        "hold" | "uhold" => act_on_jobs(rest, "hold", server).await,
        "release" => act_on_jobs(rest, "release", server).await,
        "requeue" => act_on_jobs(rest, "requeue", server).await,
        "suspend" => act_on_jobs(rest, "suspend", server).await,
        "resume" => act_on_jobs(rest, "resume", server).await,
        "token" => token::run(rest, server, screen).await,
        "update" => update::run(args, rest, server, screen).await,
        "create" => reservation::create(args, rest, server, screen).await,
        "delete" => reservation::delete(rest, server).await,
        "reconfigure" | "reconfig" => {
            server.post::<Value, Value>("/v1/reload", &Value::Null, Retry::IfUnanswered).await?;
            Ok(OK)
        }
        "ping" => settings::ping(server, screen).await,
        "version" => {
            screen.print_line(super::shared_options::VERSION)?;
            Ok(OK)
        }
        other => {
            Err(Failure::usage(anyhow::anyhow!("unknown command `{other}`: see `scontrol --help`")))
        }
    }
}

async fn show(
    args: &Args,
    words: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    // `scontrol show job=42` means the same as `scontrol show job 42`.
    let joined: Vec<&str> = words.iter().flat_map(|word| word.splitn(2, '=')).collect();
    let [what, names @ ..] = joined.as_slice() else {
        return Err(Failure::usage(anyhow::anyhow!(
            "`scontrol show` needs an argument: see `scontrol --help`"
        )));
    };
    match what.to_ascii_lowercase().as_str() {
        "job" | "jobs" | "jobid" => job::show(args, names, server, screen).await,
        "node" | "nodes" | "nodename" => node::show(args, names, server, screen).await,
        "partition" | "partitions" | "partitionname" | "part" => {
            partition::show(args, names, server, screen).await
        }
        "config" => settings::config(server, screen).await,
        "reservation" | "reservations" | "res" => {
            settings::reservations(args, names, server, screen).await
        }
        "hostname" | "hostnames" => hostnames(names, screen),
        "hostlist" | "hostlistsorted" => {
            let named = names.iter().flat_map(|text| text.split(','));
            let mut named: Vec<NodeName> = named.map(node_name).collect::<Result<_, _>>()?;
            if what.eq_ignore_ascii_case("hostlistsorted") {
                named.sort();
            }
            screen.print_line(&compress(&named))?;
            Ok(OK)
        }
        other => Err(Failure::usage(anyhow::anyhow!(
            "`scontrol show {other}` is not supported in this release: see `scontrol --help`"
        ))),
    }
}

fn node_name(text: &str) -> Result<NodeName, Failure> {
    NodeName::new(text).map_err(Failure::usage)
}

/// Prints the names of `n[1-2]`, one per line; without an argument, the nodes of the current job.
fn hostnames(names: &[&str], screen: &Screen) -> Result<u8, Failure> {
    let own = || std::env::var("SLURM_JOB_NODELIST").ok();
    let text = if names.is_empty() { own() } else { Some(names.join(",")) };
    let Some(text) = text else {
        let missing = "no nodes given: outside a job (SLURM_JOB_NODELIST) name them, as in n[1-4]";
        return Err(Failure::usage(anyhow::anyhow!(missing)));
    };
    for name in expand(&text).map_err(Failure::usage)? {
        screen.print_line(name.as_str())?;
    }
    Ok(OK)
}

/// `42`, `42,43`, `JobId=42`.
fn jobs(words: &[&str]) -> Result<Vec<JobKey>, Failure> {
    let bare = |word: &&str| -> Result<Keys, Failure> {
        let lower = word.to_ascii_lowercase();
        let text = lower.strip_prefix("jobid=").unwrap_or(&lower);
        let wrong = |error| Failure::usage(anyhow::anyhow!("{word}: {error}"));
        text.parse().map_err(wrong)
    };
    let read: Vec<Keys> = words.iter().map(bare).collect::<Result<_, _>>()?;
    Ok(keys::flatten(&read))
}

async fn act_on_jobs(words: &[&str], action: &str, server: &Server) -> Result<u8, Failure> {
    let keys = jobs(words)?;
    if keys.is_empty() {
        return Err(Failure::usage(anyhow::anyhow!("no job given: name at least one job id")));
    }
    for key in keys {
        let path = format!("/v1/jobs/{key}/{action}");
        let asked = server.post::<Value, Value>(&path, &Value::Null, Retry::IfUnanswered).await;
        if let Err(failure) = asked
            && failure.error_code() != Some("not_held")
        {
            return Err(failure);
        }
    }
    Ok(OK)
}
