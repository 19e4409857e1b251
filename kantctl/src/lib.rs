//! kantctl, the command line of kant: from arguments to an exit code.
//! Never decides anything about jobs; it asks the controller and shows the answer.

pub mod cli;
pub mod config;
pub mod directive;
pub mod failure;
pub mod keys;
pub mod output;
pub mod server;
pub mod submission;
pub mod verb;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Global, Verb};
use failure::{Failure, Kind};
use output::{Screen, screen};
use server::Server;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The command line, for manual pages and completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command().mut_subcommand("submit", |submit| submit.args_override_self(true))
}

/// Runs a command line; the first argument is the program's name. Gives the exit code.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = command().try_get_matches_from(&arguments).and_then(|matches| {
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))
    });
    let done = match parsed {
        Ok(cli) => run_verb(cli),
        Err(error) => return refuse(&error, arguments.iter().any(|word| word == "submit")),
    };
    done.unwrap_or_else(|failure| {
        screen::complain(&failure);
        failure.kind.code()
    })
}

/// Shows what clap says: help, the version, or what is wrong with the arguments.
fn refuse(error: &clap::Error, submits: bool) -> u8 {
    let unknown = submits && error.kind() == ErrorKind::UnknownArgument;
    let refused = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if unknown => submission::complaint::not_yet(option),
        _ => None,
    };
    if let Some(text) = refused {
        screen::complain(&Failure::usage(anyhow::Error::msg(text)));
    } else {
        // Nobody is left to tell when stdout and stderr are gone.
        let _ = error.print();
    }
    if error.use_stderr() { Kind::Usage.code() } else { failure::OK }
}

fn run_verb(cli: Cli) -> Result<u8, Failure> {
    let screen = Screen::look(cli.global.json);
    match &cli.verb {
        Verb::Completions(args) => return verb::completions::run(args, &screen),
        Verb::Man(args) => return verb::man::run(args, &screen),
        _ => {}
    }
    let server = server(&cli.global)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start")?;
    runtime.block_on(ask(&cli.verb, &server, &screen))
}

fn server(global: &Global) -> Result<Server, Failure> {
    let given = global.socket.clone().filter(|path| !path.as_os_str().is_empty());
    let file = global.config.as_deref().filter(|path| !path.as_os_str().is_empty());
    let sockets = match given {
        Some(socket) => vec![socket],
        None => config::load(file)?.sockets.iter().map(PathBuf::from).collect(),
    };
    Ok(Server::new(&sockets, global.retry.map(|span| Duration::from_millis(span.0))))
}

async fn ask(verb: &Verb, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    match verb {
        Verb::Submit(args) => verb::submit::run(args, server, screen).await,
        Verb::Queue(args) => verb::queue::run(args, server, screen).await,
        Verb::Show(args) => verb::show::run(args, server, screen).await,
        Verb::Explain(args) => verb::explain::run(args, server, screen).await,
        Verb::Logs(args) => verb::logs::run(args, server, screen).await,
        Verb::Wait(args) => verb::wait::run(args, server, screen).await,
        Verb::Cancel(args) => verb::cancel::run(args, server, screen).await,
        Verb::Hold(args) => verb::hold::run(args, server, screen).await,
        Verb::Release(args) => verb::release::run(args, server, screen).await,
        Verb::Requeue(args) => verb::requeue::run(args, server, screen).await,
        Verb::Nodes(args) => verb::nodes::run(args, server, screen).await,
        Verb::Drain(args) => verb::drain::run(args, server, screen).await,
        Verb::Resume(args) => verb::resume::run(args, server, screen).await,
        Verb::Queues(args) => verb::queues::run(args, server, screen).await,
        Verb::Status(args) => verb::status::run(args, server, screen).await,
        Verb::Completions(args) => verb::completions::run(args, screen),
        Verb::Man(args) => verb::man::run(args, screen),
    }
}

#[cfg(test)]
mod tests;
