//! Validation of `private_dirs` of kantd.toml. The node's probe checks whether they exist.

use super::SettingsError;
use std::path::{Component, Path, PathBuf};

/// Accepts plain absolute paths. Without `/`, `/proc` and the like, a job could not even start.
pub(super) fn check(paths: Vec<String>) -> Result<Vec<PathBuf>, SettingsError> {
    let needed = ["/", "/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/lib", "/lib64", "/run"];
    let mut dirs: Vec<PathBuf> = Vec::new();
    for path in paths {
        let dir = PathBuf::from(&path);
        let is_plain = dir.components().skip(1).all(|c| matches!(c, Component::Normal(_)));
        let why = if !dir.is_absolute() || !is_plain {
            "is not a plain absolute path"
        } else if needed.iter().any(|needed| dir == Path::new(needed)) {
            "is needed by every program: name a directory for temporary files"
        } else if dirs.iter().any(|other| dir.starts_with(other) || other.starts_with(&dir)) {
            "is listed twice, or lies below another one"
        } else {
            dirs.push(dir);
            continue;
        };
        return Err(SettingsError::PrivateDir { path, why });
    }
    Ok(dirs)
}
