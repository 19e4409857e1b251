//! kantctld's command line. Never does more than read the configuration and start.

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use common::config::{self, ControllerConfig};
use std::path::{Path, PathBuf};

/// The configuration that is read when none is named.
const CONFIG_DEFAULT: &str = "/etc/kant/kantctld.toml";

/// The kant controller: queues, schedules and remembers jobs.
#[derive(Parser)]
#[command(version, about)]
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
    CheckConfig,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let config = read_config(arguments.config.as_deref())?;
    match arguments.verb {
        Some(Verb::CheckConfig) => {
            kantctld::settings::settings(&config)?;
            kantctld::settings::operators(&config)?;
            println!("the configuration is good");
            Ok(())
        }
        None => {
            start_log(&config)?;
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(kantctld::run::run(config))?;
            Ok(())
        }
    }
}

fn read_config(file: Option<&Path>) -> anyhow::Result<ControllerConfig> {
    let path = file.unwrap_or(Path::new(CONFIG_DEFAULT));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(config::read(&path.display().to_string(), &text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && file.is_none() => {
            Ok(ControllerConfig::default())
        }
        Err(error) => {
            Err(error).with_context(|| format!("failed to read configuration {}", path.display()))
        }
    }
}

/// Log lines go to standard error, where systemd or a terminal takes them.
fn start_log(config: &ControllerConfig) -> anyhow::Result<()> {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| config.log.clone());
    let filter = tracing_subscriber::EnvFilter::try_new(&filter)
        .with_context(|| format!("failed to read the log filter `{filter}`"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .init();
    Ok(())
}
