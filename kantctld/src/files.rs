//! How many files kantctld may have open, and that what it makes is its own. Never lowers a limit.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};

/// More than any cluster has nodes and clients.
const FILES_MAX: u64 = 1 << 20;

/// Every node, and everybody who asks, is a connection: as many as the system lets this process
/// have, where a shell or a service manager gave it fewer to begin with.
pub fn allow_all() {
    // A system that does not tell has no such limit.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let wanted = hard.min(FILES_MAX);
    if soft >= wanted {
        return;
    }
    if let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, wanted, hard) {
        tracing::warn!("failed to raise the limit of open files from {soft} to {wanted}: {error}");
    }
}

/// What this process makes from now on is for its user alone, where no mode says otherwise.
pub fn keep_private() {
    umask(Mode::from_bits_truncate(0o077));
}
