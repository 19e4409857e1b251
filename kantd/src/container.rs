//! Containers on this node: which OCI runtime it has, whether users may start it, and what of the
//! machine a container sees. Never starts a container; `step::container` does.
//!
//! A container is started by the job's user, in a user namespace of its own (man 7
//! user_namespaces): whatever is in it, to the kernel it is that user and nobody else.

use crate::config::ContainerSettings;
use nix::sched::{CloneFlags, unshare};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output};

/// Where a runtime is looked for.
const PLACES: [&str; 4] = ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin"];

/// Programs that are looked for, the better first: runc shows the user as root in the container.
const PROGRAMS: [&str; 2] = ["crun", "runc"];

/// Nobody, to try what users may.
const NOBODY: u32 = 65_534;

/// Something of the machine that containers see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where it is; its last part may hold a `*`.
    pub source: PathBuf,
    /// Where they see it.
    pub target: PathBuf,
    /// They cannot change it.
    pub read_only: bool,
}

impl Mount {
    /// Reads `SOURCE[:TARGET][:ro]`; `None` if it is not that, with plain absolute paths.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (text, read_only) = match text.strip_suffix(":ro") {
            Some(text) => (text, true),
            None => (text.strip_suffix(":rw").unwrap_or(text), false),
        };
        let (source, target) = text.split_once(':').unwrap_or((text, text));
        let plain = |path: &str| {
            let parts = Path::new(path).components();
            let is_plain = parts.skip(1).all(|part| matches!(part, Component::Normal(_)));
            (path.starts_with('/') && path != "/" && is_plain && !path.contains(':'))
                .then(|| PathBuf::from(path))
        };
        Some(Self { source: plain(source)?, target: plain(target)?, read_only })
    }
}

/// How a runtime sees users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// crun: the job's user is itself inside.
    Crun,
    /// runc and what takes its words: needs a root inside, which is the job's user outside.
    Runc,
}

/// What runs containers here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containers {
    pub runtime: PathBuf,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// What every container sees of the machine.
    pub mounts: Vec<Mount>,
    /// What those of jobs with GPUs see beside it.
    pub gpu_mounts: Vec<Mount>,
}

/// Whether jobs may run in containers here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offer {
    Offered(Containers),
    /// They may not; why, and what to do.
    Refused(String),
}

impl Default for Offer {
    fn default() -> Self {
        Self::Refused("its kantd has not looked for a runtime".to_owned())
    }
}

/// Looks for the runtime, and tries whether a user may start it. Blocks.
#[must_use]
pub fn look(settings: &ContainerSettings) -> Offer {
    let runtime = match find(settings.runtime.as_deref()) {
        Ok(runtime) => runtime,
        Err(why) => return Offer::Refused(why),
    };
    if !nix::unistd::geteuid().is_root() {
        return Offer::Refused("kantd does not run as root".to_owned());
    }
    let ContainerSettings { mounts, gpu_mounts, .. } = settings.clone();
    match try_out(&runtime) {
        Ok(dialect) => Offer::Offered(Containers { runtime, dialect, mounts, gpu_mounts }),
        Err(why) => Offer::Refused(why),
    }
}

fn find(wanted: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(runtime) = wanted {
        return match runtime.is_file() {
            true => Ok(runtime.to_owned()),
            false => Err(format!("there is no {} (container_runtime)", runtime.display())),
        };
    }
    let all = PROGRAMS.iter().flat_map(|name| PLACES.map(|place| Path::new(place).join(name)));
    let found = all.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| "neither crun nor runc is installed".to_owned())
}

/// Its version, asked for as any user would, in a user namespace.
fn try_out(runtime: &Path) -> Result<Dialect, String> {
    let shown = runtime.display();
    let mut command = Command::new(runtime);
    command.arg("--version").env_clear().current_dir("/").uid(NOBODY).gid(NOBODY);
    // SAFETY: one system call, which is safe between fork and exec.
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
    fn a_mount_is_a_source_a_target_and_a_word_on_writing() {
        let shown = |text: &str| {
            let mount = Mount::read(text)?;
            let (source, target) = (mount.source.display(), mount.target.display());
            Some(format!("{source} {target} {}", mount.read_only))
        };
        assert_eq!(shown("/home").as_deref(), Some("/home /home false"));
        assert_eq!(shown("/a/lib*.so:ro").as_deref(), Some("/a/lib*.so /a/lib*.so true"));
        assert_eq!(shown("/data/v2:/data:rw").as_deref(), Some("/data/v2 /data false"));
        for wrong in ["", "/", "home", "/a:b", "/a:/b:/c", "/a/../b", ":ro", "/a:/"] {
            assert_eq!(Mount::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_runtime_that_is_not_there_is_named() {
        let runtime = Some(PathBuf::from("/nonexistent/crun"));
        let refused = look(&ContainerSettings { runtime, ..ContainerSettings::default() });
        let Offer::Refused(why) = refused else { panic!("{refused:?}") };
        assert!(why.contains("/nonexistent/crun"), "{why}");
    }
}
