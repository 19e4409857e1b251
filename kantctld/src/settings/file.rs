//! The configuration file and the topology file that it names, as read and not yet checked.

use super::SettingsError;
use common::config::policy::{TopologyError, TopologyFile};
use common::config::{self, ConfigError, ControllerConfig};
use std::io;
use std::path::{Path, PathBuf};

/// The default path.
const CONFIG_DEFAULT: &str = "/etc/kant/kantctld.toml";

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("failed to read configuration {path}")]
    Read {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The text is not a valid configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("failed to read the topology_file {path}, named in {config}")]
    ReadTopology {
        path: String,
        config: String,
        #[source]
        source: io::Error,
    },
    /// The text is not a valid topology.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// A configuration with its source.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Where the file is or would be.
    pub path: PathBuf,
    /// Whether it was given on the command line.
    pub named: bool,
    /// Whether it exists. If not, all keys have their defaults.
    pub found: bool,
    /// The text, for errors with a line number.
    pub text: String,
    pub config: ControllerConfig,
    /// The content of `topology_file`.
    pub topology: Option<TopologyFile>,
}

impl ConfigFile {
    /// Reads a configuration; `None` reads the default path, if it exists.
    ///
    /// # Errors
    /// [`FileError`], with the line if there is one.
    pub fn read(named: Option<&Path>) -> Result<Self, FileError> {
        let path = named.unwrap_or(Path::new(CONFIG_DEFAULT)).to_owned();
        let (text, found) = match std::fs::read_to_string(&path) {
            Ok(text) => (text, true),
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
                (String::new(), false)
            }
            Err(source) => {
                return Err(FileError::Read { path: path.display().to_string(), source });
            }
        };
        let config: ControllerConfig = config::read(&path.display().to_string(), &text)?;
        let topology = read_topology(&path, &config)?;
        Ok(Self { path, named: named.is_some(), found, text, config, topology })
    }

    /// Checks that only root and this process's user may change the configuration and the files
    /// that it names.
    ///
    /// # Errors
    /// [`SettingsError::Trust`].
    pub fn check_trusted(&self) -> Result<(), SettingsError> {
        if self.found {
            net::check_trusted("configuration", &self.path)?;
        }
        if let Some(topology) = TopologyFile::path(&self.path, &self.config) {
            net::check_trusted("topology_file", &topology)?;
        }
        if self.config.mailer.is_empty() {
            return Ok(());
        }
        match net::check_trusted("mailer", Path::new(&self.config.mailer)) {
            // It may be on a mount that comes later; a failure to send mail is logged.
            Err(error) if error.is_missing() => Ok(()),
            checked => Ok(checked?),
        }
    }

    /// The path, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn read_topology(
    path: &Path,
    config: &ControllerConfig,
) -> Result<Option<TopologyFile>, FileError> {
    let Some(beside) = TopologyFile::path(path, config) else { return Ok(None) };
    let name = beside.display().to_string();
    let text = std::fs::read_to_string(&beside).map_err(|source| FileError::ReadTopology {
        path: name.clone(),
        config: path.display().to_string(),
        source,
    })?;
    Ok(Some(TopologyFile::read(&name, &text)?))
}
