//! Errors of cgroup operations.

use std::io;
use std::path::PathBuf;

/// A cgroup that could not be made, limited, listed, emptied or removed.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write `{value}` to {}: {source}", path.display())]
    Write { path: PathBuf, value: String, source: io::Error },
    #[error("failed to make cgroup {}: {source}", path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("failed to remove cgroup {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// `cgroup_root` is not a relative path of plain names.
    #[error("`{0}` is not a valid cgroup path: set cgroup_root to a plain name like kant")]
    Root(String),
    /// Processes survive SIGKILL because they hang inside the kernel.
    #[error("failed to kill all processes of {group}: still alive: {pids:?}")]
    Alive { group: String, pids: Vec<i32> },
    /// The kernel refused the device program (cgroups v2).
    #[error("failed to {what} the device program of {}: {source}", path.display())]
    Program {
        /// `load` or `attach`.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("no cgroup {0} hierarchy is mounted")]
    NotMounted(&'static str),
    #[error(
        "cgroups are required and cannot be used: {0}; run kantd as root where /sys/fs/cgroup is \
         writable, or set cgroup = \"auto\" to run jobs unconfined"
    )]
    Required(String),
}

impl CgroupError {
    /// Whether permission is missing, or the parent cgroup is in use by others, as opposed to a bad
    /// value or a broken kernel.
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
