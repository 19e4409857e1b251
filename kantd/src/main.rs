//! kantd, the node daemon of kant. Reads the command line and hands over; never decides anything.

use anyhow::Context;
use clap::{Parser, Subcommand};
use kantd::config::{self, DEFAULT_FILE, Settings};
use kantd::doubts::doubts;
use kantd::{daemon, emulate, inventory, logging, step, survey, trust};
use nix::sys::stat::{Mode, umask};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The node daemon of kant: offers this machine to jobs, and runs them.
#[derive(Debug, Parser)]
#[command(name = "kantd", version)]
struct Args {
    /// The configuration; without it /etc/kant/kantd.toml, or the defaults if that is missing.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what this machine would offer, and exit.
    Inventory {
        /// As JSON, as the controller gets it.
        #[arg(long)]
        json: bool,
    },
    /// Check a configuration, and exit.
    CheckConfig {
        /// The file; without it that of --config.
        file: Option<PathBuf>,
    },
    /// Make up nodes that run nothing, for a controller with `emulated = true`: scale tests, demos
    /// and dry runs.
    Emulate(emulate::Line),
    /// Supervise one step. kantd starts this by itself.
    #[command(hide = true)]
    Step {
        /// The step's directory in the spool.
        #[arg(long)]
        dir: PathBuf,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.command {
        // First of all: a supervisor must stay a single thread.
        Some(Command::Step { dir }) => return step::run_supervisor(&dir),
        Some(Command::Inventory { json }) => show_inventory(args.config.as_deref(), json),
        Some(Command::CheckConfig { file }) => check_config(file.or(args.config).as_deref()),
        Some(Command::Emulate(line)) => emulate(line),
        None => serve(args.config.as_deref()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kantd: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(file: Option<&Path>) -> anyhow::Result<()> {
    // What kantd makes is for root alone, where no mode says otherwise. Jobs have the umask that
    // they were submitted with.
    umask(Mode::from_bits_truncate(0o077));
    let (settings, file_found) = config::load(file)?;
    trust::check(file, &settings)?;
    logging::init(&settings.log)?;
    if !file_found {
        tracing::info!("{DEFAULT_FILE} does not exist: the defaults are in force");
    }
    for doubt in doubts(&settings) {
        tracing::warn!("{doubt}");
    }
    let runtime = tokio::runtime::Runtime::new().context("failed to start the runtime")?;
    let result = runtime.block_on(daemon::run(settings));
    // A thread that hangs in a dead file system must not keep kantd from stopping.
    runtime.shutdown_background();
    Ok(result?)
}

fn emulate(line: emulate::Line) -> anyhow::Result<()> {
    if let Some(text) = line.config()? {
        return print(&text);
    }
    // A thousand nodes that tell of each job would be all that anybody reads.
    logging::init("warn,kantd::emulate=info")?;
    let emulation = line.emulation()?;
    let runtime = tokio::runtime::Runtime::new().context("failed to start the runtime")?;
    let ended = runtime.block_on(async {
        let stop = daemon::StopSignals::listen()?;
        tokio::select! {
            ended = emulate::run(emulation) => ended.map_err(anyhow::Error::from),
            () = stop.wait() => Ok(()),
        }
    });
    runtime.shutdown_background();
    ended
}

fn show_inventory(file: Option<&Path>, json: bool) -> anyhow::Result<()> {
    let (settings, _): (Settings, bool) = config::load(file)?;
    complain(&settings);
    let found = survey::survey(&settings)?.inventory;
    print(&match json {
        true => serde_json::to_string_pretty(&found)? + "\n",
        false => inventory::show(&found),
    })
}

fn check_config(file: Option<&Path>) -> anyhow::Result<()> {
    let (settings, file_found) = config::load(file)?;
    let what = match file_found {
        true if !doubts(&settings).is_empty() => {
            format!("{} can be read", file.unwrap_or(Path::new(DEFAULT_FILE)).display())
        }
        true => format!("{} is fine", file.unwrap_or(Path::new(DEFAULT_FILE)).display()),
        false => format!("{DEFAULT_FILE} does not exist, the defaults are in force"),
    };
    complain(&settings);
    // It may be a draft that is to be put in its place later.
    if let Err(error) = trust::check(file, &settings) {
        eprintln!("warning: {error}");
    }
    print(&format!("{what}; this node is {}\n", settings.name))
}

fn complain(settings: &Settings) {
    for doubt in doubts(settings) {
        eprintln!("warning: {doubt}");
    }
}

/// To stdout; a reader who has seen enough is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_to_check_may_be_named_either_way() {
        for words in [&["check-config", "f"][..], &["--config", "f", "check-config"]] {
            let words = ["kantd"].iter().chain(words);
            let Args { config, command } = Args::try_parse_from(words).unwrap();
            let Some(Command::CheckConfig { file }) = command else { panic!("no verb") };
            assert_eq!(file.or(config), Some(PathBuf::from("f")));
        }
    }
}
