//! kantd's configuration: parsing and validation of the file.

mod container;
mod health;
mod private_dirs;
mod router;
mod sampling;

pub use container::{ContainerSettings, Mount};
pub use health::HealthSettings;
pub use router::RouterSettings;
pub use sampling::SamplingSettings;

use crate::features;
use common::config::{self, CgroupMode, ConfigError, NodeConfig};
use common::cpuset::{CpuSet, CpuSetError};
use common::id::{FeatureName, IdError, NodeName};
use common::time::Span;
use common::unit::{Bytes, BytesError};
use net::OwnerRules;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};

/// The default configuration file.
pub const DEFAULT_FILE: &str = "/etc/kant/kantd.toml";

/// A valid configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub name: NodeName,
    /// A name or address by which other nodes reach this one.
    pub address: String,
    /// The controllers, as host:port; at least one.
    pub controllers: Vec<String>,
    /// Directory of steps and their journals.
    pub spool: PathBuf,
    pub socket: Option<PathBuf>,
    /// CPUs to offer, if not all.
    pub only_cpus: Option<CpuSet>,
    /// Memory reserved for the system.
    pub memory_kept_back: Bytes,
    pub features: Vec<FeatureName>,
    pub cgroup: CgroupMode,
    /// The parent cgroup of all jobs' cgroups.
    pub cgroup_root: String,
    /// Directories that each job has its own of; none is below another.
    pub private_dirs: Vec<PathBuf>,
    pub containers: ContainerSettings,
    /// Processes and threads of one job; `None` means half of what the machine can hold.
    pub processes_max: Option<u32>,
    /// Program run as root before a step.
    pub prolog: Option<PathBuf>,
    /// Program run as root after a step.
    pub epilog: Option<PathBuf>,
    /// Program run as the user before each task.
    pub task_prolog: Option<PathBuf>,
    /// Time limit of prolog and epilog.
    pub hook_limit: Span,
    /// Path of kantctl for jobs; `None` if their PATH finds it.
    pub kantctl: Option<PathBuf>,
    /// The NVML library, if not the loader's default.
    pub nvml_library: Option<PathBuf>,
    pub sampling: SamplingSettings,
    /// Directories with data sets and models.
    pub data_dirs: Vec<PathBuf>,
    /// Where files say which jobs have which GPU, if anywhere.
    pub gpu_jobs_dir: Option<PathBuf>,
    pub health: HealthSettings,
    /// The router on this node, if one runs here.
    pub router: Option<RouterSettings>,
    /// The ports that replicas of services get.
    pub service_ports: RangeInclusive<u16>,
    /// Run jobs of root if the controller allows them.
    pub allow_root_jobs: bool,
    /// Which users' jobs run here.
    pub owners: OwnerRules,
    /// The log filter, as in RUST_LOG.
    pub log: String,
}

/// An invalid configuration.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("failed to read configuration {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Malformed(#[from] ConfigError),
    #[error("failed to use `gpu_idle_percent`: {0} is more than 100 percent")]
    IdlePercent(u32),
    #[error("failed to use `name`: {0}")]
    Name(#[source] IdError),
    /// The host's name is not a valid node name.
    #[error("failed to take this host's name for the node's: {0}; set `name` in the configuration")]
    HostName(#[source] IdError),
    #[error("failed to use `cpus`: {0}")]
    Cpus(#[source] CpuSetError),
    #[error("failed to use `features`: {0}")]
    Feature(#[source] IdError),
    #[error("failed to use `memory_kept_back`: {0}")]
    Memory(#[source] BytesError),
    #[error("failed to use `disk_free_min`: {0}")]
    DiskFree(#[source] BytesError),
    #[error(
        "failed to use `{key}`: `{word}` is not a check; the checks are {}",
        health::check_names()
    )]
    Check { key: &'static str, word: String },
    #[error("failed to use `controllers`: name at least one, like [\"head:7600\"]")]
    NoController,
    #[error("failed to use `controllers`: `{0}` is not host:port, like head:7600")]
    Controller(String),
    /// A path that depends on kantd's working directory.
    #[error("failed to use `{key}`: `{path}` is not an absolute path")]
    NotAbsolute { key: &'static str, path: String },
    #[error("failed to use `private_dirs`: `{path}` {why}")]
    PrivateDir { path: String, why: &'static str },
    #[error("failed to use `{key}`: `{word}` is not SOURCE[:TARGET][:ro] with absolute paths")]
    Mount { key: &'static str, word: String },
    #[error("failed to use `router`: `{0}` is not an IP address, like 127.0.0.1 or 0.0.0.0")]
    Router(String),
    #[error("failed to use TLS for the router: `{0}` is missing")]
    RouterTls(&'static str),
    #[error(
        "failed to use `router_dns`: `{0}` is not IP:port, like 127.0.0.1:5300, with a port from \
         1024 on"
    )]
    RouterDns(String),
    #[error("failed to use `router_dns`: no router runs here; set `router`")]
    RouterDnsAlone,
    #[error(
        "failed to use `router_dns_domain`: `{0}` is not the name of a domain, of at most 120 bytes"
    )]
    RouterDomain(String),
    #[error("failed to use `service_ports`: `{0}` is not FROM-TO, like 20000-29999, from 1024 on")]
    ServicePorts(String),
    #[error("failed to use `cgroup_root`: `{0}` is not a name or path below the cgroup tree")]
    CgroupRoot(String),
}

/// Reads a configuration: `file`, or the default file, which may be missing.
///
/// The second value is false if there is no file and the defaults apply.
///
/// # Errors
/// [`SettingsError`], which names the file and the key.
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

/// Validates every key and fills in defaults that depend on the host.
///
/// # Errors
/// [`SettingsError`], which names the key.
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
    let sampling = sampling::check(&config)?;
    let router = router::router(&config)?;
    let cpus = unless_empty(config.cpus).map(|cpus| cpus.parse());
    Ok(Settings {
        address: unless_empty(config.address).unwrap_or_else(|| name.to_string()),
        name,
        controllers: config.controllers,
        spool: require_absolute("spool_dir", config.spool_dir)?,
        socket: unless_empty(config.socket).map(|p| require_absolute("socket", p)).transpose()?,
        only_cpus: cpus.transpose().map_err(SettingsError::Cpus)?,
        memory_kept_back: config.memory_kept_back.parse().map_err(SettingsError::Memory)?,
        features: features::parse_features(config.features).map_err(SettingsError::Feature)?,
        cgroup: config.cgroup,
        cgroup_root: config.cgroup_root,
        private_dirs: private_dirs::check(config.private_dirs)?,
        containers,
        processes_max: Some(config.processes_max).filter(|most| *most > 0),
        prolog: unless_empty(config.prolog).map(|p| require_absolute("prolog", p)).transpose()?,
        epilog: unless_empty(config.epilog).map(|p| require_absolute("epilog", p)).transpose()?,
        task_prolog: unless_empty(config.task_prolog)
            .map(|p| require_absolute("task_prolog", p))
            .transpose()?,
        hook_limit: Span::from_seconds(u64::from(config.hook_limit_seconds)),
        kantctl: unless_empty(config.kantctl)
            .map(|p| require_absolute("kantctl", p))
            .transpose()?,
        nvml_library: unless_empty(config.nvml_library).map(PathBuf::from),
        sampling,
        data_dirs: data_dirs(config.data_dirs)?,
        gpu_jobs_dir: unless_empty(config.gpu_jobs_dir)
            .map(|p| require_absolute("gpu_jobs_dir", p))
            .transpose()?,
        health,
        router,
        service_ports: router::port_range(&config.service_ports)?,
        allow_root_jobs: config.allow_root_jobs,
        owners: OwnerRules {
            uid_min: config.uid_min,
            allow_unknown_users: config.allow_unknown_users,
        },
        log: config.log,
    })
}

fn data_dirs(dirs: Vec<String>) -> Result<Vec<PathBuf>, SettingsError> {
    dirs.into_iter().map(|dir| require_absolute("data_dirs", dir)).collect()
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

fn require_absolute(key: &'static str, path: String) -> Result<PathBuf, SettingsError> {
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
    fn the_defaults_are_valid() {
        let settings = settings("name = \"g-1\"").unwrap();
        assert_eq!(settings.address, "g-1", "the address defaults to the name");
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
            ("service_ports = \"80-90\"", "`80-90` is not FROM-TO"),
            ("router = \"everywhere\"", "`everywhere` is not an IP address"),
            ("router_certificate = \"/a.pem\"", "`router_key` is missing"),
            ("router_dns = \"127.0.0.1:53\"", "`127.0.0.1:53` is not IP:port"),
            ("router_dns = \"127.0.0.1:5300\"", "set `router`"),
            ("router_dns = \"127.0.0.1\"", "`127.0.0.1` is not IP:port"),
            ("router_dns_domain = \"a..b\"", "`a..b` is not the name of a domain"),
            ("service_ports = \"30000\"", "`service_ports`"),
            ("disk_free_min = \"much\"", "`disk_free_min`"),
            ("health_warn = [\"gpu\"]", "`gpu` is not a check; the checks are gpu_lost, gpu_xid"),
            ("health_script = \"check\"", "`health_script`"),
            ("data_dirs = [\"models\"]", "`data_dirs`"),
            ("prolog = \"check\"", "`prolog`"),
            ("kantctl = \"kantctl\"", "`kantctl`"),
            ("container_runtime = \"crun\"", "`container_runtime`"),
            ("container_mounts = [\"home\"]", "`container_mounts`: `home`"),
            ("private_dirs = [\"tmp\"]", "`private_dirs`: `tmp`"),
            ("private_dirs = [\"/tmp/../etc\"]", "`private_dirs`"),
            ("private_dirs = [\"/usr\"]", "`/usr` is needed"),
            ("private_dirs = [\"/tmp/a\", \"/tmp\"]", "`/tmp` is listed twice"),
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
