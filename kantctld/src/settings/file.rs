//! The configuration file and the topology file it names, read and not yet judged.
//! Never writes either.

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
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Its text makes no configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system did not give the topology file.
    #[error("failed to read the topology_file {path}, named in {config}")]
    ReadTopology {
        /// Which.
        path: String,
        /// The configuration.
        config: String,
        /// Why.
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
    /// What it says.
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

    /// The file's name, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// The topology file; a relative name is one beside the configuration.
fn topology(path: &Path, config: &ControllerConfig) -> Result<Option<TopologyFile>, FileError> {
    if config.topology_file.is_empty() {
        return Ok(None);
    }
    let beside = path.parent().unwrap_or(Path::new("")).join(&config.topology_file);
    let name = beside.display().to_string();
    let text = std::fs::read_to_string(&beside).map_err(|source| FileError::ReadTopology {
        path: name.clone(),
        config: path.display().to_string(),
        source,
    })?;
    Ok(Some(TopologyFile::read(&name, &text)?))
}
