//! Opening a file with another user's rights: the calling thread takes the user's groups and file
//! system ids (man 2 setfsuid) and must end afterwards. Other threads keep their identity.

use super::OutputError;
use crate::safe_open::OpenTarget;
use crate::user;
use common::job::Owner;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::geteuid;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) enum OpenError {
    Missing(io::Error),
    NotRegular,
    NotAllowed(common::id::Uid),
    Other(io::Error),
}

impl OpenError {
    pub(super) fn into_output_error(self, path: PathBuf) -> OutputError {
        match self {
            Self::NotRegular => OutputError::NotRegular(path),
            Self::NotAllowed(uid) => OutputError::NotAllowed(uid),
            Self::Missing(source) | Self::Other(source) => OutputError::Read { path, source },
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing(error),
            _ => Self::Other(error),
        }
    }
}

/// Opens `path` for reading as `owner`. The calling thread must end afterwards.
pub(super) fn open_as(owner: &Owner, path: &Path) -> Result<File, OpenError> {
    if geteuid().is_root() {
        take_rights_of(owner)?;
    } else if geteuid().as_raw() != owner.uid.0 {
        return Err(OpenError::NotAllowed(owner.uid));
    }
    let found = OpenTarget::resolve(path).map_err(io::Error::from)?;
    // Files of /proc look regular, and some describe the process that reads them: this daemon.
    let system = fstatfs(found.as_fd()).map_err(io::Error::from)?.filesystem_type();
    if system == PROC_SUPER_MAGIC || !found.is_file() {
        return Err(OpenError::NotRegular);
    }
    // Non-blocking, so that a lease on the file does not block this thread.
    let file = found.open(OFlag::O_RDONLY | OFlag::O_NONBLOCK).map_err(io::Error::from)?;
    Ok(file.into())
}

fn take_rights_of(owner: &Owner) -> io::Result<()> {
    let (_, groups) = user::look_up(owner)?;
    let groups: Vec<libc::gid_t> = groups.iter().map(|gid| gid.0).collect();
    // The raw calls affect this thread only; libc's setgroups would affect all threads.
    // SAFETY: the pointer and the length are those of a live vector.
    let result = unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) };
    Errno::result(result)?;
    // Leaving uid 0 also drops the capabilities that ignore permissions (man 7 capabilities).
    let ids = [(libc::SYS_setfsgid, owner.gid.0), (libc::SYS_setfsuid, owner.uid.0)];
    for (call, id) in ids {
        // SAFETY: both calls pass one number and no memory.
        let now = unsafe {
            libc::syscall(call, id);
            // They report no error: an invalid id changes nothing and returns the current id.
            libc::syscall(call, u32::MAX)
        };
        if now != libc::c_long::from(id) {
            return Err(io::Error::from(Errno::EPERM));
        }
    }
    Ok(())
}
