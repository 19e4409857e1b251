//! `salloc`: nodes held for a shell or a command here, in the words of Slurm. Never otherwise than
//! `kantctl alloc`; the options are the same.
//! Source: man salloc.

use crate::failure::Failure;
use crate::server::Server;
use crate::step::allocate::AllocDialect;
use crate::submission::environment::{self, SlurmCommand};
use crate::submission::options::Options;
use crate::verb::{alloc, run};
use common::time::Span;

/// Hold nodes for a shell, as Slurm's salloc does
#[derive(clap::Parser, Debug)]
#[command(name = "salloc", disable_help_flag = true, disable_version_flag = true)]
#[command(override_usage = "salloc [OPTIONS] [COMMAND [ARGUMENT]...]")]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// No shell: the nodes stay until the job is cancelled
    #[arg(long)]
    pub no_shell: bool,
    /// Give up if it has not started within so many seconds [without SECONDS: 1]
    #[arg(short = 'I', long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub immediate: Option<u64>,
    /// End the command when the job ends (always, by SIGHUP)
    #[arg(short = 'K', long, value_name = "SIGNAL", num_args = 0..=1, require_equals = true,
          default_missing_value = "TERM")]
    pub kill_command: Option<String>,
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
    /// The command [default: your shell]
    #[arg(value_name = "COMMAND", num_args = 0.., trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// Holds nodes while a shell runs.
///
/// # Errors
/// [`Failure`] as of `kantctl alloc`.
pub async fn run(args: &Args, server: &Server) -> Result<u8, Failure> {
    let around = run::environment_variables();
    let set = environment::read_slurm_options(&around, SlurmCommand::Salloc)?;
    let options = args.options.clone().over(set);
    let alloc = alloc::Args {
        options: args.options.clone(),
        no_shell: args.no_shell,
        immediate: args.immediate.map(Span::from_seconds),
        command: args.command.clone(),
    };
    alloc::run_as(&alloc, &options, AllocDialect::Salloc, server).await
}
