//! kantctld's command line. Never does more than read the configuration and start.

use clap::{Parser, Subcommand};
use common::config::ControllerConfig;
use kantctld::access::Access;
use kantctld::cases;
use kantctld::files;
use kantctld::membership;
use kantctld::memory;
use kantctld::session::NodeThreads;
use kantctld::settings::{self, ConfigFile};
use kantctld::simulate;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The kant controller: queues, schedules and remembers jobs.
///
/// Without a command it runs, in the foreground, and logs to standard error.
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
    /// Read the configuration, say what is wrong with it, and end
    CheckConfig {
        /// The file [default: that of --config]
        file: Option<PathBuf>,
    },
    /// Begin a new cluster with this controller as its first
    Found,
    /// Make this controller one of a cluster that runs
    Join(Joining),
    /// Give up a lost or damaged log, and join again under a new number
    Rebuild(Joining),
    /// Begin again from a file of `kantctl admin backup`, where every log is lost
    Restore {
        /// The backup
        file: PathBuf,
        /// Do not ask first whether a controller that `peers` or the backup name still runs: two
        /// that think they are the cluster would both command its nodes
        #[arg(long)]
        force: bool,
    },
    /// Try policies on a recorded workload, in virtual time
    Simulate(Box<simulate::Arguments>),
    /// Play cases of fair sharing against the engine
    #[command(subcommand)]
    Scenario(cases::Verb),
}

/// How to join.
#[derive(clap::Args)]
struct Joining {
    /// A controller of the cluster [default: those named in `peers`]
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// Keep a copy without ever voting
    #[arg(long)]
    learner: bool,
    /// What `kantctl admin controller invite` printed, on the host of the leading controller
    #[arg(long, value_name = "SECRET", env = "KANT_INVITATION", hide_env_values = true)]
    invitation: Option<String>,
}

impl From<Joining> for membership::How {
    fn from(Joining { to, learner, invitation }: Joining) -> Self {
        Self { to, learner, invitation }
    }
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kantctld: {}", told(&error));
            ExitCode::FAILURE
        }
    }
}

/// What failed and why, in one line: without a backtrace, which tells a user nothing, and without a
/// cause that the message before it names already.
fn told(error: &anyhow::Error) -> String {
    let mut told: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !told.last().is_some_and(|last| last.contains(&cause)) {
            told.push(cause);
        }
    }
    told.join(": ")
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.verb {
        None => {}
        Some(Verb::CheckConfig { file }) => {
            return check_config(file.or(arguments.config).as_deref());
        }
        Some(Verb::Found) => {
            let config = checked(arguments.config.as_deref())?;
            let told = membership::run_found(&config)?;
            // Made now, so that it can be copied before the start.
            kantctld::run::identity(&config)?;
            return say(&told);
        }
        Some(Verb::Join(joining)) => {
            let config = checked(arguments.config.as_deref())?;
            return say(&membership::run_join(&config, &joining.into())?);
        }
        Some(Verb::Rebuild(joining)) => {
            let config = checked(arguments.config.as_deref())?;
            return say(&membership::run_rebuild(&config, &joining.into())?);
        }
        Some(Verb::Restore { file, force }) => {
            let config = checked(arguments.config.as_deref())?;
            return say(&membership::run_restore(&config, &file, force)?);
        }
        Some(Verb::Simulate(plan)) => {
            anyhow::ensure!(
                arguments.config.is_none(),
                "simulate reads no --config: name a policy file with --policy FILE"
            );
            return Ok(simulate::run(&plan)?);
        }
        Some(Verb::Scenario(verb)) => {
            return Ok(cases::play(&verb, &mut std::io::stdout().lock())?);
        }
    }
    files::keep_private();
    let file = ConfigFile::read(arguments.config.as_deref())?;
    start_log(&file.config)?;
    files::allow_all();
    memory::return_large_blocks();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Half of the cores: fewer threads that look for work in vain while there is little of it.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let nodes = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.div_ceil(2))
        .thread_name("nodes")
        .enable_all()
        .build()?;
    runtime.spawn(memory::return_the_rest());
    let threads = NodeThreads(nodes.handle().clone());
    let ended = runtime.block_on(kantctld::run::run(file, threads));
    // Sessions that are left end with the process.
    nodes.shutdown_background();
    ended?;
    Ok(())
}

/// A configuration that a controller could start with, for a verb that makes files of its own.
fn checked(file: Option<&Path>) -> anyhow::Result<ControllerConfig> {
    files::keep_private();
    let file = ConfigFile::read(file)?;
    file.check_trusted()?;
    settings::check(&file.config)?;
    Ok(file.config)
}

fn say(told: &str) -> anyhow::Result<()> {
    println!("{told}");
    Ok(())
}

/// All that can be said of a configuration without starting: what is wrong ends it, what is
/// probably not meant is told.
fn check_config(file: Option<&Path>) -> anyhow::Result<()> {
    let file = ConfigFile::read(file)?;
    settings::check(&file.config)?;
    let settings = settings::settings(&file)?;
    Access::configured(&file.config)?;
    // It may be a draft that is to be put in its place later.
    let loose = file.check_trusted().err().map(|error| error.to_string());
    for warning in settings::warnings(&settings).into_iter().chain(loose) {
        eprintln!("kantctld: warning: {warning}");
    }
    if file.found {
        println!("the configuration {} is good", file.name());
    } else {
        println!("there is no {}, so every key has its default, and that is good", file.name());
    }
    Ok(())
}

/// Log lines go to standard error, where systemd or a terminal takes them.
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
    fn a_cause_is_told_once() {
        let system = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let named = anyhow::Error::new(system()).context(format!("failed to read x: {}", system()));
        assert_eq!(told(&named), "failed to read x: entity not found");
        let bare = anyhow::Error::new(system()).context("failed to read x");
        assert_eq!(told(&bare), "failed to read x: entity not found");
    }

    #[test]
    fn simulate_takes_no_configuration_but_a_policy() {
        let words = "kantctld --config mine.toml simulate --jobs j --nodes n";
        let refused = run(Arguments::try_parse_from(words.split(' ')).unwrap()).unwrap_err();
        assert!(told(&refused).contains("--policy FILE"), "{refused}");
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
