//! The audit login uid of a job's processes (man 8 auditd, loginuid): the job's user, as after a
//! login. It is set once in each started process and inherited from there.

use std::fs;

/// The calling thread's login uid.
const FILE: &str = "/proc/thread-self/loginuid";

/// The value if none was set; any process may then set its own.
const UNSET: &str = "4294967295";

/// Tries to set the login uid, on a thread that ends afterwards; adds a sentence if that fails. A
/// kernel without audit has none.
pub fn check_support(missing: &mut Vec<String>) {
    let tried = std::thread::spawn(|| match fs::read_to_string(FILE) {
        Ok(now) if now.trim() != UNSET => fs::write(FILE, now.trim()),
        _ => Ok(()),
    });
    if let Ok(Err(error)) = tried.join() {
        missing
            .push(format!("the audit log records jobs under the user who started kantd: {error}"));
    }
}

/// Sets it for the calling process. Safe between fork and exec. Failures were reported at start
/// ([`check_support`]).
pub fn set(uid_text: &[u8]) {
    // SAFETY: opens a constant path, writes from live memory, closes what it opened.
    unsafe {
        let file = libc::open(c"/proc/self/loginuid".as_ptr(), libc::O_WRONLY);
        if file >= 0 {
            libc::write(file, uid_text.as_ptr().cast(), uid_text.len());
            libc::close(file);
        }
    }
}
