//! Validation of the health keys of kantd.toml.

use super::{SettingsError, require_absolute, unless_empty};
use common::config::NodeConfig;
use common::health::Check;
use common::unit::Bytes;
use node::HealthPolicy;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthSettings {
    /// Interval of checks; `None` for no checks.
    pub period: Option<Duration>,
    /// The site's own check program.
    pub script: Option<PathBuf>,
    /// Time limit of the script.
    pub script_limit: Duration,
    /// The least free space on the spool's disk.
    pub disk_free_min: Bytes,
    /// Responses to findings.
    pub policy: HealthPolicy,
}

/// Validates the health keys.
pub(super) fn check(config: &NodeConfig) -> Result<HealthSettings, SettingsError> {
    let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
    let script = unless_empty(config.health_script.clone());
    let policy = HealthPolicy {
        warn: read_checks("health_warn", &config.health_warn)?,
        drain: read_checks("health_drain", &config.health_drain)?,
        drain_now: read_checks("health_drain_now", &config.health_drain_now)?,
    };
    Ok(HealthSettings {
        period: Some(seconds(config.health_seconds)).filter(|period| !period.is_zero()),
        script: script.map(|path| require_absolute("health_script", path)).transpose()?,
        script_limit: seconds(config.health_script_limit_seconds),
        disk_free_min: config.disk_free_min.parse().map_err(SettingsError::DiskFree)?,
        policy,
    })
}

fn read_checks(key: &'static str, words: &[String]) -> Result<BTreeSet<Check>, SettingsError> {
    let unknown = |word: &String| SettingsError::Check { key, word: word.clone() };
    words.iter().map(|word| Check::from_word(word).ok_or_else(|| unknown(word))).collect()
}

/// The names of all checks, for messages.
pub(super) fn check_names() -> String {
    Check::ALL.map(Check::word).join(", ")
}
