//! Validation of the container keys of kantd.toml. The runtime is looked for by the node's probe,
//! and mounted paths by each step.

use super::{SettingsError, require_absolute, unless_empty};
use common::config::NodeConfig;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContainerSettings {
    /// The OCI runtime; `None` for the first one found.
    pub runtime: Option<PathBuf>,
    /// Mounts of every container.
    pub mounts: Vec<Mount>,
    /// Additional mounts of containers with GPUs.
    pub gpu_mounts: Vec<Mount>,
}

/// A mount of a node's path in containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Path on the node; its last component may contain `*`.
    pub source: PathBuf,
    /// Path in the container.
    pub target: PathBuf,
    pub read_only: bool,
}

impl Mount {
    /// Parses `SOURCE[:TARGET][:ro]` with plain absolute paths; `None` for other texts.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (text, read_only) = match text.strip_suffix(":ro") {
            Some(text) => (text, true),
            None => (text.strip_suffix(":rw").unwrap_or(text), false),
        };
        let (source, target) = text.split_once(':').unwrap_or((text, text));
        let plain = |path: &str| {
            let parts = Path::new(path).components();
            let is_plain = parts.skip(1).all(|part| matches!(part, Component::Normal(_)));
            (path.starts_with('/') && path != "/" && is_plain && !path.contains(':'))
                .then(|| PathBuf::from(path))
        };
        Some(Self { source: plain(source)?, target: plain(target)?, read_only })
    }
}

/// Validates the container keys.
pub(super) fn check(config: &NodeConfig) -> Result<ContainerSettings, SettingsError> {
    let runtime = unless_empty(config.container_runtime.clone());
    Ok(ContainerSettings {
        runtime: runtime.map(|path| require_absolute("container_runtime", path)).transpose()?,
        mounts: parse_mounts("container_mounts", &config.container_mounts)?,
        gpu_mounts: parse_mounts("container_gpu_mounts", &config.container_gpu_mounts)?,
    })
}

fn parse_mounts(key: &'static str, words: &[String]) -> Result<Vec<Mount>, SettingsError> {
    let wrong = |word: &String| SettingsError::Mount { key, word: word.clone() };
    words.iter().map(|word| Mount::read(word).ok_or_else(|| wrong(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_a_source_a_target_and_a_mode() {
        let shown = |text: &str| {
            let mount = Mount::read(text)?;
            let (source, target) = (mount.source.display(), mount.target.display());
            Some(format!("{source} {target} {}", mount.read_only))
        };
        assert_eq!(shown("/home").as_deref(), Some("/home /home false"));
        assert_eq!(shown("/a/lib*.so:ro").as_deref(), Some("/a/lib*.so /a/lib*.so true"));
        assert_eq!(shown("/data/v2:/data:rw").as_deref(), Some("/data/v2 /data false"));
        for wrong in ["", "/", "home", "/a:b", "/a:/b:/c", "/a/../b", ":ro", "/a:/"] {
            assert_eq!(Mount::read(wrong), None, "{wrong}");
        }
    }
}
