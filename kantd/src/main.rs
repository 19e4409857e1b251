//! The command line of kantd, the node daemon of kant. The crate `kantd` does the work; this file
//! never makes decisions of its own.

use anyhow::Context;
use clap::{Parser, Subcommand};
use kantd::config::{self, DEFAULT_FILE, Settings};
use kantd::config_warnings::config_warnings;
use kantd::{
    daemon, emulate, enrolment, inventory, logging, node_probe, routes, setup, step, trust,
};
use nix::sys::stat::{Mode, umask};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The node daemon of kant: offers this machine to jobs, and runs them.
#[derive(Debug, Parser)]
#[command(name = "kantd", version)]
struct Args {
    /// The configuration file. Default: /etc/kant/kantd.toml, or built-in defaults if that is
    /// missing.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the inventory that this machine would offer, and exit.
    Inventory {
        /// Print the JSON that the controller gets.
        #[arg(long)]
        json: bool,
    },
    /// Check a configuration, and exit.
    CheckConfig {
        /// The file. Default: the one of --config.
        file: Option<PathBuf>,
    },
    /// Emulate nodes that run no processes, for a controller with `emulated = true`: for scale
    /// tests, demos and dry runs.
    Emulate(emulate::EmulateArgs),
    /// Route requests to the services of the cluster, on the address `router` of the
    /// configuration. kantd on this node writes the file from which it knows where the
    /// replicas are.
    Router,
    /// Get a certificate for this node by an invitation of an operator: once, before kantd first
    /// starts. Afterwards kantd renews it by itself.
    Join {
        /// The invitation printed by `kantctl admin node invite` on the leader's host
        #[arg(long, value_name = "INVITATION", env = "KANT_INVITATION", hide_env_values = true)]
        invitation: Option<String>,
        /// A controller of the cluster [default: the `controllers` of the configuration]
        #[arg(long, value_name = "HOST:PORT")]
        to: Vec<String>,
    },
    /// Make this host a node: write a configuration if there is none, get a certificate by an
    /// invitation, and start the unit. May be repeated.
    Setup {
        /// The invitation printed by `kantctl admin node invite` on the leader's host
        #[arg(long, value_name = "INVITATION", env = "KANT_INVITATION", hide_env_values = true)]
        invitation: Option<String>,
        /// A controller of the cluster; may be given several times [default: the `controllers` of
        /// the configuration]
        #[arg(long, value_name = "HOST:PORT")]
        to: Vec<String>,
        /// Do not enable and start the unit
        #[arg(long)]
        no_start: bool,
    },
    /// Supervise one step. Started by kantd.
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
        // Before anything else: a supervisor must stay single-threaded.
        Some(Command::Step { dir }) => return step::run_supervisor(&dir),
        Some(Command::Inventory { json }) => show_inventory(args.config.as_deref(), json),
        Some(Command::CheckConfig { file }) => check_config(file.or(args.config).as_deref()),
        Some(Command::Emulate(args)) => emulate(args),
        Some(Command::Router) => run_router(args.config.as_deref()),
        Some(Command::Join { invitation, to }) => {
            join(args.config.as_deref(), invitation.as_deref(), to)
        }
        Some(Command::Setup { invitation, to, no_start }) => {
            set_up(args.config.as_deref(), invitation.as_deref(), to, no_start)
        }
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
    // Files that kantd makes are root's alone unless a mode says otherwise. Jobs have the umask of
    // their submission.
    umask(Mode::from_bits_truncate(0o077));
    let (settings, file_found) = config::load(file)?;
    trust::check(file, &settings)?;
    logging::init(&settings.log)?;
    if !file_found {
        tracing::info!("{DEFAULT_FILE} does not exist: the defaults apply");
    }
    for warning in config_warnings(&settings) {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Runtime::new().context("failed to start the runtime")?;
    let result = runtime.block_on(daemon::run(settings));
    // A thread that hangs in a dead file system must not keep kantd from stopping.
    runtime.shutdown_background();
    Ok(result?)
}

/// Gets the node's first certificate.
fn join(file: Option<&Path>, invitation: Option<&str>, to: Vec<String>) -> anyhow::Result<()> {
    umask(Mode::from_bits_truncate(0o077));
    let (settings, _) = config::load(file)?;
    let controllers = if to.is_empty() { settings.controllers.clone() } else { to };
    let runtime = tokio::runtime::Runtime::new().context("failed to start the runtime")?;
    let joined = runtime.block_on(enrolment::join(&settings, &controllers, invitation))?;
    print(&format!(
        "node {} has a certificate until {}; start kantd now, which renews it by itself (if kantd \
         runs, restart it: jobs run on)\n",
        joined.name, joined.until
    ))
}

/// Makes this host a node.
fn set_up(
    file: Option<&Path>,
    invitation: Option<&str>,
    to: Vec<String>,
    no_start: bool,
) -> anyhow::Result<()> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    match setup::write_config(path, &to)? {
        true => print(&format!("wrote {}\n", path.display()))?,
        false => print(&format!("{} is as it was\n", path.display()))?,
    }
    join(Some(path), invitation, to)?;
    // The unit reads the default configuration.
    if !no_start && file.is_none() && setup::start_unit()? {
        print("kantd.service runs\n")?;
    }
    Ok(())
}

/// Routes requests until a stop signal arrives.
fn run_router(file: Option<&Path>) -> anyhow::Result<()> {
    umask(Mode::from_bits_truncate(0o077));
    let (settings, _) = config::load(file)?;
    trust::check(file, &settings)?;
    logging::init(&settings.log)?;
    let router = settings.router.context(
        "no router runs on this node: set `router` in kantd.toml, for example router = \"0.0.0.0\"",
    )?;
    let runtime = tokio::runtime::Runtime::new().context("failed to start the runtime")?;
    runtime.block_on(async {
        let stop = daemon::StopSignals::listen()?;
        let router = routes::start_router(&settings.spool, &router)?;
        kantd::notify::ready();
        stop.wait().await;
        tracing::info!("stopping the router: requests in flight are answered");
        kantd::notify::stopping();
        router.stop().await;
        Ok(())
    })
}

fn emulate(args: emulate::EmulateArgs) -> anyhow::Result<()> {
    if let Some(text) = args.controller_config()? {
        return print(&text);
    }
    // The log would be useless if thousands of nodes reported every job.
    logging::init("warn,kantd::emulate=info")?;
    let emulation = args.emulation()?;
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
    print_warnings(&settings);
    let found = node_probe::probe_node(&settings)?.inventory;
    print(&match json {
        true => serde_json::to_string_pretty(&found)? + "\n",
        false => inventory::show(&found),
    })
}

fn check_config(file: Option<&Path>) -> anyhow::Result<()> {
    let (settings, file_found) = config::load(file)?;
    let what = match file_found {
        true if !config_warnings(&settings).is_empty() => {
            format!("{} is valid, with warnings", file.unwrap_or(Path::new(DEFAULT_FILE)).display())
        }
        true => format!("{} is valid", file.unwrap_or(Path::new(DEFAULT_FILE)).display()),
        false => format!("{DEFAULT_FILE} does not exist, the defaults apply"),
    };
    print_warnings(&settings);
    // A warning only: the file may be a draft that is installed later.
    if let Err(error) = trust::check(file, &settings) {
        eprintln!("warning: {error}");
    }
    print(&format!("{what}; this node is {}\n", settings.name))
}

fn print_warnings(settings: &Settings) {
    for warning in config_warnings(settings) {
        eprintln!("warning: {warning}");
    }
}

/// Prints to stdout; a reader that closes the pipe is no error.
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
    fn the_file_to_check_may_be_given_either_way() {
        for words in [&["check-config", "f"][..], &["--config", "f", "check-config"]] {
            let words = ["kantd"].iter().chain(words);
            let Args { config, command } = Args::try_parse_from(words).unwrap();
            let Some(Command::CheckConfig { file }) = command else { panic!("no verb") };
            assert_eq!(file.or(config), Some(PathBuf::from("f")));
        }
    }
}
