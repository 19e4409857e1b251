//! Opening a file that a user named, by a process that is not confined as the user's jobs are. A
//! device is refused before it is opened, but for those that are for all users: the rules of a
//! job's group do not hold here, and to open one may already do something. A directory is refused
//! too: a descriptor of one leads out of the directories that a job has for itself (man 2 openat).
//! Never decides as whom.

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, major, minor};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// What lies at a path: found, not opened.
#[derive(Debug)]
pub struct Found {
    place: OwnedFd,
    status: FileStat,
}

/// The devices of memory that are for all users: null, zero, full, random, urandom (Linux,
/// Documentation/admin-guide/devices.txt).
const MEMORY_MAJOR: u64 = 1;
const MEMORY_MINORS: [u64; 5] = [3, 5, 7, 8, 9];

/// /dev/tty: the terminal of the process that opens it.
const TTY: (u64, u64) = (5, 0);

const PTS_MAJORS: std::ops::RangeInclusive<u64> = 136..=143;

impl Found {
    /// Looks, and follows links.
    ///
    /// # Errors
    /// The system's.
    pub fn at(path: &Path) -> nix::Result<Self> {
        let place = open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())?;
        let status = fstat(&place)?;
        Ok(Self { place, status })
    }

    /// A file with contents of its own.
    pub fn is_file(&self) -> bool {
        kind(&self.status) == SFlag::S_IFREG
    }

    /// A pipe with a name: to open it waits for the other side.
    pub fn is_pipe(&self) -> bool {
        kind(&self.status) == SFlag::S_IFIFO
    }

    /// Refuses a device that is not for all users, and a directory.
    ///
    /// # Errors
    /// [`Errno::ENODEV`], [`Errno::EISDIR`].
    pub fn check(&self) -> nix::Result<()> {
        check(&self.status)
    }

    /// Opens the very thing that was found.
    ///
    /// # Errors
    /// Those of [`check`](Self::check), else the system's.
    pub fn open(&self, flags: OFlag) -> nix::Result<OwnedFd> {
        self.check()?;
        let path = format!("/proc/self/fd/{}", self.place.as_raw_fd());
        open(path.as_str(), flags | OFlag::O_CLOEXEC | OFlag::O_NOCTTY, Mode::empty())
    }

    /// To look at it more closely.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.place.as_fd()
    }
}

/// Opens a regular file for reading; nothing else is opened at all. `None`: it is something else.
///
/// # Errors
/// The system's.
pub fn read_regular(path: &Path) -> nix::Result<Option<File>> {
    let found = Found::at(path)?;
    match found.is_file() {
        true => found.open(OFlag::O_RDONLY | OFlag::O_NONBLOCK).map(|file| Some(file.into())),
        false => Ok(None),
    }
}

/// Refuses a device that is not for all users, and a directory.
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
    fn devices_for_all_users_are_opened_and_others_are_not() {
        for path in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
            Found::at(Path::new(path)).unwrap().open(OFlag::O_RDONLY).unwrap();
        }
        let kmsg = Found::at(Path::new("/dev/kmsg"));
        assert_eq!(kmsg.unwrap().open(OFlag::O_RDONLY).unwrap_err(), Errno::ENODEV);
        let mut loop0 = Found::at(Path::new("/dev/null")).unwrap().status;
        loop0.st_mode = SFlag::S_IFBLK.bits();
        assert_eq!(check(&loop0), Err(Errno::ENODEV));
        let dir = Found::at(Path::new("/dev"));
        assert_eq!(dir.unwrap().open(OFlag::O_RDONLY).unwrap_err(), Errno::EISDIR);
    }

    #[test]
    fn only_a_regular_file_is_read_as_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        assert_eq!(read_regular(&file).unwrap_err(), Errno::ENOENT);
        std::fs::write(&file, "x").unwrap();
        assert!(read_regular(&file).unwrap().is_some());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(read_regular(&link).unwrap().is_none());
    }
}
