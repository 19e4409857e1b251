//! Validation of the keys of kantd.toml about the samples of GPUs.

use super::{SettingsError, unless_empty};
use common::config::NodeConfig;
use std::path::PathBuf;
use std::time::Duration;

/// How the GPUs of running steps are sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingSettings {
    /// The NVML library, if not the loader's default.
    pub library: Option<PathBuf>,
    /// The interval; `None` for no samples.
    pub period: Option<Duration>,
    /// End jobs that use more of a shared GPU's memory than their share.
    pub hold_gpu_memory: bool,
    /// A GPU that is less busy is idle, in percent.
    pub idle_percent: u32,
}

/// Validates the keys.
pub(super) fn check(config: &NodeConfig) -> Result<SamplingSettings, SettingsError> {
    if config.gpu_idle_percent > 100 {
        return Err(SettingsError::IdlePercent(config.gpu_idle_percent));
    }
    let period = Duration::from_secs(u64::from(config.accounting_seconds));
    Ok(SamplingSettings {
        library: unless_empty(config.nvml_library.clone()).map(PathBuf::from),
        period: Some(period).filter(|period| !period.is_zero()),
        hold_gpu_memory: config.hold_gpu_memory,
        idle_percent: config.gpu_idle_percent,
    })
}
