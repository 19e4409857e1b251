//! The root file system of a container: an overlay of the user's image and a writable layer that is
//! removed with the step (Linux, Documentation/filesystems/overlayfs), with a mount point for each
//! bind mount. The image itself is not changed.

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

/// Mode of directories made as mount points.
const DIR_MODE: Mode = Mode::from_bits_truncate(0o755);
/// Permission bits copied from the image's root: all but setuid and setgid.
const MODE_BITS: libc::mode_t = 0o1777;
const FILE_MODE: Mode = Mode::from_bits_truncate(0o644);

/// Keeps capabilities when the file system uid changes (linux/securebits.h).
const SECBIT_NO_SETUID_FIXUP: libc::c_int = 1 << 2;

/// Mount point of the root file system.
pub fn mount_point(dir: &StepDir) -> PathBuf {
    dir.container_dir().join("root")
}

/// Mounts the root file system and returns its path. Only in a private mount namespace.
///
/// # Errors
/// When the kernel refuses, or a mount point cannot be made.
pub fn mount_root(dir: &StepDir, account: &Account, binds: &[Bind]) -> io::Result<PathBuf> {
    let base = dir.container_dir();
    let root = mount_point(dir);
    // Other users must not reach the job's changes through the spool.
    let layer = base.join("layer");
    super::make_dir(&layer, 0o700)?;
    let [upper, work] = ["upper", "work"].map(|name| layer.join(name));
    for path in [&upper, &work, &root] {
        super::make_dir(path, 0o755)?;
    }
    let open = [open_path(&super::lower_dir(dir))?, open_path(&upper)?, open_path(&work)?];
    copy_owner_and_mode(open[0].as_fd(), &upper)?;
    // By descriptor: a path may contain the separators of mount options.
    let [lower, upper, work] =
        open.each_ref().map(|fd| format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    as_user(account, || {
        mount(Some("kant"), &root, Some("overlay"), flags, Some(options.as_str()))
    })?;
    let inside = open_path(&root)?;
    let before = umask(Mode::from_bits_truncate(0o022));
    let made = make_mount_points(inside.as_fd(), binds);
    umask(before);
    made.map(|()| root)
}

/// Gives the upper layer the owner and mode of the image's root. The overlay's `/` takes them from
/// the upper layer, so that the job could not write there otherwise.
fn copy_owner_and_mode(lower: BorrowedFd<'_>, upper: &Path) -> io::Result<()> {
    let found = fstat(lower)?;
    std::os::unix::fs::chown(upper, Some(found.st_uid), Some(found.st_gid))?;
    fs::set_permissions(upper, Permissions::from_mode(found.st_mode & MODE_BITS))
}

fn make_mount_points(inside: BorrowedFd<'_>, binds: &[Bind]) -> io::Result<()> {
    for bind in binds {
        make_mount_point(inside, &bind.target, bind.is_dir).map_err(|error| {
            let shown = bind.target.display();
            io::Error::other(format!("failed to make the mount point {shown} in it: {error}"))
        })?;
    }
    Ok(())
}

fn open_path(path: &Path) -> nix::Result<OwnedFd> {
    open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())
}

/// Runs `what` with root's capabilities but the user's file system ids, which the overlay keeps for
/// its accesses: many file servers give root no rights. Only in a single-threaded process.
fn as_user(account: &Account, what: impl FnOnce() -> nix::Result<()>) -> nix::Result<()> {
    let groups = unistd::getgroups()?;
    let theirs: Vec<Gid> = account.groups.iter().map(|gid| Gid::from_raw(gid.0)).collect();
    // SAFETY: passes numbers only.
    let bits = Errno::result(unsafe { libc::prctl(libc::PR_GET_SECUREBITS) })?;
    set_securebits(bits | SECBIT_NO_SETUID_FIXUP)?;
    unistd::setgroups(&theirs)?;
    let gid = unistd::setfsgid(Gid::from_raw(account.gid.0));
    let uid = unistd::setfsuid(Uid::from_raw(account.uid.0));
    let done = what();
    unistd::setfsuid(uid);
    unistd::setfsgid(gid);
    unistd::setgroups(&groups)?;
    set_securebits(bits)?;
    done
}

fn set_securebits(bits: libc::c_int) -> nix::Result<()> {
    // SAFETY: passes numbers only.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_SECUREBITS, bits, 0, 0, 0) }).map(drop)
}

/// Makes a directory or file as a mount point, unless it exists. Symbolic links in the user's file
/// system are resolved inside it.
fn make_mount_point(root: BorrowedFd<'_>, target: &Path, is_dir: bool) -> nix::Result<()> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    match openat2(root, target, how) {
        Err(nix::Error::ENOENT) => {}
        found => return found.map(drop),
    }
    let (Some(above), Some(name)) = (target.parent(), target.file_name()) else { return Ok(()) };
    make_mount_point(root, above, true)?;
    let above = openat2(root, above, how)?;
    let make = || match is_dir {
        true => mkdirat(&above, name, DIR_MODE),
        false => {
            let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
            openat(&above, name, flags, FILE_MODE).map(drop)
        }
    };
    match make() {
        // A dangling link is replaced.
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
    fn mount_points_are_made_inside_whatever_the_links() {
        let outside = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        symlink(outside.path(), root.path().join("out")).unwrap();
        symlink("../../../../nowhere", root.path().join("resolv")).unwrap();
        let fd = open_path(root.path()).unwrap();
        let place = |path: &str, is_dir| make_mount_point(fd.as_fd(), Path::new(path), is_dir);
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
