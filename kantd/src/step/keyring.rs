//! Session keyrings (man 7 session-keyring): a step's processes share one, and each hook has one of
//! its own. None has a key of kantd's, of another user's or of another job's in it: a process may
//! read what is in its session's keyring, whichever user's it is. Never links a user's other
//! keyrings.

use super::order::StepOrder;
use libc::{c_long, c_ulong};
use nix::errno::Errno;
use nix::unistd::geteuid;

const JOIN_SESSION_KEYRING: c_ulong = 1;
const CHOWN: c_ulong = 4;
const SESSION_KEYRING: c_long = -3;

/// Joins a new and empty one; the children of this process join it too. Safe between fork and exec.
///
/// # Errors
/// The kernel's.
pub fn join_new() -> nix::Result<()> {
    // SAFETY: a null name asks for a keyring that has none; no memory of ours is touched.
    let joined = unsafe {
        let no_name = std::ptr::null::<libc::c_char>();
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, no_name)
    };
    Errno::result(joined).map(drop)
}

/// The one of a step, which is then its user's.
///
/// # Errors
/// The kernel's.
pub fn join_for(order: &StepOrder) -> nix::Result<()> {
    join_new()?;
    if geteuid().is_root() {
        let (uid, gid) = (order.launch.owner.uid.0, order.launch.owner.gid.0);
        // A user whose quota of keys is used up goes without owning it: to be in it is enough.
        // SAFETY: takes numbers.
        unsafe { libc::syscall(libc::SYS_keyctl, CHOWN, SESSION_KEYRING, uid, gid) };
    }
    Ok(())
}

/// Does this error say that there are none here, or none for us?
pub const fn are_refused(error: Errno) -> bool {
    matches!(error, Errno::ENOSYS | Errno::EPERM | Errno::EACCES)
}

/// Tries it on a thread that ends afterwards; a sentence if it cannot be.
pub fn try_out(missing: &mut Vec<String>) {
    if let Ok(Err(error)) = std::thread::spawn(join_new).join() {
        missing.push(format!("jobs share the keyring that kantd was started with: {error}"));
    }
}
