//! The Slurm commands that this program runs as: selection by the program's name, and the options
//! that all commands share.

mod repeat;
mod variables;

pub use repeat::Repeat;

use super::srun::component_steps;
use super::{option_values, unsupported};
use super::{
    sacct, sacctmgr, salloc, sattach, sbatch, scancel, scontrol, sdiag, sinfo, sprio, squeue,
    sreport, srun, sshare,
};
use crate::failure::Failure;
use crate::output::{Screen, screen};
use crate::server::Server;
use crate::signals;
use crate::startup::{self, Global};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::path::Path;

/// What `--version` prints: the release of Slurm that options and output follow.
pub const VERSION: &str = concat!("slurm 22.05.8-kant-", env!("CARGO_PKG_VERSION"));

/// Options of every command.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Common {
    /// Clusters to ask (ignored: there is one cluster)
    #[arg(short = 'M', long = "clusters", visible_alias = "cluster", value_name = "CLUSTER")]
    pub clusters: Option<String>,
    /// Print more details, where a command has any
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Print this help
    #[arg(long, action = clap::ArgAction::HelpLong)]
    pub help: Option<bool>,
    /// Print the usage
    #[arg(long, action = clap::ArgAction::HelpShort)]
    pub usage: Option<bool>,
    /// Show this cluster only (ignored: there are no federations)
    #[arg(long, hide = true)]
    pub local: bool,
    /// Show the whole federation (ignored: there are no federations)
    #[arg(long, hide = true)]
    pub federation: bool,
}

/// A Slurm command that this program can run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlurmCommand {
    Sacct,
    Salloc,
    Sacctmgr,
    Sattach,
    Sbatch,
    Scancel,
    Scontrol,
    Sdiag,
    Sinfo,
    Sprio,
    Squeue,
    Sreport,
    Srun,
    Sshare,
}

impl SlurmCommand {
    pub const ALL: [SlurmCommand; 14] = [
        SlurmCommand::Sacct,
        SlurmCommand::Sacctmgr,
        SlurmCommand::Salloc,
        SlurmCommand::Sattach,
        SlurmCommand::Sbatch,
        SlurmCommand::Scancel,
        SlurmCommand::Scontrol,
        SlurmCommand::Sdiag,
        SlurmCommand::Sinfo,
        SlurmCommand::Sprio,
        SlurmCommand::Squeue,
        SlurmCommand::Sreport,
        SlurmCommand::Srun,
        SlurmCommand::Sshare,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sacct => "sacct",
            Self::Salloc => "salloc",
            Self::Sattach => "sattach",
            Self::Sacctmgr => "sacctmgr",
            Self::Sbatch => "sbatch",
            Self::Scancel => "scancel",
            Self::Scontrol => "scontrol",
            Self::Sdiag => "sdiag",
            Self::Sinfo => "sinfo",
            Self::Sprio => "sprio",
            Self::Squeue => "squeue",
            Self::Sreport => "sreport",
            Self::Srun => "srun",
            Self::Sshare => "sshare",
        }
    }

    /// The command that the program was called as; `None`: as kantctl.
    #[must_use]
    pub fn from_program(program: Option<&OsString>) -> Option<Self> {
        let name = Path::new(program?).file_name()?.to_str()?;
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The definition of its command line, for manuals and tables.
    #[must_use]
    pub fn clap_command(self) -> clap::Command {
        match self {
            Self::Sacct => sacct::Args::command(),
            Self::Salloc => salloc::Args::command(),
            Self::Sattach => sattach::Args::command(),
            Self::Sacctmgr => sacctmgr::Args::command(),
            Self::Sbatch => sbatch::command(),
            Self::Scancel => scancel::Args::command(),
            Self::Scontrol => scontrol::Args::command(),
            Self::Sdiag => sdiag::Args::command(),
            Self::Sinfo => sinfo::Args::command(),
            Self::Sprio => sprio::Args::command(),
            Self::Squeue => squeue::Args::command(),
            Self::Sreport => sreport::Args::command(),
            Self::Srun => srun::Args::command(),
            Self::Sshare => sshare::Args::command(),
        }
    }

    const fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Sacct => sacct::Args::variables(),
            Self::Sinfo => sinfo::Args::variables(),
            Self::Squeue => squeue::Args::variables(),
            _ => &[],
        }
    }
}

/// Runs a command and returns its exit code.
#[must_use]
pub fn run(command: SlurmCommand, arguments: &[OsString]) -> u8 {
    screen::set_program_name(command.name());
    let words = variables::with_variables(
        command,
        &option_values::separate(&command.clap_command(), arguments),
    );
    match dispatch(command, &words) {
        Ok(code) => code,
        Err(CommandError::Clap(error)) => {
            let text = error.render().to_string();
            match text.strip_prefix("error: ") {
                Some(why) => screen::note(&format!("error: {}", why.trim_end())),
                // With stdout and stderr closed, there is nowhere to report the error.
                None => drop(error.print()),
            }
            u8::from(error.use_stderr())
        }
        Err(CommandError::Failed(failure)) => {
            screen::print_failure(&failure);
            // Slurm's commands exit with 1 whatever failed, and clients expect that.
            1
        }
    }
}

enum CommandError {
    Clap(clap::Error),
    Failed(Failure),
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn parse<A: Parser>(command: SlurmCommand, words: &[OsString]) -> Result<A, CommandError> {
    let clap_command = A::command().args_override_self(true).max_term_width(100);
    let matches = clap_command.try_get_matches_from(words).map_err(|error| {
        match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => {
                unsupported::refusal(command, option)
                    .map_or(CommandError::Clap(error), CommandError::Failed)
            }
            _ => CommandError::Clap(error),
        }
    })?;
    A::from_arg_matches(&matches)
        .map_err(|error| CommandError::Clap(error.format(&mut A::command())))
}

fn asks_for_version(words: &[OsString]) -> bool {
    let mut options =
        words.iter().skip(1).take_while(|word| word.to_string_lossy().starts_with('-'));
    options.any(|word| word == "-V" || word == "--version")
}

fn dispatch(command: SlurmCommand, words: &[OsString]) -> Result<u8, CommandError> {
    let screen = Screen::detect(false);
    if asks_for_version(words) {
        screen.line(VERSION)?;
        return Ok(crate::failure::OK);
    }
    if matches!(command, SlurmCommand::Scancel | SlurmCommand::Scontrol) {
        signals::block_sigterm_in_job()?;
    }
    let runtime = startup::runtime()?;
    let server = Global::default().server()?;
    match command {
        SlurmCommand::Srun if component_steps::is_requested(words) => {
            Ok(runtime.block_on(component_steps::run(words))?)
        }
        SlurmCommand::Srun => {
            let args = parse::<srun::Args>(command, words)?;
            Ok(runtime.block_on(srun::run(&args, &server))?)
        }
        SlurmCommand::Salloc => {
            let args = parse::<salloc::Args>(command, words)?;
            Ok(runtime.block_on(salloc::run(&args, &server))?)
        }
        SlurmCommand::Sattach => {
            let args = parse::<sattach::Args>(command, words)?;
            Ok(runtime.block_on(sattach::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sacct => {
            let args = parse::<sacct::Args>(command, words)?;
            Ok(runtime.block_on(sacct::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sbatch => Ok(sbatch::run(words, &server, &screen, &runtime)?),
        SlurmCommand::Scancel => {
            let args = parse::<scancel::Args>(command, words)?;
            Ok(runtime.block_on(scancel::run(&args, &server, &screen))?)
        }
        SlurmCommand::Scontrol => {
            let args = parse::<scontrol::Args>(command, words)?;
            Ok(runtime.block_on(scontrol::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sinfo => {
            let args = parse::<sinfo::Args>(command, words)?;
            Ok(runtime.block_on(sinfo::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sacctmgr => {
            let args = parse::<sacctmgr::Args>(command, words)?;
            Ok(runtime.block_on(sacctmgr::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sdiag => {
            let args = parse::<sdiag::Args>(command, words)?;
            Ok(runtime.block_on(sdiag::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sprio => {
            let args = parse::<sprio::Args>(command, words)?;
            Ok(runtime.block_on(sprio::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sreport => {
            let args = parse::<sreport::Args>(command, words)?;
            Ok(runtime.block_on(sreport::run(&args, &server, &screen))?)
        }
        SlurmCommand::Sshare => {
            let args = parse::<sshare::Args>(command, words)?;
            Ok(runtime.block_on(sshare::run(&args, &server, &screen))?)
        }
        SlurmCommand::Squeue => {
            let args = parse::<squeue::Args>(command, words)?;
            Ok(runtime.block_on(squeue::run(&args, &server, &screen))?)
        }
    }
}

/// Asks the controller for the cluster's name.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn cluster_name(server: &Server) -> Result<String, Failure> {
    let status: common::wire::api::Status = server.get("/v1/status").await?;
    Ok(status.cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_selects_a_slurm_command_only_if_it_matches_exactly() {
        let named = |text: &str| SlurmCommand::from_program(Some(&OsString::from(text)));
        assert_eq!(named("/opt/slurm/bin/squeue"), Some(SlurmCommand::Squeue));
        assert_eq!(named("sbatch"), Some(SlurmCommand::Sbatch));
        assert_eq!((named("kantctl"), named("squeues")), (None, None));
    }

    #[test]
    fn every_command_line_definition_is_valid() {
        for command in SlurmCommand::ALL {
            command.clap_command().debug_assert();
        }
    }
}
