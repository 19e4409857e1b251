//! kantd's configuration: the file's text, checked and turned into what the daemon works with.
//! Never looks at the machine beyond its host name.

mod container;
mod health;
mod private;

pub use container::ContainerSettings;
pub use health::HealthSettings;

use crate::features;
use common::config::{self, CgroupMode, ConfigError, NodeConfig};
use common::cpuset::{CpuSet, CpuSetError};
use common::id::{FeatureName, IdError, NodeName};
use common::time::Span;
use common::unit::{Bytes, BytesError};
use net::OwnerRules;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Where the configuration is looked for when none is named.
pub const DEFAULT_FILE: &str = "/etc/kant/kantd.toml";

/// A configuration that can be worked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// This node's name.
    pub name: NodeName,
    /// A name or address other nodes reach it by.
    pub address: String,
    /// The controllers, as host:port; at least one.
    pub controllers: Vec<String>,
    /// The cluster's secret key.
    pub cluster_key: PathBuf,
    /// Where steps and their journals are kept.
    pub spool: PathBuf,
    /// The local socket for kantctl, if any.
    pub socket: Option<PathBuf>,
    /// Offer only these CPUs.
    pub only_cpus: Option<CpuSet>,
    /// Memory kept back for the system.
    pub memory_kept_back: Bytes,
    /// What jobs may ask for by name.
    pub features: Vec<FeatureName>,
    /// How jobs are confined.
    pub cgroup: CgroupMode,
    /// The group under which jobs' cgroups are made.
    pub cgroup_root: String,
    /// Directories that each job has for itself; none below another.
    pub private_dirs: Vec<PathBuf>,
    /// How jobs run in containers.
    pub containers: ContainerSettings,
    /// Processes and threads of one job; `None`: half of what the machine can hold.
    pub processes_max: Option<u32>,
    /// Run as root before a step.
    pub prolog: Option<PathBuf>,
    /// Run as root after a step.
    pub epilog: Option<PathBuf>,
    /// Run as the user before each task.
    pub task_prolog: Option<PathBuf>,
    /// How long prolog and epilog may take.
    pub hook_limit: Span,
    /// kantctl, for jobs; `None`: their PATH finds it.
    pub kantctl: Option<PathBuf>,
    /// The NVML library, if not the loader's.
    pub nvml_library: Option<PathBuf>,
    /// How often the GPUs of running steps are looked at; `None`: never.
    pub accounting_period: Option<Duration>,
    /// Jobs are ended that have more of a shared GPU's memory than their share.
    pub hold_gpu_memory: bool,
    /// How the node looks after itself.
    pub health: HealthSettings,
    /// Run jobs of root where the controller allows them.
    pub allow_root_jobs: bool,
    /// Whose jobs run here.
    pub owners: OwnerRules,
    /// What to log, as in RUST_LOG.
    pub log: String,
}

/// Why a configuration cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("failed to read configuration {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is not a configuration.
    #[error(transparent)]
    Malformed(#[from] ConfigError),
    /// The name is none.
    #[error("failed to use `name`: {0}")]
    Name(#[source] IdError),
    /// The host has a name that no node can have.
    #[error("failed to take this host's name for the node's: {0}; set `name` in the configuration")]
    HostName(#[source] IdError),
    /// The CPUs are none.
    #[error("failed to use `cpus`: {0}")]
    Cpus(#[source] CpuSetError),
    /// A feature's name is none.
    #[error("failed to use `features`: {0}")]
    Feature(#[source] IdError),
    /// The memory is none.
    #[error("failed to use `memory_kept_back`: {0}")]
    Memory(#[source] BytesError),
    /// Memory or disk room that is none.
    #[error("failed to use `disk_free_min`: {0}")]
    DiskFree(#[source] BytesError),
    /// A check that is none.
    #[error("failed to use `{key}`: `{word}` is no check; those are {}", health::checks())]
    Check {
        /// The key.
        key: &'static str,
        /// Its word.
        word: String,
    },
    /// No controller.
    #[error("failed to use `controllers`: name at least one, like [\"head:7600\"]")]
    NoController,
    /// A controller without a port.
    #[error("failed to use `controllers`: `{0}` is not host:port, like head:7600")]
    Controller(String),
    /// A path that depends on where kantd was started.
    #[error("failed to use `{key}`: `{path}` is not an absolute path")]
    NotAbsolute {
        /// The key.
        key: &'static str,
        /// Its value.
        path: String,
    },
    /// A directory that no job can have for itself.
    #[error("failed to use `private_dirs`: `{path}` {why}")]
    PrivateDir {
        /// The directory.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A mount that none could make.
    #[error("failed to use `{key}`: `{word}` is not SOURCE[:TARGET][:ro] with absolute paths")]
    Mount {
        /// The key.
        key: &'static str,
        /// Its word.
        word: String,
    },
    /// A group outside of the cgroup tree.
    #[error("failed to use `cgroup_root`: `{0}` is not a name or path below the cgroup tree")]
    CgroupRoot(String),
}

/// Reads a configuration: `file`, or the default one, which may be missing.
///
/// The second value is false when there is no file and the defaults are in force.
///
/// # Errors
/// [`SettingsError`], naming the file and the key.
pub fn load(file: Option<&Path>) -> Result<(Settings, bool), SettingsError> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((check(config::read(&path.display().to_string(), &text)?)?, true)),
        Err(error) if file.is_none() && error.kind() == io::ErrorKind::NotFound => {
            Ok((check(NodeConfig::default())?, false))
        }
        Err(source) => Err(SettingsError::Read { path: path.to_owned(), source }),
    }
}

/// Checks every key and fills in what follows from the host.
///
/// # Errors
/// [`SettingsError`], naming the key.
pub fn check(config: NodeConfig) -> Result<Settings, SettingsError> {
    let name = match config.name.as_str() {
        "" => host_name()?,
        name => NodeName::new(name).map_err(SettingsError::Name)?,
    };
    if config.controllers.is_empty() {
        return Err(SettingsError::NoController);
    }
    if let Some(bad) = config.controllers.iter().find(|address| !has_port(address)) {
        return Err(SettingsError::Controller(bad.clone()));
    }
    let below = |path: &str| {
        !path.is_empty() && Path::new(path).components().all(|c| matches!(c, Component::Normal(_)))
    };
    if !below(&config.cgroup_root) {
        return Err(SettingsError::CgroupRoot(config.cgroup_root));
    }
    let health = health::check(&config)?;
    let containers = container::check(&config)?;
    let cpus = unless_empty(config.cpus).map(|cpus| cpus.parse());
    Ok(Settings {
        address: unless_empty(config.address).unwrap_or_else(|| name.to_string()),
        name,
        controllers: config.controllers,
        cluster_key: absolute("cluster_key", config.cluster_key)?,
        spool: absolute("spool_dir", config.spool_dir)?,
        socket: unless_empty(config.socket).map(|p| absolute("socket", p)).transpose()?,
        only_cpus: cpus.transpose().map_err(SettingsError::Cpus)?,
        memory_kept_back: config.memory_kept_back.parse().map_err(SettingsError::Memory)?,
        features: features::check(config.features).map_err(SettingsError::Feature)?,
        cgroup: config.cgroup,
        cgroup_root: config.cgroup_root,
        private_dirs: private::check(config.private_dirs)?,
        containers,
        processes_max: Some(config.processes_max).filter(|most| *most > 0),
        prolog: unless_empty(config.prolog).map(|p| absolute("prolog", p)).transpose()?,
        epilog: unless_empty(config.epilog).map(|p| absolute("epilog", p)).transpose()?,
        task_prolog: unless_empty(config.task_prolog)
            .map(|p| absolute("task_prolog", p))
            .transpose()?,
        hook_limit: Span::from_seconds(u64::from(config.hook_limit_seconds)),
        kantctl: unless_empty(config.kantctl).map(|p| absolute("kantctl", p)).transpose()?,
        nvml_library: unless_empty(config.nvml_library).map(PathBuf::from),
        accounting_period: Some(u64::from(config.accounting_seconds))
            .filter(|seconds| *seconds > 0)
            .map(Duration::from_secs),
        hold_gpu_memory: config.hold_gpu_memory,
        health,
        allow_root_jobs: config.allow_root_jobs,
        owners: OwnerRules {
            uid_min: config.uid_min,
            allow_unknown_users: config.allow_unknown_users,
        },
        log: config.log,
    })
}

fn host_name() -> Result<NodeName, SettingsError> {
    let host = nix::unistd::gethostname().unwrap_or_default();
    let host = host.to_string_lossy();
    let short = host.split('.').next().unwrap_or_default();
    NodeName::new(short).map_err(SettingsError::HostName)
}

fn has_port(address: &str) -> bool {
    let is_host = |(host, port): &(&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    address.rsplit_once(':').filter(is_host).is_some()
}

fn unless_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn absolute(key: &'static str, path: String) -> Result<PathBuf, SettingsError> {
    if !path.starts_with('/') {
        return Err(SettingsError::NotAbsolute { key, path });
    }
    Ok(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<Settings, SettingsError> {
        check(config::read("kantd.toml", text)?)
    }

    #[test]
    fn the_defaults_can_be_worked_with() {
        let settings = settings("name = \"g-1\"").unwrap();
        assert_eq!(settings.address, "g-1", "the address is the name unless given");
        assert_eq!(settings.memory_kept_back, Bytes::from_mib(512));
        assert_eq!(settings.only_cpus, None);
        assert_eq!(settings.nvml_library, None);
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_key() {
        for (text, key) in [
            ("name = \"a b\"", "`name`"),
            ("controllers = []", "`controllers`"),
            ("controllers = [\"head\"]", "`head` is not host:port"),
            ("controllers = [\":7600\"]", "`:7600` is not host:port"),
            ("cpus = \"2-\"", "`cpus`"),
            ("memory_kept_back = \"much\"", "`memory_kept_back`"),
            ("spool_dir = \"spool\"", "`spool_dir`"),
            ("socket = \"kantd.sock\"", "`socket`"),
            ("cgroup_root = \"../x\"", "`cgroup_root`"),
            ("cgroup_root = \"/kant\"", "`cgroup_root`"),
            ("cgroup = \"maybe\"", "cgroup"),
            ("disk_free_min = \"much\"", "`disk_free_min`"),
            ("health_warn = [\"gpu\"]", "`gpu` is no check; those are gpu_lost, gpu_xid"),
            ("health_script = \"check\"", "`health_script`"),
            ("prolog = \"check\"", "`prolog`"),
            ("kantctl = \"kantctl\"", "`kantctl`"),
            ("container_runtime = \"crun\"", "`container_runtime`"),
            ("container_mounts = [\"home\"]", "`container_mounts`: `home`"),
            ("private_dirs = [\"tmp\"]", "`private_dirs`: `tmp`"),
            ("private_dirs = [\"/tmp/../etc\"]", "`private_dirs`"),
            ("private_dirs = [\"/usr\"]", "`/usr` is needed"),
            ("private_dirs = [\"/tmp/a\", \"/tmp\"]", "`/tmp` is named twice"),
        ] {
            let text =
                format!("{}{text}", if text.starts_with("name") { "" } else { "name = \"n\"\n" });
            let message = settings(&text).unwrap_err().to_string();
            assert!(message.contains(key), "{text}: {message}");
        }
    }

    #[test]
    fn a_named_file_must_be_there() {
        let error = load(Some(Path::new("/nonexistent/kantd.toml"))).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/kantd.toml"), "{error}");
    }
}
