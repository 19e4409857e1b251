//! kantctld's command line. Never does more than read the configuration and start.

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use common::config::{self, ControllerConfig};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tracing_subscriber::EnvFilter;

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
    CheckConfig {
        /// The file [default: that of --config]
        file: Option<PathBuf>,
    },
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(Verb::CheckConfig { file }) = arguments.verb {
        check_config(&read_config(file.or(arguments.config).as_deref())?)?;
        println!("the configuration is good");
        return Ok(());
    }
    let config = read_config(arguments.config.as_deref())?;
    start_log(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(kantctld::run::run(config))?;
    Ok(())
}

/// All that can be said of a configuration without starting.
fn check_config(config: &ControllerConfig) -> anyhow::Result<()> {
    kantctld::settings::settings(config)?;
    kantctld::settings::operators(config)?;
    let listen = &config.listen;
    anyhow::ensure!(
        listen.is_empty() || has_port(listen),
        "failed to use `listen`: `{listen}` is not host:port, like 0.0.0.0:7600"
    );
    log_filter(&config.log)?;
    Ok(())
}

fn has_port(address: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains([':', '/', ' ']);
    let named = |(host, port): (&str, &str)| is_host(host) && port.parse::<u16>().is_ok();
    address.parse::<SocketAddr>().is_ok() || address.rsplit_once(':').is_some_and(named)
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
    tracing_subscriber::fmt()
        .with_env_filter(log_filter(&filter)?)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .init();
    Ok(())
}

fn log_filter(text: &str) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(text).with_context(|| format!("failed to read the log filter `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> Option<String> {
        let config = config::read("kantctld.toml", text).unwrap();
        check_config(&config).err().map(|error| format!("{error:#}"))
    }

    #[test]
    fn a_good_configuration_is_not_complained_of() {
        for listen in ["", "127.0.0.1:7600", "[::]:7600", "head.example:7600"] {
            assert_eq!(complaint(&format!("listen = {listen:?}")), None);
        }
        assert_eq!(complaint("log = \"info,kantctld::raft=debug\""), None);
    }

    #[test]
    fn an_address_without_a_host_or_a_port_is_found_before_the_start() {
        for listen in ["head", ":7600", "head:", "head:70000", "::1:7600", "tcp://head:7600"] {
            let told = complaint(&format!("listen = {listen:?}")).unwrap();
            assert!(told.contains("`listen`") && told.contains(listen), "{told}");
        }
    }

    #[test]
    fn a_log_filter_that_is_none_is_found_before_the_start() {
        let told = complaint("log = \"kantctld=loudly\"").unwrap();
        assert!(told.contains("log filter `kantctld=loudly`: "), "{told}");
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
