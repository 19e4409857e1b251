//! Container support of this node: its OCI runtime, whether users may start it, and the mounts of
//! containers. `step::container` starts containers.
//!
//! A container is started by the job's user in its own user namespace (man 7 user_namespaces): to
//! the kernel all its processes are that user's.

use crate::config::{ContainerSettings, Mount};
use nix::sched::{CloneFlags, unshare};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Directories searched for a runtime.
const PLACES: [&str; 4] = ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin"];

/// Runtimes, in order of preference: runc shows the user as root in the container.
const PROGRAMS: [&str; 2] = ["crun", "runc"];

/// The uid of the user `nobody`, to try what users may do.
const NOBODY: u32 = 65_534;

/// How a runtime maps users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// crun: the user has the same id inside.
    Crun,
    /// runc and compatible ones: need root inside, which is the user outside.
    Runc,
}

/// The container support of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containers {
    pub runtime: PathBuf,
    pub dialect: Dialect,
    /// Mounts of every container.
    pub mounts: Vec<Mount>,
    /// Additional mounts of containers with GPUs.
    pub gpu_mounts: Vec<Mount>,
}

/// Whether jobs may run in containers on this node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offer {
    Offered(Containers),
    /// The reason and the remedy.
    Refused(String),
}

impl Default for Offer {
    fn default() -> Self {
        Self::Refused("its kantd has not searched for a runtime".to_owned())
    }
}

/// Finds the runtime, and tries whether a user may start it. Blocks.
#[must_use]
pub fn detect(settings: &ContainerSettings) -> Offer {
    let runtime = match find_runtime(settings.runtime.as_deref()) {
        Ok(runtime) => runtime,
        Err(why) => return Offer::Refused(why),
    };
    if !nix::unistd::geteuid().is_root() {
        return Offer::Refused("kantd does not run as root".to_owned());
    }
    let ContainerSettings { mounts, gpu_mounts, .. } = settings.clone();
    match probe_runtime(&runtime) {
        Ok(dialect) => Offer::Offered(Containers { runtime, dialect, mounts, gpu_mounts }),
        Err(why) => Offer::Refused(why),
    }
}

fn find_runtime(wanted: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(runtime) = wanted {
        return match runtime.is_file() {
            true => Ok(runtime.to_owned()),
            false => Err(format!("{} does not exist (container_runtime)", runtime.display())),
        };
    }
    let all = PROGRAMS.iter().flat_map(|name| PLACES.map(|place| Path::new(place).join(name)));
    let found = all.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| "neither crun nor runc is installed".to_owned())
}

/// Runs the runtime's `--version` as an ordinary user in a user namespace.
fn probe_runtime(runtime: &Path) -> Result<Dialect, String> {
    let shown = runtime.display();
    let mut command = Command::new(runtime);
    command.arg("--version").env_clear().current_dir("/").uid(NOBODY).gid(NOBODY);
    // SAFETY: one system call, which is async-signal-safe.
    unsafe { command.pre_exec(|| Ok(unshare(CloneFlags::CLONE_NEWUSER)?)) };
    let refused = |error: &io::Error| {
        format!(
            "failed to start {shown} as a user in a user namespace: {error}; see \
             user.max_user_namespaces, kernel.unprivileged_userns_clone and \
             kernel.apparmor_restrict_unprivileged_userns (sysctl)"
        )
    };
    let Output { status, stdout, .. } = command.output().map_err(|error| refused(&error))?;
    if !status.success() {
        return Err(format!("{shown} --version failed: {status}"));
    }
    match String::from_utf8_lossy(&stdout).starts_with("crun") {
        true => Ok(Dialect::Crun),
        false => Ok(Dialect::Runc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_runtime_is_named() {
        let runtime = Some(PathBuf::from("/nonexistent/crun"));
        let refused = detect(&ContainerSettings { runtime, ..ContainerSettings::default() });
        let Offer::Refused(why) = refused else { panic!("{refused:?}") };
        assert!(why.contains("/nonexistent/crun"), "{why}");
    }
}
