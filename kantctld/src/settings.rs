//! Settings for the replicas, and checks of the configuration, made from the configuration file.

mod changes;
mod file;

pub use changes::{changes, needing_restart};
pub use file::{ConfigFile, FileError};

use crate::accepted_jwts::JwtConfigError;
use crate::fence;
use crate::host_names::HostNames;
use crate::mail::Mailer;
use crate::members::RolesError;
use common::config::policy::{
    Capacity, PolicySource, open_access_warnings, policy, warnings as policy_warnings,
};
use common::config::{ConfigError, ControllerConfig};
use common::hostlist::HostlistError;
use common::job::mail::addresses;
use common::time::Span;
use common::unit::Bytes;
use state::{Settings, UserBounds};
use std::net::SocketAddr;
use std::path::Path;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// The targets that a log filter may name.
const LOGGING: &[&str] = &["kantctld", "net", "lead", "replica", "state", "engine", "wal", "raft"];

/// Why a configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// In the tables of queues, QoS, accounts, priorities or topology.
    #[error(transparent)]
    Policy(#[from] ConfigError),
    /// Other users may change the configuration or a file that it names.
    #[error(transparent)]
    Trust(#[from] net::TrustError),
    #[error(transparent)]
    Roles(#[from] RolesError),
    #[error("failed to use `{key}`: `{address}` is not HOST:PORT, for example 10.0.0.1:7600")]
    Address { key: &'static str, address: String },
    #[error(transparent)]
    AcceptedJwts(#[from] JwtConfigError),
    #[error("failed to use `submit_hosts`: {0}")]
    SubmitHosts(#[from] HostlistError),
    /// The meaning of a relative path depends on the working directory.
    #[error("failed to use `mailer`: `{0}` is not an absolute path, for example /usr/bin/mail")]
    MailerRelative(String),
    #[error(
        "failed to use `mailer_user`: kantctld runs as root, and `{0}` is not an unprivileged user \
         on this host: name one to send mail as"
    )]
    MailerUser(String),
    #[error("failed to use `mail_domain`: `{0}` is not a domain, for example example.org")]
    MailDomain(String),
    #[error(
        "failed to use `audit_log`: `{0}` is neither a file name, for example audit.log, nor an \
         absolute path, for example /var/log/kant/audit.log"
    )]
    AuditLog(String),
    #[error("failed to use `{key}`: it is 0, so {why}; set 1 or more")]
    Zero { key: &'static str, why: &'static str },
    #[error(
        "failed to use `fence_after_seconds`: with {fence} a node that is cut off may still end \
         its jobs when they start elsewhere; set it to {fence_max} or less (0: nodes never end \
         jobs, and a job may run twice), or set `node_lost_after_seconds` to {lost_min} or more"
    )]
    Fence { fence: u64, fence_max: u64, lost_min: u64 },
    /// Neither a level nor a target.
    #[error(
        "failed to use the log filter `{text}`: `{word}` is neither a level (error, warn, info, \
         debug, trace, off) nor a log target of kantctld"
    )]
    LogWord { text: String, word: String },
    #[error("failed to read the log filter `{text}`")]
    Log {
        text: String,
        #[source]
        source: ParseError,
    },
}

/// The settings for the replicas.
///
/// # Errors
/// [`SettingsError`], with file, line, table and key.
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

/// Checks the other keys without side effects.
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
            "every node would be lost before its next report",
        ),
        ("round_period_seconds", config.round_period_seconds, "rounds would never pause"),
        ("snapshot_every_entries", config.snapshot_every_entries, "snapshots would never end"),
        ("user_text_mib", config.user_text_mib, "no job with a script would be accepted"),
    ] {
        if number == 0 {
            return Err(SettingsError::Zero { key, why });
        }
    }
    check_fence(config)?;
    log_filter(&config.log).map(drop)
}

/// Checks that the jobs of a node without a leader have ended when the node is lost.
fn check_fence(config: &ControllerConfig) -> Result<(), SettingsError> {
    let fence_max = fence::fence_max_seconds(config);
    match config.fence_after_seconds.0 {
        Some(fence) if fence > fence_max => {
            let lost_min = fence::lost_after_min_seconds(fence, config);
            Err(SettingsError::Fence { fence, fence_max, lost_min })
        }
        _ => Ok(()),
    }
}

/// Likely mistakes, as far as the file alone shows them. At a reload, a running controller also
/// checks against its nodes and reservations.
#[must_use]
pub fn warnings(settings: &Settings) -> Vec<String> {
    let policy = settings.policy();
    let mut warnings = open_access_warnings(&policy, std::iter::empty());
    warnings.extend(policy_warnings(&policy, &Capacity::default()));
    warnings
}

/// The configured mail program, if any.
///
/// # Errors
/// [`SettingsError`] if its keys are invalid. Whether the program exists is not checked.
pub fn mailer(config: &ControllerConfig) -> Result<Option<Mailer>, SettingsError> {
    if !config.mailer.is_empty() && !config.mailer.starts_with('/') {
        return Err(SettingsError::MailerRelative(config.mailer.clone()));
    }
    let domain = &config.mail_domain;
    let is_one = addresses(&format!("a@{domain}")).is_ok_and(|all| all.len() == 1);
    if !domain.is_empty() && !is_one {
        return Err(SettingsError::MailDomain(domain.clone()));
    }
    Mailer::from_config(config).map_err(SettingsError::MailerUser)
}

fn has_port(address: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains([':', '/', ' ']);
    let named = |(host, port): (&str, &str)| is_host(host) && port.parse::<u16>().is_ok();
    address.parse::<SocketAddr>().is_ok() || address.rsplit_once(':').is_some_and(named)
}

/// Parses a log filter.
///
/// # Errors
/// [`SettingsError::Log`].
pub fn log_filter(text: &str) -> Result<EnvFilter, SettingsError> {
    let error = |source| SettingsError::Log { text: text.to_owned(), source };
    // To the filter, a single unknown word is a target, and then everything else is silent.
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
