//! Whom the audit log names for what a process does (man 8 auditd, loginuid): the job's user, as
//! after a login. It is set once in each process that is started; what that starts inherits it.

use std::fs;

/// Where a thread finds and sets its own.
const FILE: &str = "/proc/thread-self/loginuid";

/// As a file of /proc shows it: none was set, and any process may set its own.
const UNSET: &str = "4294967295";

/// Tries on a thread that ends afterwards whether another can be set; a sentence if not. Where
/// there is no audit there is nothing to say.
pub fn try_out(missing: &mut Vec<String>) {
    let tried = std::thread::spawn(|| match fs::read_to_string(FILE) {
        Ok(now) if now.trim() != UNSET => fs::write(FILE, now.trim()),
        _ => Ok(()),
    });
    if let Ok(Err(error)) = tried.join() {
        missing.push(format!("the audit log names the user who started kantd for jobs: {error}"));
    }
}

/// Sets it for the calling process. Safe between fork and exec. Best effort: `try_out` has said so.
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
