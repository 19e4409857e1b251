//! kantctld's command line. Never does more than read the configuration and start.

use clap::{Parser, Subcommand};
use common::config::ControllerConfig;
use kantctld::settings::{self, ConfigFile};
use kantctld::simulate;
use std::path::{Path, PathBuf};

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
    CheckConfig {
        /// The file [default: that of --config]
        file: Option<PathBuf>,
    },
    /// Try policies on a recorded workload, in virtual time
    Simulate(Box<simulate::Arguments>),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.verb {
        None => {}
        Some(Verb::CheckConfig { file }) => {
            check_config(file.or(arguments.config).as_deref())?;
            println!("the configuration is good");
            return Ok(());
        }
        Some(Verb::Simulate(arguments)) => return Ok(simulate::run(&arguments)?),
    }
    let file = ConfigFile::read(arguments.config.as_deref())?;
    start_log(&file.config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(kantctld::run::run(file))?;
    Ok(())
}

/// All that can be said of a configuration without starting.
fn check_config(file: Option<&Path>) -> anyhow::Result<()> {
    let file = ConfigFile::read(file)?;
    settings::check(&file.config)?;
    settings::settings(&file)?;
    settings::operators(&file.config)?;
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
    fn the_file_to_check_may_be_named_either_way() {
        for words in [&["check-config", "f"][..], &["--config", "f", "check-config"]] {
            let words = ["kantctld"].iter().chain(words);
            let Arguments { config, verb } = Arguments::try_parse_from(words).unwrap();
            let Some(Verb::CheckConfig { file }) = verb else { panic!("no verb") };
            assert_eq!(file.or(config), Some(PathBuf::from("f")));
        }
    }
}
