//! The submitting shell's state: directory, umask, limits, host, environment. No other part of a
//! submission reads them.

use crate::failure::Failure;
use anyhow::Context;
use common::id::Uid;
use common::job::Rlimit;
use common::token::is_token_variable;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::stat::{Mode, umask};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The state of the shell that jobs inherit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shell {
    pub directory: PathBuf,
    pub user: Uid,
    pub umask: u32,
    pub rlimits: Vec<Rlimit>,
    pub host: String,
    /// The environment variables that are valid text, without tokens.
    pub environment: BTreeMap<String, String>,
    /// Variables that are not UTF-8 and cannot be passed on.
    pub unreadable: Vec<String>,
}

/// The limits that are passed on, with their names in [`Rlimit`].
const LIMITS: &[(&str, Resource)] = &[
    ("as", Resource::RLIMIT_AS),
    ("core", Resource::RLIMIT_CORE),
    ("cpu", Resource::RLIMIT_CPU),
    ("data", Resource::RLIMIT_DATA),
    ("fsize", Resource::RLIMIT_FSIZE),
    ("memlock", Resource::RLIMIT_MEMLOCK),
    ("nofile", Resource::RLIMIT_NOFILE),
    ("nproc", Resource::RLIMIT_NPROC),
    ("rss", Resource::RLIMIT_RSS),
    ("stack", Resource::RLIMIT_STACK),
];

impl Shell {
    /// Reads the state of this process, which it inherited from its shell.
    ///
    /// # Errors
    /// [`Failure`] when the current directory has been removed.
    pub fn current() -> Result<Self, Failure> {
        let directory = std::env::current_dir()
            .context("failed to find the current directory: was it removed? cd to another one")?;
        let mut shell = Self {
            directory: prefer_pwd_name(directory),
            user: Uid(nix::unistd::getuid().as_raw()),
            umask: read_umask(),
            rlimits: LIMITS.iter().filter_map(|(name, which)| read_limit(name, *which)).collect(),
            host: nix::unistd::gethostname()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            ..Self::default()
        };
        for (name, value) in std::env::vars_os() {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) if is_token_variable(&name, &value) => {}
                (Ok(name), Ok(value)) => drop(shell.environment.insert(name, value)),
                (Ok(name), Err(_)) => shell.unreadable.push(name),
                (Err(name), _) => shell.unreadable.push(name.to_string_lossy().into_owned()),
            }
        }
        Ok(shell)
    }
}

/// The directory by the name that its user knows: $PWD, if that is the same directory. A home
/// directory behind a link may have another target on the nodes, but its name is the same.
fn prefer_pwd_name(directory: PathBuf) -> PathBuf {
    let Some(named) = std::env::var_os("PWD").map(PathBuf::from) else { return directory };
    let place = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    let same = place(&named).is_some() && place(&named) == place(&directory);
    if named.is_absolute() && same { named } else { directory }
}

/// Reads the umask, which is only possible by setting it; kantctl creates no files meanwhile.
fn read_umask() -> u32 {
    let mask = umask(Mode::from_bits_truncate(0o077));
    umask(mask);
    mask.bits()
}

fn read_limit(name: &str, which: Resource) -> Option<Rlimit> {
    let (soft, _) = getrlimit(which).ok()?;
    Some(Rlimit { name: name.to_owned(), soft: (soft != RLIM_INFINITY).then_some(soft) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_that_of_this_process() {
        let shell = Shell::current().unwrap();
        assert!(shell.directory.is_absolute());
        assert!(!shell.host.is_empty());
        assert_eq!(shell.umask, read_umask(), "reading must not change it");
        assert!(shell.rlimits.iter().any(|l| l.name == "nofile" && l.soft != Some(0)));
        assert!(shell.environment.contains_key("PATH"));
    }
}
