//! Session keyrings (man 7 session-keyring): a step's processes share one, and each hook has its
//! own. Neither has keys of kantd, of another user or of another job, because a process may read
//! its session's keyring whichever user owns it. Users' other keyrings are not linked.

use super::spec::StepSpec;
use libc::{c_long, c_ulong};
use nix::errno::Errno;
use nix::unistd::geteuid;

const JOIN_SESSION_KEYRING: c_ulong = 1;
const CHOWN: c_ulong = 4;
const SESSION_KEYRING: c_long = -3;

/// Joins a new, empty keyring, which children inherit. Safe between fork and exec.
///
/// # Errors
/// The kernel's.
pub fn join_new() -> nix::Result<()> {
    // SAFETY: a null name asks for an anonymous keyring; no memory is accessed.
    let joined = unsafe {
        let no_name = std::ptr::null::<libc::c_char>();
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, no_name)
    };
    Errno::result(joined).map(drop)
}

/// Joins a new keyring for a step, owned by its user.
///
/// # Errors
/// The kernel's.
pub fn join_for(spec: &StepSpec) -> nix::Result<()> {
    join_new()?;
    if geteuid().is_root() {
        let (uid, gid) = (spec.launch.owner.uid.0, spec.launch.owner.gid.0);
        // A user whose key quota is used up does not get to own it; membership is enough.
        // SAFETY: passes numbers only.
        unsafe { libc::syscall(libc::SYS_keyctl, CHOWN, SESSION_KEYRING, uid, gid) };
    }
    Ok(())
}

/// Whether the error means that the kernel has no keyrings, or refuses them.
pub const fn is_keyring_refusal(error: Errno) -> bool {
    matches!(error, Errno::ENOSYS | Errno::EPERM | Errno::EACCES)
}

/// Tries to join a keyring, on a thread that ends afterwards; adds a sentence if that fails.
pub fn check_support(missing: &mut Vec<String>) {
    if let Ok(Err(error)) = std::thread::spawn(join_new).join() {
        missing.push(format!("jobs share the keyring that kantd was started with: {error}"));
    }
}
