//! Which sockets to ask: from the command line, the environment, or the configuration files.
//! Never connects.

use crate::output::screen::warn;
use anyhow::{Context, Result};
use common::config::{ClientConfig, read};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const SYSTEM_FILE: &str = "/etc/kant/kantctl.toml";

/// The configuration: `explicit` alone if given (it must exist), else the system's file with the
/// user's laid over it; either may be missing. A user's file that cannot be read is passed over
/// with a warning: it may be some other user's, as under sudo.
///
/// # Errors
/// Any other file that cannot be read, or one that does not make sense, by name, line and key.
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

/// Later files win, key by key.
fn merge(files: &[(PathBuf, String)]) -> Result<ClientConfig> {
    let mut merged = toml::Table::new();
    for (path, text) in files {
        // Alone first: an error in it names the file and the line.
        read::<ClientConfig>(&path.display().to_string(), text)?;
        merged.extend(text.parse::<toml::Table>()?);
    }
    let config: ClientConfig = merged.try_into()?;
    anyhow::ensure!(
        !config.sockets.is_empty(),
        "`sockets` is empty: name the socket of kantctld or kantd"
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
    fn the_users_file_wins_where_it_says_something() {
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
    fn a_file_that_was_named_must_exist() {
        let error = load(Some(Path::new("/nonexistent/kantctl.toml"))).unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent/kantctl.toml"));
    }
}
