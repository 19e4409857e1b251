//! What a container has as `/`: its root file system, under a layer of the step's own that takes
//! all changes and is gone with the step (Linux, Documentation/filesystems/overlayfs), with a place
//! for everything that is mounted into it. Never writes to what the user brought.

use super::Bind;
use crate::step::account::Account;
use crate::step::dir::StepDir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::{Mode, fstat, mkdirat, umask};
use nix::unistd::{self, Gid, Uid, UnlinkatFlags, unlinkat};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Of directories on the way to a mount.
const DIR_MODE: Mode = Mode::from_bits_truncate(0o755);
/// Of a file's mode, all but its type and what lets it change who runs it.
const MODE_BITS: libc::mode_t = 0o1777;
const FILE_MODE: Mode = Mode::from_bits_truncate(0o644);

/// linux/securebits.h: capabilities stay whoever one is for files.
const SECBIT_NO_SETUID_FIXUP: libc::c_int = 1 << 2;

/// Where it is mounted.
pub fn place(dir: &StepDir) -> PathBuf {
    dir.container().join("root")
}

/// Mounts it below the step's directory, and returns where. Only in mounts of one's own.
///
/// # Errors
/// When the kernel refuses, or a mount has no place in it.
pub fn make(dir: &StepDir, account: &Account, binds: &[Bind]) -> io::Result<PathBuf> {
    let base = dir.container();
    let root = place(dir);
    // What the job writes is seen by its mount, and by no other user in the spool.
    let layer = base.join("layer");
    super::make_dir(&layer, 0o700)?;
    let [upper, work] = ["upper", "work"].map(|name| layer.join(name));
    for path in [&upper, &work, &root] {
        super::make_dir(path, 0o755)?;
    }
    let open = [open_path(&super::lower(dir))?, open_path(&upper)?, open_path(&work)?];
    look_alike(open[0].as_fd(), &upper)?;
    // By number: a path may hold what the options of a mount are divided by.
    let [lower, upper, work] =
        open.each_ref().map(|fd| format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    as_user(account, || {
        mount(Some("kant"), &root, Some("overlay"), flags, Some(options.as_str()))
    })?;
    let inside = open_path(&root)?;
    let before = umask(Mode::from_bits_truncate(0o022));
    let made = make_places(inside.as_fd(), binds);
    umask(before);
    made.map(|()| root)
}

/// An overlay's own `/` has the owner and the mode of its upper layer: let them be the image's, or
/// nobody could make anything there.
fn look_alike(lower: BorrowedFd<'_>, upper: &Path) -> io::Result<()> {
    let found = fstat(lower)?;
    std::os::unix::fs::chown(upper, Some(found.st_uid), Some(found.st_gid))?;
    fs::set_permissions(upper, Permissions::from_mode(found.st_mode & MODE_BITS))
}

fn make_places(inside: BorrowedFd<'_>, binds: &[Bind]) -> io::Result<()> {
    for bind in binds {
        make_place(inside, &bind.target, bind.is_dir).map_err(|error| {
            let shown = bind.target.display();
            io::Error::other(format!("no place for {shown} in it: {error}"))
        })?;
    }
    Ok(())
}

fn open_path(path: &Path) -> nix::Result<OwnedFd> {
    open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
}

/// Does something with our rights, but to file servers as the user: whoever mounts an overlay is
/// whom it reads as later, and many a server gives root nothing. Only in a process of one thread.
fn as_user(account: &Account, what: impl FnOnce() -> nix::Result<()>) -> nix::Result<()> {
    let groups = unistd::getgroups()?;
    let theirs: Vec<Gid> = account.groups.iter().map(|gid| Gid::from_raw(gid.0)).collect();
    // SAFETY: takes and returns numbers.
    let bits = Errno::result(unsafe { libc::prctl(libc::PR_GET_SECUREBITS) })?;
    set_bits(bits | SECBIT_NO_SETUID_FIXUP)?;
    unistd::setgroups(&theirs)?;
    let gid = unistd::setfsgid(Gid::from_raw(account.gid.0));
    let uid = unistd::setfsuid(Uid::from_raw(account.uid.0));
    let done = what();
    unistd::setfsuid(uid);
    unistd::setfsgid(gid);
    unistd::setgroups(&groups)?;
    set_bits(bits)?;
    done
}

fn set_bits(bits: libc::c_int) -> nix::Result<()> {
    // SAFETY: takes numbers.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, bits, 0, 0, 0) }).map(drop)
}

/// Makes a directory or file to mount on, if there is none. Links in the file system that the user
/// brought lead nowhere outside of it.
fn make_place(root: BorrowedFd<'_>, target: &Path, is_dir: bool) -> nix::Result<()> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    match openat2(root, target, how) {
        Err(nix::Error::ENOENT) => {}
        found => return found.map(drop),
    }
    let (Some(above), Some(name)) = (target.parent(), target.file_name()) else { return Ok(()) };
    make_place(root, above, true)?;
    let above = openat2(root, above, how)?;
    let make = || match is_dir {
        true => mkdirat(&above, name, DIR_MODE),
        false => {
            let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
            openat(&above, name, flags, FILE_MODE).map(drop)
        }
    };
    match make() {
        // A link to nowhere: nobody misses it.
        Err(nix::Error::EEXIST) => {
            unlinkat(&above, name, UnlinkatFlags::NoRemoveDir)?;
            make()
        }
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn places_are_made_inside_whatever_links_say() {
        let outside = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        symlink(outside.path(), root.path().join("out")).unwrap();
        symlink("../../../../nowhere", root.path().join("resolv")).unwrap();
        let fd = open_path(root.path()).unwrap();
        let place = |path: &str, is_dir| make_place(fd.as_fd(), Path::new(path), is_dir);
        place("/a/b", true).unwrap();
        place("/a/b", true).unwrap();
        place("/etc/hosts", false).unwrap();
        place("/resolv", false).unwrap();
        assert!(root.path().join("a/b").is_dir() && root.path().join("etc/hosts").is_file());
        assert!(root.path().join("resolv").symlink_metadata().unwrap().is_file());
        let _ = place("/out/x", true);
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
