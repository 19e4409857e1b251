//! Process limits for files: the number of open files, and the mode of new ones.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};

/// More than any cluster has nodes and clients.
const FILES_MAX: u64 = 1 << 20;

/// Raises the soft limit of open files as far as the system allows: every node and every client is
/// a connection.
pub fn raise_open_file_limit() {
    // Without an answer there is no such limit.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let wanted = hard.min(FILES_MAX);
    if soft >= wanted {
        return;
    }
    if let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard) {
        tracing::warn!("failed to raise the limit of open files from {soft} to {wanted}: {error}");
    }
}

/// Makes new files private to this process's user unless a mode says otherwise.
pub fn set_private_umask() {
    umask(Mode::from_bits_truncate(0o077));
}
