//! Validation of the container keys of kantd.toml. The runtime is looked for by the node's probe,
//! and mounted paths by each step.

use super::{SettingsError, absolute, unless_empty};
use crate::container_support::Mount;
use common::config::NodeConfig;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerSettings {
    /// The OCI runtime; `None` for the first one found.
    pub runtime: Option<PathBuf>,
    /// Mounts of every container.
    pub mounts: Vec<Mount>,
    /// Additional mounts of containers with GPUs.
    pub gpu_mounts: Vec<Mount>,
}

/// Validates the container keys.
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
