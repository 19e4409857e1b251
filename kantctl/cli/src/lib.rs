//! The command line of kantctl: from arguments to an exit code. It never decides anything about
//! jobs; it asks the controller and shows the answer.

pub mod clock;
pub mod failure;
pub mod keys;
pub mod slurm_time;

pub mod full_screen;
pub mod output;
pub mod signals;

pub mod config;
pub mod server;

pub mod directive;
pub mod fetch;
pub mod startup;
pub mod submission;

pub mod step;

pub mod verb;

pub mod cli;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Verb};
use failure::{Failure, Kind};
use output::{Screen, screen};
use server::Server;
use std::ffi::OsString;

/// The complete command line, from which manual pages and completions are generated.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command().mut_subcommand("submit", |submit| submit.args_override_self(true))
}

/// What the command line says about Slurm's commands, which the same program answers under their
/// own names.
#[derive(Debug, Clone, Copy)]
pub struct SlurmCommands {
    pub names: &'static [&'static str],
    /// The page that lists which options work.
    pub page: fn() -> String,
    /// What to type instead of a Slurm command; `None`: the word is not one.
    pub instead_of: fn(&str) -> Option<&'static str>,
}

/// Runs a command line, whose first argument is the program's name, and returns the exit code.
#[must_use]
pub fn run(arguments: &[OsString], slurm: &SlurmCommands) -> u8 {
    let parsed = command()
        .try_get_matches_from(arguments)
        .and_then(|matches| Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command())));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let submits = arguments.iter().any(|word| word == "submit");
            return print_clap_error(&error, submits, slurm);
        }
    };
    let screen = Screen::detect(cli.global.json);
    run_verb(cli, &screen, slurm).unwrap_or_else(|failure| {
        screen::print_failure(&failure);
        if screen.json {
            // If stdout is closed, the exit code still reports the failure.
            drop(screen.print_failure_json(&failure));
        }
        failure.kind.exit_code()
    })
}

/// Prints clap's output: help, the version, or an error in the arguments.
fn print_clap_error(error: &clap::Error, submits: bool, slurm: &SlurmCommands) -> u8 {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let refused = match error.kind() {
        ErrorKind::UnknownArgument if submits => {
            text(ContextKind::InvalidArg).and_then(unsupported_option)
        }
        ErrorKind::ArgumentConflict if submits => {
            submission::parse_error::conflict(error).map(Failure::usage)
        }
        ErrorKind::InvalidSubcommand => {
            text(ContextKind::InvalidSubcommand).and_then(|word| slurm_verb_failure(word, slurm))
        }
        _ => None,
    };
    match refused {
        Some(failure) => screen::print_failure(&failure),
        // Nothing is left to do when stdout and stderr are closed.
        None => drop(error.print()),
    }
    if error.use_stderr() { Kind::Usage.exit_code() } else { failure::OK }
}

/// A message about an option of sbatch that kant does not support.
fn unsupported_option(option: &str) -> Option<Failure> {
    Some(Failure::usage(anyhow::Error::msg(submission::parse_error::unsupported(option)?)))
}

/// A message about a Slurm command that is used as a verb.
fn slurm_verb_failure(word: &str, slurm: &SlurmCommands) -> Option<Failure> {
    let hint = (slurm.instead_of)(word)?;
    Some(Failure::usage(anyhow::anyhow!("there is no verb `{word}`")).with_hint(hint))
}

fn run_verb(cli: Cli, screen: &Screen, slurm: &SlurmCommands) -> Result<u8, Failure> {
    match &cli.verb {
        Verb::Completions(verb::completions::Args { shell: Some(shell), .. }) => {
            return verb::completions::run(*shell, &command(), screen);
        }
        Verb::Man(args) => {
            return verb::man::run(args, command(), slurm.page, screen);
        }
        Verb::Help(args) => return verb::help::run(args, command(), screen),
        Verb::InstallSlurmNames(args) => {
            return verb::install_slurm_names::run(args, slurm.names, screen);
        }
        Verb::StepTasks => return verb::step_tasks::run(),
        _ => {}
    }
    if matches!(cli.verb, Verb::Cancel(_) | Verb::Requeue(_)) {
        signals::block_sigterm_in_job()?;
    }
    let server = cli.global.server()?;
    startup::runtime()?.block_on(run_server_verb(&cli.verb, &server, screen, slurm))
}

async fn run_server_verb(
    verb: &Verb,
    server: &Server,
    screen: &Screen,
    slurm: &SlurmCommands,
) -> Result<u8, Failure> {
    match verb {
        Verb::Submit(args) => verb::batch::run(args, server, screen).await,
        Verb::Queue(args) => verb::queue::run(args, server, screen).await,
        Verb::History(args) => verb::history::run(args, server, screen).await,
        Verb::Top(args) => verb::top::run(args, server, screen).await,
        Verb::Watch(args) => verb::watch::run(args, server, screen).await,
        Verb::Report(args) => verb::report::run(args, server, screen).await,
        Verb::Show(args) => verb::show::run(args, server, screen).await,
        Verb::Explain(args) => verb::explain::run(args, server, screen).await,
        Verb::Logs(args) => verb::logs::run(args, server, screen).await,
        Verb::Launch(args) => verb::launch::run(args, server, screen).await,
        Verb::Run(args) => verb::run::run(args, server).await,
        Verb::Attach(args) => verb::attach::run(args, server, screen).await,
        Verb::Alloc(args) => verb::alloc::run(args, server).await,
        Verb::StepTasks => verb::step_tasks::run(),
        Verb::Wait(args) => verb::wait::run(args, server, screen).await,
        Verb::Cancel(args) => verb::cancel::run(args, server, screen).await,
        Verb::Hold(args) => verb::hold::run(args, server, screen).await,
        Verb::Release(args) => verb::release::run(args, server, screen).await,
        Verb::Update(args) => verb::update::run(args, server, screen).await,
        Verb::Requeue(args) => verb::requeue::run(args, server, screen).await,
        Verb::Checkpoint(args) => verb::checkpoint::run(args, server, screen).await,
        Verb::Resize(args) => verb::resize::run(args, server, screen).await,
        Verb::Suspend(args) => verb::suspend::run(args, server, screen).await,
        Verb::Nodes(args) => verb::nodes::run(args, server, screen).await,
        Verb::Drain(args) => verb::drain::run(args, server, screen).await,
        Verb::Resume(args) => verb::resume::run(args, server, screen).await,
        Verb::Queues(args) => verb::queues::run(args, server, screen).await,
        Verb::Reservations(args) => verb::reservations::run(args, server, screen).await,
        Verb::Service(args) => verb::service::run(args, server, screen).await,
        Verb::Share(args) => verb::share::run(args, server, screen).await,
        Verb::Priority(args) => verb::priority::run(args, server, screen).await,
        Verb::Metrics(args) => verb::metrics::run(args, server, screen).await,
        Verb::Export(args) => verb::export::run(args, server, screen).await,
        Verb::Reload(args) => verb::reload::run(args, server, screen).await,
        Verb::Status(args) => verb::status::run(args, server, screen).await,
        Verb::Token(args) => verb::token::run(args, server, screen).await,
        Verb::Audit(args) => verb::audit::run(args, server, screen).await,
        Verb::Admin(args) => verb::admin::run(args, server, screen).await,
        Verb::Completions(args) => verb::completions::print_choices(args, server, screen).await,
        Verb::Man(args) => verb::man::run(args, command(), slurm.page, screen),
        Verb::Help(args) => verb::help::run(args, command(), screen),
        Verb::InstallSlurmNames(args) => verb::install_slurm_names::run(args, slurm.names, screen),
    }
}

#[cfg(test)]
mod tests;
