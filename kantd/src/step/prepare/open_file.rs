//! Opening the files of `--input`, `--output` and `--error`: waits are bounded, directories and all
//! but harmless devices are refused. Runs with the rights of the calling process.

use super::wait_budget::{WAIT_MAX, WaitBudget};
use crate::safe_open::{self, OpenTarget};
use crate::step::files::{Opening, Use};
use crate::step::ipc::MQUEUE_MAGIC;
use crate::step::launch_fault::LaunchFault;
use crate::step::spec::StepSpec;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open, readlink};
use nix::sys::stat::{Mode, fstat};
use nix::sys::statfs::fstatfs;
use nix::unistd::unlink;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The error for a message queue. No file system returns it from an open.
const QUEUE: nix::Error = nix::Error::EMEDIUMTYPE;

/// Opens a file.
///
/// # Errors
/// `ENODEV` for a device that is not open to all users, `EISDIR`, [`QUEUE`], `ETIMEDOUT` when the
/// time to wait is used up, else the kernel's.
pub fn open_file(opening: &Opening, patience: &mut WaitBudget) -> nix::Result<OwnedFd> {
    let writing = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_APPEND;
    let flags = match opening.how {
        Use::Read => OFlag::O_RDONLY,
        Use::Append => writing,
        Use::Truncate => writing | OFlag::O_TRUNC,
    };
    let path = Path::new(&opening.path);
    let found = match OpenTarget::resolve(path) {
        Err(nix::Error::ENOENT) if opening.how != Use::Read => None,
        found => Some(found?),
    };
    if let Some(found) = &found {
        found.check()?;
        check_file_system(found.as_fd())?;
    }
    let open = |flags| match (&found, opening.how) {
        (Some(found), Use::Read) => found.open(flags),
        _ => open_to_write(path, flags, found.is_none()),
    };
    if found.as_ref().is_some_and(OpenTarget::is_pipe) {
        return patience.open_file(|| open(flags));
    }
    match open(flags | OFlag::O_NONBLOCK) {
        // A process holds a lease on the file.
        Err(nix::Error::EWOULDBLOCK) => patience.open_file(|| open(flags)),
        file => make_blocking(file?),
    }
}

/// Opens by name, so that the kernel's protection of world-writable directories applies (man 5
/// proc, protected_regular). A device put there at the last moment is opened and closed again.
fn open_to_write(path: &Path, flags: OFlag, is_new: bool) -> nix::Result<OwnedFd> {
    let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    let file = open(path, flags, Mode::from_bits_truncate(0o666))?;
    safe_open::check(&fstat(&file)?)?;
    if let Err(refused) = check_file_system(file.as_fd()) {
        if is_new {
            // At the end of all links. A queue that cannot be removed is the user's own, and empty.
            let _ = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()).as_str())
                .and_then(|made| unlink(made.as_os_str()));
        }
        return Err(refused);
    }
    Ok(file)
}

/// Refuses a message queue of the host's, which would outlive the job.
fn check_file_system(file: BorrowedFd<'_>) -> nix::Result<()> {
    let is_queue = fstatfs(file)?.filesystem_type() == MQUEUE_MAGIC;
    if is_queue { Err(QUEUE) } else { Ok(()) }
}

/// Makes a file blocking again, as the job expects it.
fn make_blocking(file: OwnedFd) -> nix::Result<OwnedFd> {
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(file)
}

/// A sentence that says why a file could not be opened.
pub fn explain(spec: &StepSpec, opening: &Opening, error: nix::Error) -> LaunchFault {
    let (purpose, option) = match opening.how {
        Use::Read => ("reading", "--input"),
        Use::Append | Use::Truncate => ("writing", "--output and --error"),
    };
    let why = match error {
        nix::Error::ENODEV => "it is a device other than null, zero, full, random, \
             urandom or a terminal: let the job open it by itself"
            .to_owned(),
        QUEUE => "it is a message queue, which would outlive the job: name a file".to_owned(),
        nix::Error::EISDIR => "it is a directory: name a file".to_owned(),
        nix::Error::ETIMEDOUT => {
            let wait = WAIT_MAX.as_secs();
            format!("no other process opened or released it within {wait} seconds")
        }
        error => error.to_string(),
    };
    LaunchFault::of_job(format!(
        "failed to open {} for {purpose} as user {} on node {}: {why}; see {option}",
        opening.path,
        spec.user_text(),
        spec.node
    ))
}
