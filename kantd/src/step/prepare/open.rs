//! The files of a job's `--input`, `--output` and `--error`: opened for good, with a bound on what
//! is waited for, no devices but those for all users, and no directories. Never decides as whom.

use super::patience::{Patience, WAIT_MAX};
use crate::opening::{self, Found};
use crate::step::fault::LaunchFault;
use crate::step::files::{Opening, Use};
use crate::step::ipc::MQUEUE_MAGIC;
use crate::step::order::StepOrder;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open, readlink};
use nix::sys::stat::{Mode, fstat};
use nix::sys::statfs::fstatfs;
use nix::unistd::unlink;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// What a message queue is refused with: no file system answers an open so.
const QUEUE: nix::Error = nix::Error::EMEDIUMTYPE;

/// Opens one, with the rights that this process has.
///
/// # Errors
/// `ENODEV` for a device that is not for all users, `EISDIR`, [`QUEUE`], `ETIMEDOUT` once the
/// patience is used up, else the system's.
pub fn open_file(opening: &Opening, patience: &mut Patience) -> nix::Result<OwnedFd> {
    let writing = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_APPEND;
    let flags = match opening.how {
        Use::Read => OFlag::O_RDONLY,
        Use::Append => writing,
        Use::Truncate => writing | OFlag::O_TRUNC,
    };
    let path = Path::new(&opening.path);
    let found = match Found::at(path) {
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
    if found.as_ref().is_some_and(Found::is_pipe) {
        return patience.open(|| open(flags));
    }
    match open(flags | OFlag::O_NONBLOCK) {
        // A process has a lease on it.
        Err(nix::Error::EWOULDBLOCK) => patience.open(|| open(flags)),
        file => may_wait(file?),
    }
}

/// By its name, so that what the kernel protects in directories that all may write to stays so (man
/// 5 proc, protected_regular). Who puts a device there meanwhile has it opened for a moment.
fn open_to_write(path: &Path, flags: OFlag, is_new: bool) -> nix::Result<OwnedFd> {
    let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    let file = open(path, flags, Mode::from_bits_truncate(0o666))?;
    opening::check(&fstat(&file)?)?;
    if let Err(refused) = check_file_system(file.as_fd()) {
        if is_new {
            // Where links led. What cannot be removed is the user's own, and is empty.
            let _ = readlink(format!("/proc/self/fd/{}", file.as_raw_fd()).as_str())
                .and_then(|made| unlink(made.as_os_str()));
        }
        return Err(refused);
    }
    Ok(file)
}

/// Refuses a file that is a message queue of the machine's: it would outlive the job.
fn check_file_system(file: BorrowedFd<'_>) -> nix::Result<()> {
    let is_queue = fstatfs(file)?.filesystem_type() == MQUEUE_MAGIC;
    if is_queue { Err(QUEUE) } else { Ok(()) }
}

/// The job reads and writes it as it would any.
fn may_wait(file: OwnedFd) -> nix::Result<OwnedFd> {
    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(file)
}

/// Why one could not be opened, in a sentence.
pub fn explain(order: &StepOrder, opening: &Opening, error: nix::Error) -> LaunchFault {
    let (purpose, option) = match opening.how {
        Use::Read => ("reading", "--input"),
        Use::Append | Use::Truncate => ("writing", "--output and --error"),
    };
    let why = match error {
        nix::Error::ENODEV => "it is a device, and of those only null, zero, full, random, \
             urandom and terminals are opened: let the job open it by itself"
            .to_owned(),
        QUEUE => "it is a message queue, which would outlive the job: name a file".to_owned(),
        nix::Error::EISDIR => "it is a directory: name a file".to_owned(),
        nix::Error::ETIMEDOUT => {
            let wait = WAIT_MAX.as_secs();
            format!("the other side did not open it, or let go of it, within {wait} seconds")
        }
        error => error.to_string(),
    };
    LaunchFault::of_job(format!(
        "failed to open {} for {purpose} as user {} on node {}: {why}; see {option}",
        opening.path,
        order.user(),
        order.node
    ))
}
