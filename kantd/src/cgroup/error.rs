//! What can go wrong with a group of processes. Never decides what to do about it.

use std::io;
use std::path::PathBuf;

/// A group that could not be made, limited, listed, emptied or removed.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// A file of the kernel could not be read.
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file of the kernel could not be written.
    #[error("failed to write `{value}` to {}: {source}", path.display())]
    Write {
        path: PathBuf,
        /// What should have been written.
        value: String,
        source: io::Error,
    },
    /// A group could not be made.
    #[error("failed to make cgroup {}: {source}", path.display())]
    Make { path: PathBuf, source: io::Error },
    /// A group could not be removed.
    #[error("failed to remove cgroup {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// `cgroup_root` is no relative path of plain names.
    #[error("`{0}` is no place for cgroups: set cgroup_root to a plain name like kant")]
    Root(String),
    /// Processes survive SIGKILL: they hang inside the kernel.
    #[error("failed to kill all of {group}: still there: {pids:?}")]
    Alive { group: String, pids: Vec<i32> },
    /// The kernel refused the program that guards devices (cgroups v2).
    #[error("failed to {what} the device program of {}: {source}", path.display())]
    Program {
        /// `load` or `attach`.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The host has no hierarchy of the wanted kind.
    #[error("no cgroup {0} hierarchy is mounted")]
    NotMounted(&'static str),
    /// `cgroup = "required"`, and it cannot be.
    #[error(
        "cgroups are required and cannot be used: {0}; run kantd as root where /sys/fs/cgroup is \
         writable, or set cgroup = \"auto\" to run jobs unconfined"
    )]
    Required(String),
}

impl CgroupError {
    /// Is it not for us to have here (for want of rights, or because others live in the group
    /// above), rather than a bad value or a broken kernel?
    pub(crate) fn is_refusal(&self) -> bool {
        let (Self::Read { source, .. }
        | Self::Write { source, .. }
        | Self::Make { source, .. }
        | Self::Remove { source, .. }
        | Self::Program { source, .. }) = self
        else {
            return false;
        };
        matches!(
            source.raw_os_error(),
            Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::EBUSY)
        )
    }
}
