//! `salloc`: `kantctl alloc` with Slurm's options and messages.
//! Source: man salloc.

use cli::failure::Failure;
use cli::server::Server;
use cli::step::allocate::AllocDialect;
use cli::submission::environment;
use cli::submission::options::Options;
use cli::verb::{alloc, run};
use common::job::attributes::SlurmReader;
use common::time::Span;

/// Allocate nodes for a shell or command, as Slurm's salloc does
#[derive(clap::Parser, Debug)]
#[command(name = "salloc", disable_help_flag = true, disable_version_flag = true)]
#[command(override_usage = "salloc [OPTIONS] [COMMAND [ARGUMENT]...]")]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// Start no shell: keep the allocation until the job is cancelled
    #[arg(long)]
    pub no_shell: bool,
    /// Give up if the job has not started within SECONDS seconds [without SECONDS: 1]
    #[arg(short = 'I', long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "1")]
    pub immediate: Option<u64>,
    /// End the command when the job ends (always done, with SIGHUP)
    #[arg(short = 'K', long, value_name = "SIGNAL", num_args = 0..=1, require_equals = true,
          default_missing_value = "TERM")]
    pub kill_command: Option<String>,
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
    /// The command to run [default: your shell]
    #[arg(value_name = "COMMAND", num_args = 0.., trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// Allocates nodes while a shell or command runs.
///
/// # Errors
/// [`Failure`] as for `kantctl alloc`.
pub async fn run(args: &Args, server: &Server) -> Result<u8, Failure> {
    let around = run::environment_variables();
    let set = environment::read_slurm_options(&around, SlurmReader::Salloc)?;
    let options = args.options.clone().merged_over(set);
    let alloc = alloc::Args {
        options: args.options.clone(),
        no_shell: args.no_shell,
        immediate: args.immediate.map(Span::from_seconds),
        command: args.command.clone(),
    };
    alloc::run_as(&alloc, &options, AllocDialect::Salloc, server).await
}
