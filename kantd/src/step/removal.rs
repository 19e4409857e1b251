//! Removal of a directory tree that a user may have made: mounts in it are detached and not
//! entered, links are not followed, and neither stack nor open files grow with its depth, which the
//! user chooses.

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2, renameat};
use nix::mount::{MntFlags, umount2};
use nix::sys::stat::{FileStat, Mode, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

const DIRECTORY: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Attempts to remove a tree that another process removes at the same time.
const TRIES_MAX: u32 = 100;

/// Removes a tree, unless it is gone. Other processes may remove it at the same time.
///
/// # Errors
/// When something cannot be removed; the rest may be gone, and a retry continues.
pub fn remove(path: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        match remove_once(path) {
            // A listed entry is gone: the other process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < TRIES_MAX => {}
            done => return done,
        }
    }
}

fn remove_once(path: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(Errno::EINVAL));
    };
    let above =
        match openat(AT_FDCWD, above, DIRECTORY.difference(OFlag::O_NOFOLLOW), Mode::empty()) {
            Err(Errno::ENOENT) => return Ok(()),
            above => above?,
        };
    match open_subdirectory(above.as_fd(), name.as_ref()) {
        Err(Errno::ENOENT) => return Ok(()),
        dir => {
            let dir = dir?;
            Tree { top: dir.as_fd(), moved: 0 }.empty_directory(dir.as_fd(), 0)?;
        }
    }
    Ok(unlinkat(&above, name, UnlinkatFlags::RemoveDir)?)
}

/// Directories deeper than this are moved to the top, which bounds the number of open directories.
const DEPTH_MAX: usize = 32;

/// A tree that is being emptied.
struct Tree<'a> {
    top: BorrowedFd<'a>,
    /// Number of names given to directories that were moved up.
    moved: u64,
}

impl Tree<'_> {
    /// Empties a directory at this depth below the top.
    fn empty_directory(&mut self, dir: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
        loop {
            let names = remove_all_but_directories(dir)?;
            if names.is_empty() {
                return Ok(());
            }
            for name in &names {
                let inner = open_subdirectory(dir, name.as_ref())?;
                match depth < DEPTH_MAX {
                    true => self.empty_directory(inner.as_fd(), depth + 1)?,
                    false => self.move_all_to_top(inner.as_fd())?,
                }
                match unlinkat(dir, name.as_os_str(), UnlinkatFlags::RemoveDir) {
                    // Still written to by a process: it is listed again.
                    Ok(()) | Err(Errno::ENOENT | Errno::ENOTEMPTY) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Moves the subdirectories of a directory to the top.
    fn move_all_to_top(&mut self, from: BorrowedFd<'_>) -> io::Result<()> {
        for name in remove_all_but_directories(from)? {
            self.move_to_top(from, name.as_ref())?;
        }
        Ok(())
    }

    /// Moves a directory to the top, under an unused name.
    fn move_to_top(&mut self, from: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
        loop {
            let to = format!("up-{}", self.moved);
            self.moved += 1;
            match renameat(from, name, self.top, to.as_str()) {
                Ok(()) | Err(Errno::ENOENT) => return Ok(()),
                Err(Errno::EEXIST | Errno::ENOTEMPTY | Errno::ENOTDIR) => {}
                Err(Errno::EBUSY | Errno::EXDEV) => detach_mount(from, name)?,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Removes everything but subdirectories, and returns those.
fn remove_all_but_directories(dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let mut left = Vec::new();
    for entry in fs::read_dir(descriptor_path(dir))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            left.push(entry.file_name());
            continue;
        }
        match unlinkat(dir, entry.file_name().as_os_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            // Something is mounted on the file.
            Err(Errno::EBUSY) => {
                detach_mount(dir, entry.file_name().as_ref())?;
                unlinkat(dir, entry.file_name().as_os_str(), UnlinkatFlags::NoRemoveDir)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(left)
}

/// Opens a subdirectory, after detaching what is mounted on it.
fn open_subdirectory(above: BorrowedFd<'_>, name: &Path) -> nix::Result<OwnedFd> {
    match open_unmounted(above, name) {
        Err(Errno::EXDEV) => {
            detach_mount(above, name)?;
            open_unmounted(above, name)
        }
        opened => opened,
    }
}

/// Opens a subdirectory; EXDEV if something is mounted on it.
fn open_unmounted(above: BorrowedFd<'_>, name: &Path) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(DIRECTORY)
        .resolve(ResolveFlag::RESOLVE_NO_XDEV | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(above, name, how) {
        // Before Linux 5.6. Bind mounts of the same file system are not detected there, but
        // containers, which need them, do not run there either.
        Err(Errno::ENOSYS) => {
            let device = |stat: FileStat| stat.st_dev;
            let own = fstatat(above, name, AtFlags::AT_SYMLINK_NOFOLLOW).map(device)?;
            match own == fstat(above).map(device)? {
                true => openat(above, name, DIRECTORY, Mode::empty()),
                false => Err(Errno::EXDEV),
            }
        }
        opened => opened,
    }
}

/// Detaches a mount in this mount namespace: its content must stay.
fn detach_mount(above: BorrowedFd<'_>, name: &Path) -> nix::Result<()> {
    let place = descriptor_path(above).join(name);
    umount2(&place, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW)
}

fn descriptor_path(dir: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    use nix::sys::stat::mkdirat;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_tree_is_removed_and_the_targets_of_its_links_stay() {
        let home = tempfile::tempdir().unwrap();
        let (tree, outside) = (home.path().join("tree"), home.path().join("outside"));
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::create_dir_all(tree.join("up-0/x")).unwrap();
        fs::write(tree.join("up-1"), "").unwrap();
        fs::write(tree.join("a/b/file"), "x").unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        symlink(&outside, tree.join("a/link")).unwrap();
        remove(&tree).unwrap();
        assert!(!tree.exists() && outside.join("kept").exists());
        remove(&tree).unwrap();
    }

    #[test]
    fn two_processes_may_remove_one_tree_at_once() {
        let home = tempfile::tempdir().unwrap();
        for round in 0..30 {
            let tree = home.path().join(round.to_string());
            for dir in 0..20 {
                fs::create_dir_all(tree.join(format!("{dir}/a/b"))).unwrap();
                fs::write(tree.join(format!("{dir}/a/file")), "").unwrap();
            }
            let other = std::thread::spawn({
                let tree = tree.clone();
                move || remove(&tree)
            });
            remove(&tree).unwrap();
            other.join().unwrap().unwrap();
            assert!(!tree.exists());
        }
    }

    #[test]
    fn a_deep_tree_needs_little_stack_and_few_open_files() {
        let home = tempfile::tempdir().unwrap();
        let tree = home.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let mut at = openat(AT_FDCWD, &tree, DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..1_500 {
            mkdirat(&at, "d", Mode::S_IRWXU).unwrap();
            at = openat(&at, "d", DIRECTORY, Mode::empty()).unwrap();
        }
        let small = std::thread::Builder::new().stack_size(64 << 10);
        let gone = tree.clone();
        small.spawn(move || remove(&gone).unwrap()).unwrap().join().unwrap();
        assert!(!tree.exists());
    }

    #[test]
    fn mounts_in_a_tree_are_detached_and_their_content_stays() {
        let home = tempfile::tempdir().unwrap();
        let (tree, theirs) = (home.path().join("tree"), home.path().join("theirs"));
        fs::create_dir_all(tree.join("a/lower")).unwrap();
        fs::create_dir_all(tree.join("lower")).unwrap();
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("kept"), "x").unwrap();
        let at = [tree.join("lower"), tree.join("a/lower")];
        let thread = std::thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNS)?;
            let none = None::<&str>;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
            for at in &at {
                mount(Some(&theirs), at, none, MsFlags::MS_BIND, none)?;
            }
            assert!(theirs.join("kept").exists() && at[0].join("kept").exists());
            remove(&tree).unwrap();
            assert!(!tree.exists() && theirs.join("kept").exists());
            nix::Result::Ok(())
        });
        if let Err(error) = thread.join().unwrap() {
            println!("skipped: no mount namespace: {error}");
        }
    }
}
