//! The keys of kantd.toml about containers, checked. Never looks whether anything is there; the
//! survey looks for the runtime, and each step for what it mounts.

use super::{SettingsError, absolute, unless_empty};
use crate::container::Mount;
use common::config::NodeConfig;
use std::path::PathBuf;

/// How jobs run in containers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerSettings {
    /// The OCI runtime; `None`: the first that is found.
    pub runtime: Option<PathBuf>,
    /// What every container sees of the machine.
    pub mounts: Vec<Mount>,
    /// What those of jobs with GPUs see beside it.
    pub gpu_mounts: Vec<Mount>,
}

/// Checks the keys about containers.
pub(super) fn check(config: &NodeConfig) -> Result<ContainerSettings, SettingsError> {
    let runtime = unless_empty(config.container_runtime.clone());
    Ok(ContainerSettings {
        runtime: runtime.map(|path| absolute("container_runtime", path)).transpose()?,
        mounts: mounts("container_mounts", &config.container_mounts)?,
        gpu_mounts: mounts("container_gpu_mounts", &config.container_gpu_mounts)?,
    })
}

fn mounts(key: &'static str, words: &[String]) -> Result<Vec<Mount>, SettingsError> {
    let wrong = |word: &String| SettingsError::Mount { key, word: word.clone() };
    words.iter().map(|word| Mount::read(word).ok_or_else(|| wrong(word))).collect()
}
