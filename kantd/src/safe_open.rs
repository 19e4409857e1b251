//! Opening of files that a user names, in a process that is not confined like the user's jobs.
//! Devices are refused before they are opened, except those for all users: the device rules of a
//! job's cgroup do not apply here, and opening a device may already have an effect. Directories are
//! refused because a descriptor of one leads out of a job's private directories (man 2 openat).

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, major, minor};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The object at a path, which is not opened yet.
#[derive(Debug)]
pub struct OpenTarget {
    path_fd: OwnedFd,
    status: FileStat,
}

/// Memory devices for all users: null, zero, full, random, urandom (Linux,
/// Documentation/admin-guide/devices.txt).
const MEMORY_MAJOR: u64 = 1;
const MEMORY_MINORS: [u64; 5] = [3, 5, 7, 8, 9];

/// /dev/tty: the terminal of the process that opens it.
const TTY: (u64, u64) = (5, 0);

const PTS_MAJORS: std::ops::RangeInclusive<u64> = 136..=143;

impl OpenTarget {
    /// Resolves a path, following links.
    ///
    /// # Errors
    /// The kernel's.
    pub fn resolve(path: &Path) -> nix::Result<Self> {
        let path_fd = open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
        let status = fstat(&path_fd)?;
        Ok(Self { path_fd, status })
    }

    pub fn is_file(&self) -> bool {
        kind(&self.status) == SFlag::S_IFREG
    }

    /// Whether it is a named pipe, whose opening blocks until the other end is opened.
    pub fn is_pipe(&self) -> bool {
        kind(&self.status) == SFlag::S_IFIFO
    }

    /// Refuses directories, and devices that are not for all users.
    ///
    /// # Errors
    /// [`Errno::ENODEV`], [`Errno::EISDIR`].
    pub fn check(&self) -> nix::Result<()> {
        check(&self.status)
    }

    /// Opens the object itself, whatever the path refers to by now.
    ///
    /// # Errors
    /// Those of [`check`](Self::check), else the kernel's.
    pub fn open(&self, flags: OFlag) -> nix::Result<OwnedFd> {
        self.check()?;
        let path = format!("/proc/self/fd/{}", self.path_fd.as_raw_fd());
        open(path.as_str(), flags | OFlag::O_CLOEXEC | OFlag::O_NOCTTY, Mode::empty())
    }

    /// A descriptor for metadata.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.path_fd.as_fd()
    }
}

/// Opens a regular file for reading; `None` for anything else, which is not opened.
///
/// # Errors
/// The kernel's.
pub fn open_regular(path: &Path) -> nix::Result<Option<File>> {
    let found = OpenTarget::resolve(path)?;
    match found.is_file() {
        true => found.open(OFlag::O_RDONLY | OFlag::O_NONBLOCK).map(|file| Some(file.into())),
        false => Ok(None),
    }
}

/// Refuses directories, and devices that are not for all users.
///
/// # Errors
/// [`Errno::ENODEV`], [`Errno::EISDIR`].
pub fn check(status: &FileStat) -> nix::Result<()> {
    let number = (major(status.st_rdev), minor(status.st_rdev));
    let is_refused = match kind(status) {
        SFlag::S_IFDIR => return Err(Errno::EISDIR),
        SFlag::S_IFBLK => true,
        SFlag::S_IFCHR => {
            let is_memory = number.0 == MEMORY_MAJOR && MEMORY_MINORS.contains(&number.1);
            !(is_memory || number == TTY || PTS_MAJORS.contains(&number.0))
        }
        _ => false,
    };
    if is_refused { Err(Errno::ENODEV) } else { Ok(()) }
}

fn kind(status: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(status.st_mode & SFlag::S_IFMT.bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_for_all_users_are_opened() {
        for path in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
            OpenTarget::resolve(Path::new(path)).unwrap().open(OFlag::O_RDONLY).unwrap();
        }
        let kmsg = OpenTarget::resolve(Path::new("/dev/kmsg"));
        assert_eq!(kmsg.unwrap().open(OFlag::O_RDONLY).unwrap_err(), Errno::ENODEV);
        let mut loop0 = OpenTarget::resolve(Path::new("/dev/null")).unwrap().status;
        loop0.st_mode = SFlag::S_IFBLK.bits();
        assert_eq!(check(&loop0), Err(Errno::ENODEV));
        let dir = OpenTarget::resolve(Path::new("/dev"));
        assert_eq!(dir.unwrap().open(OFlag::O_RDONLY).unwrap_err(), Errno::EISDIR);
    }

    #[test]
    fn only_a_regular_file_is_read_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        assert_eq!(open_regular(&file).unwrap_err(), Errno::ENOENT);
        std::fs::write(&file, "x").unwrap();
        assert!(open_regular(&file).unwrap().is_some());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(open_regular(&link).unwrap().is_none());
    }
}
