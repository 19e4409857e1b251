//! The configuration file and the topology file it names, read and not yet judged.
//! Never writes either.

use super::SettingsError;
use common::config::policy::{TopologyError, TopologyFile};
use common::config::{self, ConfigError, ControllerConfig};
use std::io;
use std::path::{Path, PathBuf};

/// The configuration that is read when none is named.
const CONFIG_DEFAULT: &str = "/etc/kant/kantctld.toml";

/// A file that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system did not give it.
    #[error("failed to read configuration {path}")]
    Read {
        path: String,
        #[source]
        source: io::Error,
    },
    /// Its text makes no configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system did not give the topology file.
    #[error("failed to read the topology_file {path}, named in {config}")]
    ReadTopology {
        path: String,
        config: String,
        #[source]
        source: io::Error,
    },
    /// Its text makes no topology.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// A configuration as it was read.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// Was it named on the command line?
    pub named: bool,
    /// Was there a file? Without one every key has its default.
    pub found: bool,
    /// Its text, for complaints with a line.
    pub text: String,
    pub config: ControllerConfig,
    /// The file that `topology_file` names.
    pub topology: Option<TopologyFile>,
}

impl ConfigFile {
    /// Reads a configuration; `None`: the usual one, if it exists.
    ///
    /// # Errors
    /// [`FileError`], with the line where there is one.
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
        let topology = topology(&path, &config)?;
        Ok(Self { path, named: named.is_some(), found, text, config, topology })
    }

    /// Refuses a configuration that users other than root and this process's may change: itself, or
    /// what is read or run because it names it.
    ///
    /// # Errors
    /// [`SettingsError::Trust`].
    pub fn check_trusted(&self) -> Result<(), SettingsError> {
        if self.found {
            net::check_trusted("configuration", &self.path)?;
        }
        if let Some(topology) = topology_path(&self.path, &self.config) {
            net::check_trusted("topology_file", &topology)?;
        }
        if self.config.mailer.is_empty() {
            return Ok(());
        }
        match net::check_trusted("mailer", Path::new(&self.config.mailer)) {
            // It may come with a mount; a letter that finds none is in the log.
            Err(error) if error.is_missing() => Ok(()),
            checked => Ok(checked?),
        }
    }

    /// The file's name, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Where the topology file is; a relative name is one beside the configuration.
fn topology_path(path: &Path, config: &ControllerConfig) -> Option<PathBuf> {
    let beside = || path.parent().unwrap_or(Path::new("")).join(&config.topology_file);
    (!config.topology_file.is_empty()).then(beside)
}

fn topology(path: &Path, config: &ControllerConfig) -> Result<Option<TopologyFile>, FileError> {
    let Some(beside) = topology_path(path, config) else { return Ok(None) };
    let name = beside.display().to_string();
    let text = std::fs::read_to_string(&beside).map_err(|source| FileError::ReadTopology {
        path: name.clone(),
        config: path.display().to_string(),
        source,
    })?;
    Ok(Some(TopologyFile::read(&name, &text)?))
}
