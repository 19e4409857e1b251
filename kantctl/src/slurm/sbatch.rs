//! `sbatch`: submits a script with the options, the output file's name and the words of Slurm.
//! Never submits otherwise than `kantctl submit`; the options are the same.
//! Source: man sbatch.

use super::name::{self};
use crate::failure::Failure;
use crate::output::Screen;
use crate::server::Server;
use crate::submission::parse_error;
use crate::verb::submit::{self, SubmitDialect};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser};
use std::ffi::OsString;
use tokio::runtime::Runtime;

const AFTER: &str = "\
Lines that begin with #SBATCH before a script's first command hold options; SBATCH_* variables set
them too. What the command line says wins, then the environment, then the script.";

/// Submit a script as a job, as Slurm's sbatch does
#[derive(Parser, Debug)]
#[command(name = "sbatch", disable_help_flag = true, disable_version_flag = true)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    pub submit: submit::Args,
    /// Say more (there is no more to say)
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

/// The command line.
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
        .mut_arg("queue", |arg| arg.help("The partition: a queue"))
        .mut_arg("hold", |arg| arg.help("Wait until `scontrol release`"))
        .mut_arg("nodelist", |arg| {
            arg.help("Only these nodes; several without --nodes: all of them")
        })
}

/// Submits a job.
///
/// # Errors
/// [`Failure`] as of `kantctl submit`.
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
            // Nobody is left to tell when stdout is gone.
            drop(error.print());
            return Ok(crate::failure::OK);
        }
        Err(error) => return Err(refusal(&error)),
    };
    let cluster = match args.submit.options.ignored_options.clusters {
        Some(_) => Some(runtime.block_on(name::cluster(server))?),
        None => None,
    };
    runtime.block_on(submit::run_as(
        &args.submit,
        &SubmitDialect::Slurm { cluster },
        server,
        screen,
    ))
}

/// What is wrong, in one line: an option that is not supported says what to do instead.
fn refusal(error: &clap::Error) -> Failure {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) if error.kind() == ErrorKind::UnknownArgument => {
            parse_error::unsupported(text)
        }
        _ => None,
    };
    let told = unknown.unwrap_or_else(|| parse_error::explain(error));
    Failure::usage(anyhow::Error::msg(told))
}
