//! Who uses the cluster. Never an account of this host: a number no account has, or ourselves.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// A user, by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// Their uid, and the gid of their one group.
    pub uid: u32,
}

impl Person {
    /// Somebody without privileges: as root a number of its own, else ourselves.
    #[must_use]
    pub fn plain() -> Self {
        if is_root() { Self { uid: 23_001 } } else { Self::me() }
    }

    /// Somebody else without privileges; only root can play two people.
    #[must_use]
    pub fn other() -> Option<Self> {
        is_root().then_some(Self { uid: 23_002 })
    }

    #[must_use]
    pub fn me() -> Self {
        Self { uid: nix::unistd::geteuid().as_raw() }
    }

    /// Makes a command run as this person.
    pub fn dress(self, command: &mut Command) {
        if self != Self::me() {
            // As root, std drops the supplementary groups before it changes the uid.
            command.uid(self.uid).gid(self.uid);
        }
    }

    /// Gives a file or directory to this person.
    ///
    /// # Errors
    /// The system's.
    pub fn own(self, path: &std::path::Path) -> std::io::Result<()> {
        if self == Self::me() {
            return Ok(());
        }
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.uid))
    }
}

#[must_use]
pub fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
