//! The parts of `kantd setup` beside the certificate: a configuration, if there is none, and the
//! unit of systemd.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const UNIT: &str = "kantd.service";
/// Exists while systemd runs.
const SYSTEMD: &str = "/run/systemd/system";

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("{} does not exist yet: name the controllers with --to HOST:PORT", .0.display())]
    NoController(PathBuf),
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to run `{command}`")]
    Run {
        command: String,
        #[source]
        source: io::Error,
    },
    /// It has printed why.
    #[error("`{command}` failed")]
    Failed { command: String },
}

/// Writes a configuration with these controllers, unless there is one. Returns whether it did.
///
/// # Errors
/// [`SetupError`].
pub fn write_config(path: &Path, controllers: &[String]) -> Result<bool, SetupError> {
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    if controllers.is_empty() {
        return Err(SetupError::NoController(path.to_owned()));
    }
    let controllers: toml::Value = controllers.to_vec().into();
    let text = format!(
        "# Written by `kantd setup`, which never changes it again. All keys and their defaults\n\
         # are in kantd.toml in /usr/share/doc/kant-node/examples.\n\
         controllers = {controllers}\n"
    );
    let failed = |source| SetupError::Write { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| {
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    })
    .map_err(failed)?;
    Ok(true)
}

/// Enables the unit, and starts it. A kantd that runs is restarted for its new certificate, which
/// disturbs no job. Returns false where systemd does not run.
///
/// # Errors
/// [`SetupError`].
pub fn start_unit() -> Result<bool, SetupError> {
    if !Path::new(SYSTEMD).is_dir() {
        return Ok(false);
    }
    for verb in ["enable", "restart"] {
        let shown = format!("systemctl {verb} {UNIT}");
        let status = Command::new("systemctl").args([verb, UNIT]).status();
        let status = status.map_err(|source| SetupError::Run { command: shown.clone(), source })?;
        if !status.success() {
            return Err(SetupError::Failed { command: shown });
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn the_written_configuration_names_the_controllers_and_is_never_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/kantd.toml");
        let controllers = ["ctl1:7600".to_owned(), "ctl2:7600".to_owned()];
        assert!(matches!(write_config(&path, &[]), Err(SetupError::NoController(_))));
        assert!(write_config(&path, &controllers).unwrap());
        let (settings, found) = config::load(Some(&path)).unwrap();
        assert!(found);
        assert_eq!(settings.controllers, controllers);
        assert!(!write_config(&path, &["other:7600".to_owned()]).unwrap());
        assert_eq!(config::load(Some(&path)).unwrap().0, settings);
    }
}
