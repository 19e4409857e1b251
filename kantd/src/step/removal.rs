//! Removes a directory with all that is in it, whoever made it: never what is mounted in it (that
//! is let go of first), never where a link leads, and never with a stack or files that grow with
//! how deep it is, for the depth is its user's choice.

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

/// So often is a tree gone through that somebody else removes as well.
const TRIES_MAX: u32 = 100;

/// Removes it; one that is not there is removed already. Others may remove it at the same time.
///
/// # Errors
/// When something cannot be removed; some of it is gone then, and another try goes on.
pub fn remove(path: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        match remove_once(path) {
            // What was listed is gone: the other one was faster there.
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
    match enter(above.as_fd(), name.as_ref()) {
        Err(Errno::ENOENT) => return Ok(()),
        dir => {
            let dir = dir?;
            Tree { top: dir.as_fd(), raised: 0 }.empty(dir.as_fd(), 0)?;
        }
    }
    Ok(unlinkat(&above, name, UnlinkatFlags::RemoveDir)?)
}

/// What lies deeper than this comes up first: so few directories are open at once.
const DEPTH_MAX: usize = 32;

/// A directory that is to be empty.
struct Tree<'a> {
    top: BorrowedFd<'a>,
    /// So many names were given to what came up.
    raised: u64,
}

impl Tree<'_> {
    /// Empties a directory in it, so far below the top.
    fn empty(&mut self, dir: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
        loop {
            let names = directories_left(dir)?;
            if names.is_empty() {
                return Ok(());
            }
            for name in &names {
                let inner = enter(dir, name.as_ref())?;
                match depth < DEPTH_MAX {
                    true => self.empty(inner.as_fd(), depth + 1)?,
                    false => self.raise_all(inner.as_fd())?,
                }
                match unlinkat(dir, name.as_os_str(), UnlinkatFlags::RemoveDir) {
                    // Somebody writes to it still: it is listed again.
                    Ok(()) | Err(Errno::ENOENT | Errno::ENOTEMPTY) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Moves the directories in one up to the top.
    fn raise_all(&mut self, from: BorrowedFd<'_>) -> io::Result<()> {
        for name in directories_left(from)? {
            self.raise(from, name.as_ref())?;
        }
        Ok(())
    }

    /// Under a name that nothing there has.
    fn raise(&mut self, from: BorrowedFd<'_>, name: &Path) -> io::Result<()> {
        loop {
            let to = format!("up-{}", self.raised);
            self.raised += 1;
            match renameat(from, name, self.top, to.as_str()) {
                Ok(()) | Err(Errno::ENOENT) => return Ok(()),
                Err(Errno::EEXIST | Errno::ENOTEMPTY | Errno::ENOTDIR) => {}
                Err(Errno::EBUSY | Errno::EXDEV) => let_go(from, name)?,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Removes all but the directories in it, and names these.
fn directories_left(dir: BorrowedFd<'_>) -> io::Result<Vec<OsString>> {
    let mut left = Vec::new();
    for entry in fs::read_dir(own_path(dir))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            left.push(entry.file_name());
            continue;
        }
        match unlinkat(dir, entry.file_name().as_os_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => {}
            // A file that something is mounted on.
            Err(Errno::EBUSY) => {
                let_go(dir, entry.file_name().as_ref())?;
                unlinkat(dir, entry.file_name().as_os_str(), UnlinkatFlags::NoRemoveDir)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(left)
}

/// Opens a directory in another; what is mounted on it is let go of before.
fn enter(above: BorrowedFd<'_>, name: &Path) -> nix::Result<OwnedFd> {
    match open_unmounted(above, name) {
        Err(Errno::EXDEV) => {
            let_go(above, name)?;
            open_unmounted(above, name)
        }
        opened => opened,
    }
}

/// EXDEV: something is mounted on it.
fn open_unmounted(above: BorrowedFd<'_>, name: &Path) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(DIRECTORY)
        .resolve(ResolveFlag::RESOLVE_NO_XDEV | ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(above, name, how) {
        // Before Linux 5.6. Containers, in which parts of other file systems are mounted, cannot be
        // made there either: a mount is of another device.
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

/// Takes away what is mounted there, in our mounts: it is not ours to empty.
fn let_go(above: BorrowedFd<'_>, name: &Path) -> nix::Result<()> {
    let place = own_path(above).join(name);
    umount2(&place, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW)
}

fn own_path(dir: BorrowedFd<'_>) -> PathBuf {
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
    fn all_of_a_tree_goes_and_what_its_links_lead_to_stays() {
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
    fn two_may_remove_one_tree_at_once() {
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
    fn a_tree_as_deep_as_its_user_likes_takes_no_stack_and_no_files() {
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
    fn what_is_mounted_in_it_is_let_go_of_and_stays_whole() {
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
            println!("skipped: mounts of our own: {error}");
        }
    }
}
