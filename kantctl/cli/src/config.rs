//! The sockets of the controller: from the command line, the environment, or the configuration
//! files.

use crate::output::screen::warn;
use anyhow::{Context, Result};
use common::config::{ClientConfig, read};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const SYSTEM_FILE: &str = "/etc/kant/kantctl.toml";

/// The configuration: only the file `explicit` if given (it must exist), else the system's file
/// overridden by the user's; either may be missing. A user's file that cannot be read is skipped
/// with a warning, because under sudo it may belong to another user.
///
/// # Errors
/// Any other file that cannot be read or is invalid, with its name, line and key.
pub fn load(explicit: Option<&Path>) -> Result<ClientConfig> {
    let found = match explicit {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("failed to read configuration {}", path.display()))?;
            vec![(path.to_owned(), text)]
        }
        None => {
            let system = read_if_there(SYSTEM_FILE.into())?;
            system.into_iter().chain(user_file().and_then(read_or_warn)).collect()
        }
    };
    merge(&found)
}

fn user_file() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    Some(config.filter(|path| path.is_absolute()).or_else(home)?.join("kant/kantctl.toml"))
}

fn read_if_there(path: PathBuf) -> Result<Option<(PathBuf, String)>> {
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => {
            Err(error).with_context(|| format!("failed to read configuration {}", path.display()))
        }
    }
}

fn read_or_warn(path: PathBuf) -> Option<(PathBuf, String)> {
    read_if_there(path).unwrap_or_else(|error| {
        warn(&format!("{error:#}"));
        None
    })
}

/// Later files override earlier ones, key by key.
fn merge(files: &[(PathBuf, String)]) -> Result<ClientConfig> {
    let mut merged = toml::Table::new();
    for (path, text) in files {
        // Each file is checked by itself first, so that an error names the file and the line.
        read::<ClientConfig>(&path.display().to_string(), text)?;
        merged.extend(text.parse::<toml::Table>()?);
    }
    let config: ClientConfig = merged.try_into()?;
    anyhow::ensure!(
        !config.sockets.is_empty(),
        "`sockets` is empty: give the path of a socket of kantctld or kantd"
    );
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(texts: &[&str]) -> Result<Vec<String>> {
        let files = texts.iter().map(|t| (PathBuf::from("k.toml"), (*t).to_owned()));
        merge(&files.collect::<Vec<_>>()).map(|config| config.sockets)
    }

    #[test]
    fn the_users_file_overrides_keys_that_it_sets() {
        assert_eq!(merged(&["sockets = [\"/a\"]", "sockets = [\"/b\"]"]).unwrap(), ["/b"]);
        assert_eq!(merged(&["sockets = [\"/a\"]", ""]).unwrap(), ["/a"]);
        assert_eq!(merged(&[]).unwrap(), ClientConfig::default().sockets);
    }

    #[test]
    fn a_typo_names_file_and_key() {
        let message = merged(&["socket = [\"/a\"]"]).unwrap_err().to_string();
        assert!(message.contains("k.toml") && message.contains("socket"), "{message}");
        assert!(merged(&["sockets = []"]).is_err());
    }

    #[test]
    fn an_explicit_file_must_exist() {
        let error = load(Some(Path::new("/nonexistent/kantctl.toml"))).unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent/kantctl.toml"));
    }
}
