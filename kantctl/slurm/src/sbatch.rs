//! `sbatch`: `kantctl submit` with Slurm's options, messages and default output file.
//! Source: man sbatch.

use super::cluster_name::cluster_name;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser};
use cli::failure::Failure;
use cli::output::Screen;
use cli::server::Server;
use cli::submission::parse_error;
use cli::verb::submit::{self, SubmitDialect};
use std::ffi::OsString;
use tokio::runtime::Runtime;

const AFTER: &str = "\
Options are read from #SBATCH lines before the script's first command, from SBATCH_* variables and
from the command line. The command line takes precedence, then the environment, then the script.";

/// Submit a script as a job, as Slurm's sbatch does
#[derive(Parser, Debug)]
#[command(name = "sbatch", disable_help_flag = true, disable_version_flag = true)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    pub submit: submit::Args,
    /// Print more details (ignored)
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Print this help
    #[arg(short = 'h', long, action = clap::ArgAction::HelpLong)]
    pub help: Option<bool>,
    /// Print the usage
    #[arg(long, action = clap::ArgAction::HelpShort)]
    pub usage: Option<bool>,
}

/// The definition of the command line.
#[must_use]
pub fn command() -> clap::Command {
    use clap::CommandFactory;
    Args::command()
        .args_override_self(true)
        .override_usage("sbatch [OPTIONS] SCRIPT [ARG]...\n       sbatch [OPTIONS] --wrap COMMAND")
        .after_help(AFTER)
        .mut_arg("output", |arg| {
            arg.help(
                "Output file, with %j %A %a %x %u %N %n %t [default: slurm-%j.out, arrays \
                 slurm-%A_%a.out]",
            )
        })
        .mut_arg("queue", |arg| arg.help("Partition (queue) of the job"))
        .mut_arg("hold", |arg| arg.help("Hold the job until `scontrol release`"))
        .mut_arg("nodelist", |arg| {
            arg.help("Use only these nodes; without --nodes, use all of them")
        })
}

/// Submits a job.
///
/// # Errors
/// [`Failure`] as for `kantctl submit`.
pub fn run(
    words: &[OsString],
    server: &Server,
    screen: &Screen,
    runtime: &Runtime,
) -> Result<u8, Failure> {
    let parsed = command()
        .max_term_width(100)
        .try_get_matches_from(words)
        .and_then(|matches| Args::from_arg_matches(&matches));
    let args = match parsed {
        Ok(args) => args,
        Err(error) if !error.use_stderr() => {
            // With stdout closed, there is nowhere to print the help.
            drop(error.print());
            return Ok(cli::failure::OK);
        }
        Err(error) => return Err(refusal(&error)),
    };
    let cluster = match args.submit.options.ignored_options.has("clusters") {
        true => Some(runtime.block_on(cluster_name(server))?),
        false => None,
    };
    runtime.block_on(submit::run_as(
        &args.submit,
        &SubmitDialect::Slurm { cluster },
        server,
        screen,
    ))
}

/// The error in one line; for an unsupported option, with the alternative.
fn refusal(error: &clap::Error) -> Failure {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) if error.kind() == ErrorKind::UnknownArgument => {
            parse_error::unsupported(text)
        }
        _ => None,
    };
    let text = unknown.unwrap_or_else(|| parse_error::explain(error));
    Failure::usage(anyhow::Error::msg(text))
}
