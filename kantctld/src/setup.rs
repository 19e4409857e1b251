//! `kantctld setup`: makes this host a controller with one command: a configuration, if there is
//! none, a cluster of its own or a place in another, and the unit of systemd.

use crate::membership::{self, Membership, MembershipError};
use crate::settings::{ConfigFile, FileError};
use std::fmt::Write as _;
use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The default path of the configuration, which the unit uses.
const CONFIG_DEFAULT: &str = "/etc/kant/kantctld.toml";
const UNIT: &str = "kantctld.service";
/// Exists while systemd runs.
const SYSTEMD: &str = "/run/systemd/system";
const PORT: u16 = 7600;

/// What the user asked for.
#[derive(Debug, Default)]
pub struct SetupOptions {
    /// Where others reach this controller.
    pub advertise: Option<String>,
    pub cluster: Option<String>,
    /// A controller of the cluster to join.
    pub to: Option<String>,
    pub invitation: Option<String>,
    /// Leave the unit alone.
    pub no_start: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{} exists, and setup never changes it: edit it there, or leave `{option}` out",
        path.display()
    )]
    Configured { path: PathBuf, option: &'static str },
    #[error("failed to use `--advertise`: `{0}` is not host:port, like ctl1:7600")]
    Address(String),
    #[error("failed to find this host's name: give `--advertise HOST:PORT`")]
    HostName,
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Membership(#[from] MembershipError),
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

/// Sets this host up. May be repeated: what is done already stays. Returns the message to print.
///
/// # Errors
/// [`SetupError`]; what was done until then stays.
pub fn run_setup(named: Option<&Path>, options: &SetupOptions) -> Result<String, SetupError> {
    let path = named.unwrap_or(Path::new(CONFIG_DEFAULT));
    let config = match path.symlink_metadata() {
        Ok(_) => check_configured(path, options)?,
        Err(_) => write_config(path, options)?,
    };
    let file = ConfigFile::read(Some(path))?;
    let membership = membership(&file.config.state_dir)?;
    let member = match membership {
        Some(Membership { id, cluster, .. }) => {
            format!("this is controller {id} of cluster {cluster} already")
        }
        // Without an invitation, this host may be the first controller or have forgotten it.
        None if options.invitation.is_none() && !file.config.peers.is_empty() => {
            return Err(MembershipError::Undecided { path: file.config.state_dir }.into());
        }
        None => become_member(path, options)?,
    };
    // The unit reads the default configuration.
    let starts = !options.no_start && named.is_none() && Path::new(SYSTEMD).is_dir();
    let next = match starts {
        true => start_unit()?,
        false => format!("next, start it: kantctld --config {}", path.display()),
    };
    Ok(format!("{config}\n{member}\n{next}"))
}

/// The membership of a state directory, which may belong to another user than the caller.
fn membership(state_dir: &str) -> Result<Option<Membership>, SetupError> {
    let path = Path::new(state_dir).join(membership::FILE);
    let unreadable =
        |message: String| MembershipError::Unreadable { path: path.display().to_string(), message };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(toml::from_str(&text).map_err(|e| unreadable(e.to_string()))?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error.to_string()).into()),
    }
}

/// Refuses options that only a new configuration could take.
fn check_configured(path: &Path, options: &SetupOptions) -> Result<String, SetupError> {
    let given = [("--advertise", &options.advertise), ("--cluster", &options.cluster)];
    match given.into_iter().find(|(_, value)| value.is_some()) {
        Some((option, _)) => Err(SetupError::Configured { path: path.to_owned(), option }),
        None => Ok(format!("{} is as it was", path.display())),
    }
}

fn write_config(path: &Path, options: &SetupOptions) -> Result<String, SetupError> {
    let advertise = match &options.advertise {
        Some(address) => address.clone(),
        None => format!("{}:{PORT}", host_name().ok_or(SetupError::HostName)?),
    };
    let text = config_text(&advertise, options)?;
    let failed = |source| SetupError::Write { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| {
        // Whatever the umask: kantctld runs as another user, and nothing in it is secret.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    })
    .map_err(failed)?;
    Ok(format!("wrote {}", path.display()))
}

fn host_name() -> Option<String> {
    nix::unistd::gethostname().ok()?.into_string().ok().filter(|name| !name.is_empty())
}

/// The smallest configuration of a controller that other hosts can reach.
fn config_text(advertise: &str, options: &SetupOptions) -> Result<String, SetupError> {
    let port = advertise.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let is_loopback = port.is_some_and(|(host, _)| ["127.0.0.1", "localhost"].contains(&host));
    let port: Option<u16> = port.and_then(|(_, port)| port.parse().ok());
    let port = port.ok_or_else(|| SetupError::Address(advertise.to_owned()))?;
    let mut text = String::from(
        "# Written by `kantctld setup`, which never changes it again. All keys and their\n\
         # defaults are in kantctld.toml in /usr/share/doc/kant-controller/examples.\n",
    );
    let mut line = |key: &str, value: toml::Value| {
        let _ = writeln!(text, "{key} = {value}");
    };
    if let Some(cluster) = &options.cluster {
        line("cluster", cluster.clone().into());
    }
    let host = if is_loopback { "127.0.0.1" } else { "0.0.0.0" };
    line("listen", format!("{host}:{port}").into());
    line("advertise", advertise.into());
    if let Some(to) = &options.to {
        line("peers", vec![to.clone(), advertise.to_owned()].into());
    }
    Ok(text)
}

/// Founds a cluster, or joins one. Another process does that, because it becomes the user of the
/// state directory for good.
fn become_member(path: &Path, options: &SetupOptions) -> Result<String, SetupError> {
    let verb = if options.invitation.is_some() { "join" } else { "found" };
    let mut command = Command::new("/proc/self/exe");
    command.arg("--config").arg(path).arg(verb);
    if let Some(invitation) = &options.invitation {
        command.env("KANT_INVITATION", invitation);
        command.args(options.to.iter().flat_map(|to| ["--to", to]));
    }
    command.stderr(std::process::Stdio::inherit());
    let shown = format!("kantctld {verb}");
    let output =
        command.output().map_err(|source| SetupError::Run { command: shown.clone(), source })?;
    if !output.status.success() {
        return Err(SetupError::Failed { command: shown });
    }
    let message = String::from_utf8_lossy(&output.stdout);
    // The rest says how to go on by hand.
    Ok(message.split("; start kantctld").next().unwrap_or_default().trim().to_owned())
}

/// Enables the unit, and waits until the controller is ready.
fn start_unit() -> Result<String, SetupError> {
    let shown = format!("systemctl enable --now {UNIT}");
    let status = Command::new("systemctl").args(["enable", "--now", UNIT]).status();
    let status = status.map_err(|source| SetupError::Run { command: shown.clone(), source })?;
    if !status.success() {
        return Err(SetupError::Failed { command: shown });
    }
    Ok(format!(
        "{UNIT} runs; next, `kantctl admin node invite NAME` here prints the command that makes a \
         host a node, and `kantctl admin controller invite` that for one more controller"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config::{ControllerConfig, read};

    fn asked(cluster: Option<&str>, to: Option<&str>) -> SetupOptions {
        let own = |text: Option<&str>| text.map(str::to_owned);
        SetupOptions { cluster: own(cluster), to: own(to), ..SetupOptions::default() }
    }

    #[test]
    fn the_written_configuration_is_valid_and_reachable() {
        let options = asked(Some("it's \"ours\""), Some("ctl1:7600"));
        let text = config_text("ctl2:7601", &options).unwrap();
        let config: ControllerConfig = read("kantctld.toml", &text).unwrap();
        crate::settings::check(&config).unwrap();
        assert_eq!(config.cluster, "it's \"ours\"");
        assert_eq!(
            (config.listen.as_str(), config.advertise.as_str()),
            ("0.0.0.0:7601", "ctl2:7601")
        );
        assert_eq!(config.peers, ["ctl1:7600", "ctl2:7601"]);
        let alone = config_text("ctl1:7600", &asked(None, None)).unwrap();
        let alone: ControllerConfig = read("kantctld.toml", &alone).unwrap();
        assert!(alone.peers.is_empty(), "a cluster of its own");
        let local = config_text("127.0.0.1:7600", &asked(None, None)).unwrap();
        assert!(local.contains("\nlisten = \"127.0.0.1:7600\"\n"), "{local}");
    }

    #[test]
    fn an_address_needs_a_host_and_a_port() {
        for address in ["ctl1", ":7600", "ctl1:", "ctl1:x"] {
            let error = config_text(address, &asked(None, None)).unwrap_err();
            assert!(matches!(error, SetupError::Address(_)), "{address}");
        }
    }

    #[test]
    fn a_configuration_is_never_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/kantctld.toml");
        write_config(&path, &asked(None, None)).unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(write_config(&path, &asked(Some("other"), None)).is_err());
        let refused = check_configured(&path, &asked(Some("other"), None)).unwrap_err();
        assert!(refused.to_string().contains("`--cluster`"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
    }
}
