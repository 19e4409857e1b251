//! kantctld's command line: reads the configuration and starts what the command names.
//! It never does more than that.

use clap::{Parser, Subcommand};
use common::config::ControllerConfig;
use kantctld::access::Access;
use kantctld::files;
use kantctld::membership;
use kantctld::memory;
use kantctld::session::NodeThreads;
use kantctld::settings::{self, ConfigFile};
use kantctld::setup::{self, SetupOptions};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The kant controller: queues, schedules and records jobs.
///
/// Without a command it runs in the foreground and logs to standard error.
#[derive(Parser)]
#[command(version, about, long_about)]
struct Arguments {
    /// Configuration file [default: /etc/kant/kantctld.toml, if it exists]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Check the configuration, report what is wrong with it, and exit
    CheckConfig {
        /// The file [default: the one given by --config]
        file: Option<PathBuf>,
    },
    /// Make this host a controller: write a configuration if there is none, found a cluster or
    /// join one, and start the unit. May be repeated
    Setup(SetupArguments),
    /// Start a new cluster with this controller as its first member
    Found,
    /// Make a new cluster key, if there is none: after its loss or theft, with all controllers
    /// stopped. Copy it to the other controllers; then all nodes must join again
    FoundKey,
    /// Add this controller to a running cluster
    Join(JoinArguments),
    /// Set a lost or damaged log aside and join again as a new member
    Rebuild(JoinArguments),
    /// Start again from a file of `kantctl admin backup`, after all logs are lost
    Restore {
        /// The backup file
        file: PathBuf,
        /// Do not check first whether a controller named in `peers` or in the backup still runs.
        /// Two controllers that both lead would send conflicting orders to the nodes
        #[arg(long)]
        force: bool,
    },
}

#[derive(clap::Args)]
struct JoinArguments {
    /// A controller of the cluster [default: those listed in `peers`]
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// Join as a learner: replicate the state, never vote
    #[arg(long)]
    learner: bool,
    /// The invitation printed by `kantctl admin controller invite` on the leader's host
    #[arg(long, value_name = "INVITATION", env = "KANT_INVITATION", hide_env_values = true)]
    invitation: Option<String>,
}

impl From<JoinArguments> for membership::JoinOptions {
    fn from(JoinArguments { to, learner, invitation }: JoinArguments) -> Self {
        Self { to, learner, invitation }
    }
}

#[derive(clap::Args)]
struct SetupArguments {
    /// Where nodes and other controllers reach this one; for a new configuration [default: this
    /// host's name, with port 7600]
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// The name of the cluster; for a new configuration [default: kant]
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// A controller of the cluster to join, with an invitation
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// The invitation printed by `kantctl admin controller invite` on the leader's host. Without
    /// one, this host becomes the first controller of a new cluster
    #[arg(long, value_name = "INVITATION", env = "KANT_INVITATION", hide_env_values = true)]
    invitation: Option<String>,
    /// Do not enable and start the unit
    #[arg(long)]
    no_start: bool,
}

impl From<SetupArguments> for SetupOptions {
    fn from(given: SetupArguments) -> Self {
        let SetupArguments { advertise, cluster, to, invitation, no_start } = given;
        Self { advertise, cluster, to, invitation, no_start }
    }
}

pub fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kantctld: {}", one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// The error and its causes on one line, without a backtrace and without a cause that the message
/// before it already contains.
fn one_line(error: &anyhow::Error) -> String {
    let mut messages: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !messages.last().is_some_and(|last| last.contains(&cause)) {
            messages.push(cause);
        }
    }
    messages.join(": ")
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.verb {
        None => {}
        Some(Verb::CheckConfig { file }) => {
            return check_config(file.or(arguments.config).as_deref());
        }
        Some(Verb::Setup(given)) => {
            return print(&setup::run_setup(arguments.config.as_deref(), &given.into())?);
        }
        Some(Verb::Found) => {
            let config = read_checked_config(arguments.config.as_deref())?;
            let message = membership::run_found(&config)?;
            // Made now, as the owner of the state directory.
            kantctld::run::make_cluster_key(&config)?;
            return print(&message);
        }
        Some(Verb::FoundKey) => {
            let config = read_checked_config(arguments.config.as_deref())?;
            return print(&membership::run_found_key(&config)?);
        }
        Some(Verb::Join(joining)) => {
            let config = read_checked_config(arguments.config.as_deref())?;
            return print(&membership::run_join(&config, &joining.into())?);
        }
        Some(Verb::Rebuild(joining)) => {
            let config = read_checked_config(arguments.config.as_deref())?;
            return print(&membership::run_rebuild(&config, &joining.into())?);
        }
        Some(Verb::Restore { file, force }) => {
            let config = read_checked_config(arguments.config.as_deref())?;
            let message = membership::run_restore(&config, &file, force)?;
            // Lost with everything else, perhaps.
            kantctld::run::make_cluster_key(&config)?;
            return print(&message);
        }
    }
    files::set_private_umask();
    let file = ConfigFile::read(arguments.config.as_deref())?;
    start_log(&file.config)?;
    files::raise_open_file_limit();
    memory::return_large_blocks();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Half of the cores: with more threads, idle ones would spin looking for work.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let nodes = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.div_ceil(2))
        .thread_name("nodes")
        .enable_all()
        .build()?;
    runtime.spawn(memory::trim_every_minute());
    let threads = NodeThreads(nodes.handle().clone());
    let ended = runtime.block_on(kantctld::run::run(file, threads));
    // Sessions still open end with the process.
    nodes.shutdown_background();
    ended?;
    Ok(())
}

/// Reads and checks the configuration, for a command that creates files.
fn read_checked_config(file: Option<&Path>) -> anyhow::Result<ControllerConfig> {
    files::set_private_umask();
    let file = ConfigFile::read(file)?;
    file.check_trusted()?;
    settings::check(&file.config)?;
    Ok(file.config)
}

fn print(message: &str) -> anyhow::Result<()> {
    println!("{message}");
    Ok(())
}

/// Checks everything that can be checked without starting: errors fail, likely mistakes are printed
/// as warnings.
fn check_config(file: Option<&Path>) -> anyhow::Result<()> {
    let file = ConfigFile::read(file)?;
    settings::check(&file.config)?;
    let settings = settings::settings(&file)?;
    Access::from_config(&file.config)?;
    // Only a warning: the file may be a draft that is installed later.
    let loose = file.check_trusted().err().map(|error| error.to_string());
    for warning in settings::warnings(&settings).into_iter().chain(loose) {
        eprintln!("kantctld: warning: {warning}");
    }
    if file.found {
        println!("the configuration {} is valid", file.name());
    } else {
        println!("{} does not exist; all keys have their defaults, which are valid", file.name());
    }
    Ok(())
}

fn start_log(config: &ControllerConfig) -> anyhow::Result<()> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| config.log.clone());
    tracing_subscriber::fmt()
        .with_env_filter(settings::log_filter(&filter)?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .init();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        let system = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let named = anyhow::Error::new(system()).context(format!("failed to read x: {}", system()));
        assert_eq!(one_line(&named), "failed to read x: entity not found");
        let bare = anyhow::Error::new(system()).context("failed to read x");
        assert_eq!(one_line(&bare), "failed to read x: entity not found");
    }

    #[test]
    fn the_file_to_check_may_be_named_either_way() {
        for words in [&["check-config", "f"][..], &["--config", "f", "check-config"]] {
            let words = ["kantctld"].iter().chain(words);
            let Arguments { config, verb } = Arguments::try_parse_from(words).unwrap();
            let Some(Verb::CheckConfig { file }) = verb else { panic!("no verb") };
            assert_eq!(file.or(config), Some(PathBuf::from("f")));
        }
    }
}
