//! Each Slurm command from its arguments to its exit code.

mod option_values;
mod variables;

use super::command::SlurmCommand;
use super::shared_options::VERSION;
use super::unsupported;

use super::srun::component_steps;
use super::{
    sacct, sacctmgr, salloc, sattach, sbatch, scancel, scontrol, sdiag, sinfo, sprio, squeue,
    sreport, srun, sshare,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use cli::failure::Failure;
use cli::output::{Screen, screen};
use cli::signals;
use cli::startup::{self, Global};
use std::ffi::OsString;

/// The definition of its command line, for manuals and tables.
#[must_use]
pub fn clap_command(command: SlurmCommand) -> clap::Command {
    match command {
        SlurmCommand::Sacct => sacct::Args::command(),
        SlurmCommand::Salloc => salloc::Args::command(),
        SlurmCommand::Sattach => sattach::Args::command(),
        SlurmCommand::Sacctmgr => sacctmgr::Args::command(),
        SlurmCommand::Sbatch => sbatch::command(),
        SlurmCommand::Scancel => scancel::Args::command(),
        SlurmCommand::Scontrol => scontrol::Args::command(),
        SlurmCommand::Sdiag => sdiag::Args::command(),
        SlurmCommand::Sinfo => sinfo::Args::command(),
        SlurmCommand::Sprio => sprio::Args::command(),
        SlurmCommand::Squeue => squeue::Args::command(),
        SlurmCommand::Sreport => sreport::Args::command(),
        SlurmCommand::Srun => srun::Args::command(),
        SlurmCommand::Sshare => sshare::Args::command(),
    }
}

const fn variables(command: SlurmCommand) -> &'static [(&'static str, &'static str)] {
    match command {
        SlurmCommand::Sacct => sacct::Args::variables(),
        SlurmCommand::Sinfo => sinfo::Args::variables(),
        SlurmCommand::Squeue => squeue::Args::variables(),
        _ => &[],
    }
}

/// Runs a command and returns its exit code.
#[must_use]
pub fn run(command: SlurmCommand, arguments: &[OsString]) -> u8 {
    screen::set_program_name(command.name());
    let words = variables::with_variables(
        command,
        &option_values::insert_value_separators(&clap_command(command), arguments),
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
    let definition = A::command().args_override_self(true).max_term_width(100);
    let matches = definition.try_get_matches_from(words).map_err(|error| {
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
        screen.print_line(VERSION)?;
        return Ok(cli::failure::OK);
    }
    if matches!(command, SlurmCommand::Scancel | SlurmCommand::Scontrol) {
        signals::block_sigterm_in_job()?;
    }
    let runtime = startup::runtime()?;
    let server = Global::default().server()?;
    match command {
        SlurmCommand::Srun if component_steps::has_several_commands(words) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_line_definition_is_valid() {
        for command in SlurmCommand::ALL {
            clap_command(command).debug_assert();
        }
    }
}
