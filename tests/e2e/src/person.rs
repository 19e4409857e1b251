//! Users of a test cluster: uids without an account on this host, or the current user.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// A user, by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    /// The uid, and the gid of the only group.
    pub uid: u32,
}

impl Person {
    /// A user without privileges: with root a uid without an account, otherwise the current user.
    #[must_use]
    pub fn plain() -> Self {
        if is_root() { Self { uid: 23_001 } } else { Self::me() }
    }

    /// Another user without privileges. `None`, with a message, without root: only root can act as
    /// two users.
    #[must_use]
    pub fn other() -> Option<Self> {
        if !is_root() {
            eprintln!("skipped: only root can act as two users");
        }
        is_root().then_some(Self { uid: 23_002 })
    }

    #[must_use]
    pub fn me() -> Self {
        Self { uid: nix::unistd::geteuid().as_raw() }
    }

    /// Makes a command run as this user.
    pub fn dress(self, command: &mut Command) {
        if self != Self::me() {
            // As root, std drops the supplementary groups before it changes the uid.
            command.uid(self.uid).gid(self.uid);
        }
    }

    /// Makes this user the owner of a file or directory.
    ///
    /// # Errors
    /// When a system call fails.
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
