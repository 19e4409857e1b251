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

use crate::mail::Mailer;
use common::config::policy::{
    Capacity, PolicySource, open_access_warnings, policy, warnings as policy_warnings,
};
use common::config::{ConfigError, ControllerConfig};
use common::job::mail::addresses;
use common::time::Span;
use common::unit::Bytes;
use state::{Settings, UserBounds};
use std::net::SocketAddr;
use std::path::Path;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// The parts of this program that log, as a filter may name them.
const LOGGING: &[&str] = &["kantctld", "net", "lead", "replica", "state", "engine", "wal", "raft"];

/// A configuration that reads, but makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// In the tables of queues, QoS, accounts, priority or topology.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    /// Others may change the configuration, or what it names.
    #[error(transparent)]
    Trust(#[from] net::TrustError),
    /// An operator nobody knows.
    #[error("admins: there is no user `{0}` on this host: write a user's name or uid")]
    UnknownAdmin(String),
    /// An address without host or port.
    #[error("failed to use `{key}`: `{address}` is not host:port, like 10.0.0.1:7600")]
    Address { key: &'static str, address: String },
    /// A program that would be looked for elsewhere by each who starts it.
    #[error("failed to use `mailer`: `{0}` is no absolute path, like /usr/bin/mail")]
    MailerRelative(String),
    /// Nobody a mail program could run as.
    #[error(
        "failed to use `mailer_user`: kantctld runs as root, and there is no user `{0}` on this \
         host who is not: name one that letters may be sent as"
    )]
    MailerUser(String),
    /// Not what follows an address's @.
    #[error("failed to use `mail_domain`: `{0}` is no domain, like example.org")]
    MailDomain(String),
    /// Not the name of a file.
    #[error(
        "failed to use `audit_log`: `{0}` is neither a plain name, like audit.log, nor an absolute \
         path, like /var/log/kant/audit.log"
    )]
    AuditLog(String),
    /// A bound within which nothing can be done.
    #[error("failed to use `{key}`: it is 0, and {why}; write 1 or more")]
    Zero {
        key: &'static str,
        /// What would come of it.
        why: &'static str,
    },
    /// A word in the place of a level.
    #[error(
        "failed to use the log filter `{text}`: `{word}` is no level (error, warn, info, debug, \
         trace, off), and no part of kantctld has that name"
    )]
    LogWord { text: String, word: String },
    /// A log filter that is none.
    #[error("failed to read the log filter `{text}`")]
    Log {
        text: String,
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
        user_bounds: UserBounds {
            text: Bytes::from_mib(config.user_text_mib),
            done_tasks: config.user_done_tasks,
        },
        qos: policy.qos,
        accounts: policy.accounts,
        fair_sharing: policy.fair_sharing,
        yields_first: policy.yields_first,
        factors: policy.factors,
        moves: policy.moves,
        topology: policy.topology,
    })
}

/// All that can be said of the other keys without using them.
///
/// # Errors
/// [`SettingsError`].
pub fn check(config: &ControllerConfig) -> Result<(), SettingsError> {
    let single = [("listen", &config.listen), ("advertise", &config.advertise)];
    let single = single.into_iter().filter(|(_, address)| !address.is_empty());
    let addresses = single.chain(config.peers.iter().map(|address| ("peers", address)));
    if let Some((key, address)) = addresses.into_iter().find(|(_, address)| !has_port(address)) {
        return Err(SettingsError::Address { key, address: address.clone() });
    }
    mailer(config)?;
    let audit_log = Path::new(&config.audit_log);
    let is_plain = audit_log.file_name() == Some(audit_log.as_os_str());
    let is_named = audit_log.file_name().is_some() && !config.audit_log.ends_with('/');
    let is_full = audit_log.is_absolute() && is_named;
    if !config.audit_log.is_empty() && !is_plain && !is_full {
        return Err(SettingsError::AuditLog(config.audit_log.clone()));
    }
    for (key, number, why) in [
        (
            "node_lost_after_seconds",
            config.node_lost_after_seconds,
            "every node would be lost before it is heard from again",
        ),
        ("round_period_seconds", config.round_period_seconds, "rounds would never pause"),
        ("snapshot_every_entries", config.snapshot_every_entries, "nothing else would be done"),
        ("user_text_mib", config.user_text_mib, "no job with a script would be accepted"),
    ] {
        if number == 0 {
            return Err(SettingsError::Zero { key, why });
        }
    }
    log_filter(&config.log).map(drop)
}

/// What is probably not meant, as far as the file alone tells: a running controller knows its nodes
/// and bookings, and says more at a reload.
#[must_use]
pub fn warnings(settings: &Settings) -> Vec<String> {
    let policy = settings.policy();
    let mut told = open_access_warnings(&policy, std::iter::empty());
    told.extend(policy_warnings(&policy, &Capacity::default()));
    told
}

/// The program that letters are sent with, if there is one.
///
/// # Errors
/// [`SettingsError`] of what makes no sense; whether there is such a program is not asked.
pub fn mailer(config: &ControllerConfig) -> Result<Option<Mailer>, SettingsError> {
    if !config.mailer.is_empty() && !config.mailer.starts_with('/') {
        return Err(SettingsError::MailerRelative(config.mailer.clone()));
    }
    let domain = &config.mail_domain;
    let is_one = addresses(&format!("a@{domain}")).is_ok_and(|all| all.len() == 1);
    if !domain.is_empty() && !is_one {
        return Err(SettingsError::MailDomain(domain.clone()));
    }
    Mailer::configured(config).map_err(SettingsError::MailerUser)
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
    // To the filter a single word is the name of a part of the program, and all others are silent.
    let is_word = |part: &&str| !part.contains(['=', '[', ':']) && !part.is_empty();
    let is_known = |word: &str| {
        let level = word.parse::<tracing::level_filters::LevelFilter>().is_ok();
        level || LOGGING.contains(&word)
    };
    let mut words = text.split(',').map(str::trim).filter(is_word);
    if let Some(word) = words.find(|word| !is_known(word)) {
        let (text, word) = (text.to_owned(), word.to_owned());
        return Err(SettingsError::LogWord { text, word });
    }
    EnvFilter::try_new(text).map_err(error)
}

#[cfg(test)]
mod tests;
