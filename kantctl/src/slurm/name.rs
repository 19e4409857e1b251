//! One program under Slurm's names: which of them it was called by, and what they have in common.
//! Never decides what a command does.

mod repeat;
mod variables;

pub use repeat::Repeat;

use super::srun::parts;
use super::{glued, refused};
use super::{
    sacct, sacctmgr, salloc, sattach, sbatch, scancel, scontrol, sdiag, sinfo, sprio, squeue,
    sreport, srun, sshare,
};
use crate::cli::Global;
use crate::failure::Failure;
use crate::output::{Screen, screen};
use crate::server::Server;
use crate::signals;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::path::Path;

/// What `--version` says after the name: the release of Slurm whose options and output these are.
pub const VERSION: &str = concat!("slurm 22.05.8-kant-", env!("CARGO_PKG_VERSION"));

/// What the commands have in common.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Common {
    /// Which clusters: there is one, whatever is said
    #[arg(short = 'M', long = "clusters", visible_alias = "cluster", value_name = "CLUSTER")]
    pub clusters: Option<String>,
    /// Say more, where there is more to say
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
    /// Of this cluster alone (there are no federations)
    #[arg(long, hide = true)]
    pub local: bool,
    /// Of the whole federation (there are none)
    #[arg(long, hide = true)]
    pub federation: bool,
}

/// The commands of Slurm that this program answers as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// Accounts.
    Sacct,
    /// Holds nodes for a shell.
    Salloc,
    /// Shows accounts.
    Sacctmgr,
    /// Shows what a step writes.
    Sattach,
    /// Submits.
    Sbatch,
    /// Cancels.
    Scancel,
    /// Shows and steers.
    Scontrol,
    /// Shows how the controller is.
    Sdiag,
    /// Lists nodes.
    Sinfo,
    /// Shows priorities.
    Sprio,
    /// Lists jobs.
    Squeue,
    /// Reports.
    Sreport,
    /// Runs the tasks of a step.
    Srun,
    /// Shows shares.
    Sshare,
}

impl Name {
    /// All of them.
    pub const ALL: [Name; 14] = [
        Name::Sacct,
        Name::Sacctmgr,
        Name::Salloc,
        Name::Sattach,
        Name::Sbatch,
        Name::Scancel,
        Name::Scontrol,
        Name::Sdiag,
        Name::Sinfo,
        Name::Sprio,
        Name::Squeue,
        Name::Sreport,
        Name::Srun,
        Name::Sshare,
    ];

    /// The name itself.
    #[must_use]
    pub const fn word(self) -> &'static str {
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

    /// The name that a program was called by; `None`: by its own.
    #[must_use]
    pub fn of(program: Option<&OsString>) -> Option<Self> {
        let name = Path::new(program?).file_name()?.to_str()?;
        Self::ALL.into_iter().find(|known| known.word() == name)
    }

    /// Its command line, for manuals and tables.
    #[must_use]
    pub fn command(self) -> clap::Command {
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

/// Runs the command of this name; gives the exit code.
#[must_use]
pub fn run(name: Name, arguments: &[OsString]) -> u8 {
    screen::speak_as(name.word());
    let words = variables::with_variables(name, &glued::apart(&name.command(), arguments));
    match answer(name, &words) {
        Ok(code) => code,
        Err(Said::Clap(error)) => {
            let text = error.render().to_string();
            match text.strip_prefix("error: ") {
                Some(why) => screen::note(&format!("error: {}", why.trim_end())),
                // Nobody is left to tell when stdout and stderr are gone.
                None => drop(error.print()),
            }
            u8::from(error.use_stderr())
        }
        Err(Said::Failed(failure)) => {
            screen::complain(&failure);
            // Slurm's commands exit with 1, whatever failed; clients look for nothing else.
            1
        }
    }
}

enum Said {
    Clap(clap::Error),
    Failed(Failure),
}

impl From<Failure> for Said {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn parsed<A: Parser>(name: Name, words: &[OsString]) -> Result<A, Said> {
    let command = A::command().args_override_self(true).max_term_width(100);
    let matches = command.try_get_matches_from(words).map_err(|error| {
        match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => {
                refused::told(name, option).map_or(Said::Clap(error), Said::Failed)
            }
            _ => Said::Clap(error),
        }
    })?;
    A::from_arg_matches(&matches).map_err(|error| Said::Clap(error.format(&mut A::command())))
}

fn answer(name: Name, words: &[OsString]) -> Result<u8, Said> {
    let screen = Screen::look(false);
    let own = words.iter().skip(1).take_while(|word| word.to_string_lossy().starts_with('-'));
    if own.into_iter().any(|word| word == "-V" || word == "--version") {
        screen.line(VERSION)?;
        return Ok(crate::failure::OK);
    }
    if matches!(name, Name::Scancel | Name::Scontrol) {
        signals::block_sigterm_in_job()?;
    }
    let runtime = crate::runtime()?;
    let server = crate::server(&Global::default())?;
    match name {
        Name::Srun if parts::are_here(words) => Ok(runtime.block_on(parts::run(words))?),
        Name::Srun => {
            let args = parsed::<srun::Args>(name, words)?;
            Ok(runtime.block_on(srun::run(&args, &server))?)
        }
        Name::Salloc => {
            let args = parsed::<salloc::Args>(name, words)?;
            Ok(runtime.block_on(salloc::run(&args, &server))?)
        }
        Name::Sattach => {
            let args = parsed::<sattach::Args>(name, words)?;
            Ok(runtime.block_on(sattach::run(&args, &server, &screen))?)
        }
        Name::Sacct => {
            let args = parsed::<sacct::Args>(name, words)?;
            Ok(runtime.block_on(sacct::run(&args, &server, &screen))?)
        }
        Name::Sbatch => Ok(sbatch::run(words, &server, &screen, &runtime)?),
        Name::Scancel => {
            let args = parsed::<scancel::Args>(name, words)?;
            Ok(runtime.block_on(scancel::run(&args, &server, &screen))?)
        }
        Name::Scontrol => {
            let args = parsed::<scontrol::Args>(name, words)?;
            Ok(runtime.block_on(scontrol::run(&args, &server, &screen))?)
        }
        Name::Sinfo => {
            let args = parsed::<sinfo::Args>(name, words)?;
            Ok(runtime.block_on(sinfo::run(&args, &server, &screen))?)
        }
        Name::Sacctmgr => {
            let args = parsed::<sacctmgr::Args>(name, words)?;
            Ok(runtime.block_on(sacctmgr::run(&args, &server, &screen))?)
        }
        Name::Sdiag => {
            let args = parsed::<sdiag::Args>(name, words)?;
            Ok(runtime.block_on(sdiag::run(&args, &server, &screen))?)
        }
        Name::Sprio => {
            let args = parsed::<sprio::Args>(name, words)?;
            Ok(runtime.block_on(sprio::run(&args, &server, &screen))?)
        }
        Name::Sreport => {
            let args = parsed::<sreport::Args>(name, words)?;
            Ok(runtime.block_on(sreport::run(&args, &server, &screen))?)
        }
        Name::Sshare => {
            let args = parsed::<sshare::Args>(name, words)?;
            Ok(runtime.block_on(sshare::run(&args, &server, &screen))?)
        }
        Name::Squeue => {
            let args = parsed::<squeue::Args>(name, words)?;
            Ok(runtime.block_on(squeue::run(&args, &server, &screen))?)
        }
    }
}

/// Asks about the cluster itself: its name.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn cluster(server: &Server) -> Result<String, Failure> {
    let status: common::wire::api::Status = server.get("/v1/status").await?;
    Ok(status.cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_with_slurms_name_is_that_command_and_nothing_else_is() {
        let named = |text: &str| Name::of(Some(&OsString::from(text)));
        assert_eq!(named("/opt/slurm/bin/squeue"), Some(Name::Squeue));
        assert_eq!(named("sbatch"), Some(Name::Sbatch));
        assert_eq!((named("kantctl"), named("squeues")), (None, None));
    }

    #[test]
    fn every_command_line_is_sound() {
        for name in Name::ALL {
            name.command().debug_assert();
        }
    }
}
