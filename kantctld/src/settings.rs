//! From the configuration file to what the replicas need to know, and to who may do what.
//! Never replicates anything itself; `run` does at start, and a [`Reloader`] later.

mod changes;
mod file;
mod host;
mod reload;

pub use changes::{changes, needing_restart};
pub use file::{ConfigFile, FileError};
pub use host::HostNames;
pub use reload::{ReloadError, Reloader, with_causes};

use common::config::policy::{Names, PolicySource, policy};
use common::config::{ConfigError, ControllerConfig};
use common::id::Uid;
use common::time::Span;
use state::Settings;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// A configuration that reads, but makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// In the tables of queues, QoS, accounts, priority or topology.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    /// An operator nobody knows.
    #[error("admins: there is no user `{0}` on this host: write a user's name or uid")]
    UnknownAdmin(String),
    /// An address without host or port.
    #[error("failed to use `listen`: `{0}` is not host:port, like 0.0.0.0:7600")]
    Listen(String),
    /// A log filter that is none.
    #[error("failed to read the log filter `{text}`")]
    Log {
        /// As written.
        text: String,
        /// Why.
        #[source]
        source: ParseError,
    },
}

/// What the replicas need to know.
///
/// # Errors
/// [`SettingsError`], which names file, line, table and key.
pub fn settings(file: &ConfigFile) -> Result<Settings, SettingsError> {
    let (name, config) = (file.name(), &file.config);
    let topology = file.topology.as_ref();
    let source = PolicySource { file: &name, text: &file.text, config, topology };
    let policy = policy(&source, &HostNames)?;
    Ok(Settings {
        cluster: config.cluster.clone(),
        queues: policy.queues,
        allow_root_jobs: config.allow_root_jobs,
        kill_grace: Span::from_seconds(config.kill_grace_seconds),
        done_jobs_kept: Span::from_seconds(config.done_jobs_kept_seconds),
        qos: policy.qos,
        accounts: policy.accounts,
        factors: policy.factors,
        topology: policy.topology,
    })
}

/// Who may do everything: root, the user this process runs as, and those named in `admins`.
///
/// # Errors
/// [`SettingsError::UnknownAdmin`].
pub fn operators(config: &ControllerConfig) -> Result<BTreeSet<Uid>, SettingsError> {
    let mut operators = BTreeSet::from([Uid(0), Uid(nix::unistd::geteuid().as_raw())]);
    for admin in &config.admins {
        let uid = admin.parse().map(Uid).ok().or_else(|| HostNames.user(admin));
        operators.insert(uid.ok_or_else(|| SettingsError::UnknownAdmin(admin.clone()))?);
    }
    Ok(operators)
}

/// All that can be said of the other keys without using them.
///
/// # Errors
/// [`SettingsError`].
pub fn check(config: &ControllerConfig) -> Result<(), SettingsError> {
    let listen = &config.listen;
    if !listen.is_empty() && !has_port(listen) {
        return Err(SettingsError::Listen(listen.clone()));
    }
    log_filter(&config.log).map(drop)
}

fn has_port(address: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains([':', '/', ' ']);
    let named = |(host, port): (&str, &str)| is_host(host) && port.parse::<u16>().is_ok();
    address.parse::<SocketAddr>().is_ok() || address.rsplit_once(':').is_some_and(named)
}

/// What to log.
///
/// # Errors
/// [`SettingsError::Log`].
pub fn log_filter(text: &str) -> Result<EnvFilter, SettingsError> {
    let error = |source| SettingsError::Log { text: text.to_owned(), source };
    EnvFilter::try_new(text).map_err(error)
}

#[cfg(test)]
mod tests;
