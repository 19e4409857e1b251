//! Private directories of a step, like /tmp and /dev/shm: they hold no files of other jobs and are
//! removed with the step. They are mounts in a namespace (man 7 mount_namespaces) that the
//! supervisor enters before it starts the tasks; the rest of the machine does not see them.
//!
//! Output files are opened before, so that the user finds them outside; a working directory inside
//! a private directory stays visible through a bind mount.

use super::dir::StepDir;
use super::ipc;
use super::removal;
use common::unit::Bytes;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use std::ffi::CString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The mode of /tmp: all users may write, and only owners may remove.
const MODE: u32 = 0o1777;

/// Mode of the parents of a directory that stays visible.
const WAY_MODE: u32 = 0o755;

/// linux/mount.h, `OPEN_TREE_CLONE`: makes a detached copy of a mount.
const OPEN_TREE_CLONE: libc::c_uint = 1;

/// linux/mount.h, `MOVE_MOUNT_F_EMPTY_PATH`: moves the mount of the descriptor itself.
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;

/// The directories that can be made private here, as canonical paths; adds a sentence for each of
/// the others. Tries it on a thread that ends afterwards.
pub fn usable_private_dirs(wanted: &[PathBuf], missing: &mut Vec<String>) -> Vec<PathBuf> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let tried = std::thread::spawn(unshare_mounts).join();
    if let Ok(Err(error)) = tried {
        let all: Vec<String> = wanted.iter().map(|dir| dir.display().to_string()).collect();
        missing.push(format!("jobs share {}: no mount namespace: {error}", all.join(" and ")));
        return Vec::new();
    }
    let mut found = Vec::new();
    for dir in wanted {
        match fs::canonicalize(dir) {
            Ok(path) if path.is_dir() => found.push(path),
            Ok(_) => missing.push(format!("jobs share {}: it is not a directory", dir.display())),
            Err(error) => missing.push(format!("jobs share {}: {error}", dir.display())),
        }
    }
    found
}

/// Whether `path` lies below one of the directories.
pub fn is_below(path: &Path, dirs: &[PathBuf]) -> bool {
    dirs.iter().any(|dir| path != dir && path.starts_with(dir))
}

/// Gives the calling thread its own mounts. Changes of the machine's mounts still propagate to
/// them, but not the other way.
fn unshare_mounts() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    set_propagation(Path::new("/"), MsFlags::MS_REC | MsFlags::MS_SLAVE)
}

/// Sets the propagation of a mount (man 7 mount_namespaces, "SHARED SUBTREES").
fn set_propagation(path: &Path, how: MsFlags) -> nix::Result<()> {
    let none = None::<&str>;
    mount(none, path, none, how, none)
}

/// A directory inside a private directory that stays visible.
pub struct KeptMount {
    path: PathBuf,
    mount: OwnedFd,
}

impl KeptMount {
    /// The directory `path`, opened as `dir` by a process that may access it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open(path: PathBuf, dir: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE | libc::O_CLOEXEC;
        let flags = flags.cast_unsigned() | OPEN_TREE_CLONE;
        // SAFETY: passes an open descriptor and a null-terminated text; no memory is written.
        let fd =
            unsafe { libc::syscall(libc::SYS_open_tree, dir.as_raw_fd(), c"".as_ptr(), flags) };
        let fd = i32::try_from(nix::errno::Errno::result(fd)?).map_err(io::Error::other)?;
        // SAFETY: the kernel just made this descriptor for us.
        Ok(Self { path, mount: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Mounts it at its own path, below the private directory `above`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn mount_below(&self, above: &Path) -> io::Result<()> {
        let mut way = above.to_owned();
        for part in self.path.strip_prefix(above).map_err(io::Error::other)? {
            way.push(part);
            make_dir(&way, WAY_MODE)?;
        }
        let path = CString::new(self.path.as_os_str().as_bytes())?;
        let (from, none) = (self.mount.as_raw_fd(), c"".as_ptr());
        let (to, flags) = (libc::AT_FDCWD, MOVE_MOUNT_F_EMPTY_PATH);
        // SAFETY: passes an open descriptor and null-terminated texts; no memory is written.
        let moved =
            unsafe { libc::syscall(libc::SYS_move_mount, from, none, to, path.as_ptr(), flags) };
        nix::errno::Errno::result(moved)?;
        // Mounts below it stay the machine's, whose changes propagate here.
        Ok(set_propagation(&self.path, MsFlags::MS_REC | MsFlags::MS_SLAVE)?)
    }
}

/// Makes the directories private for this process and its children, and also shared memory and
/// message queues, where the kernel allows it. `kept` stays visible, as does the step's own
/// directory with the script. A tmpfs holds at most `memory`. Only in a single-threaded process.
///
/// # Errors
/// When the kernel refuses; nothing may be started then.
pub fn enter(
    dirs: &[PathBuf],
    step: &StepDir,
    memory: Option<Bytes>,
    kept: Vec<KeptMount>,
    needs_mounts: bool,
) -> io::Result<Entered> {
    let ipc = ipc::enter().map_err(|error| {
        io::Error::new(error.kind(), format!("failed to make an IPC namespace: {error}"))
    })?;
    let shows_queues = ipc.is_some() && ipc::is_mqueue_mounted();
    let mut entered = Entered { mounts: Vec::new(), ipc };
    if !dirs.is_empty() {
        enter_dirs(dirs, step, memory, kept)?;
        entered.mounts = dirs.to_vec();
    } else if needs_mounts || shows_queues {
        unshare_mounts()?;
    }
    if shows_queues {
        ipc::mount_queues()?;
        entered.add(Path::new(ipc::QUEUES));
    }
    Ok(entered)
}

fn enter_dirs(
    dirs: &[PathBuf],
    step: &StepDir,
    memory: Option<Bytes>,
    mut kept: Vec<KeptMount>,
) -> io::Result<()> {
    let own = fs::canonicalize(step.path())?;
    if is_below(&own, dirs) {
        kept.push(KeptMount::open(own.clone(), File::open(&own)?.as_fd())?);
    }
    // Parents before what lies below them.
    kept.sort_by_key(|kept| kept.path.components().count());
    DirBuilder::new().mode(0o700).create(step.private_dir())?;
    let replacements: Vec<Replacement> =
        dirs.iter().map(|dir| Replacement::build(dir, step)).collect::<Result<_, _>>()?;
    unshare_mounts()?;
    replacements.iter().try_for_each(|replacement| replacement.mount(memory))?;
    for kept in kept {
        if let Some(above) = dirs.iter().find(|dir| kept.path.starts_with(dir)) {
            kept.mount_below(above)?;
        }
    }
    Ok(())
}

/// The private mounts and the IPC namespace that this process has entered.
pub struct Entered {
    mounts: Vec<PathBuf>,
    ipc: Option<ipc::Entered>,
}

impl Entered {
    /// Adds a mount, which is unmounted before the earlier ones.
    pub fn add(&mut self, mount: &Path) {
        self.mounts.insert(0, mount.to_owned());
    }

    /// Leaves the mounts and the namespace, which end with the last process in them.
    pub fn leave(&mut self) {
        for dir in self.mounts.drain(..) {
            // They end with this process in any case.
            let _ = umount2(&dir, MntFlags::MNT_DETACH);
        }
        // So does the namespace.
        let _ = self.ipc.take().map(|ipc| ipc.leave());
    }
}

/// The replacement of a private directory.
enum Replacement<'a> {
    /// A tmpfs, charged to the job's memory.
    Memory(&'a Path),
    /// A directory in the spool.
    Disk(&'a Path, OwnedFd),
}

impl<'a> Replacement<'a> {
    /// Opens it while the spool is visible: the spool may lie in a private directory.
    fn build(dir: &'a Path, step: &StepDir) -> io::Result<Self> {
        if statfs(dir)?.filesystem_type() == TMPFS_MAGIC {
            return Ok(Self::Memory(dir));
        }
        let name = dir.to_string_lossy().replace('/', "%");
        let replacement = step.private_dir().join(name);
        make_dir(&replacement, MODE)?;
        let kept = KeptMount::open(dir.to_owned(), File::open(&replacement)?.as_fd())?;
        Ok(Self::Disk(dir, kept.mount))
    }

    fn mount(&self, memory: Option<Bytes>) -> io::Result<()> {
        let none = None::<&str>;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        match self {
            Self::Memory(dir) => {
                let size = memory.map(|memory| format!(",size={}", memory.0)).unwrap_or_default();
                let options = format!("mode={MODE:o}{size}");
                mount(Some("kant"), *dir, Some("tmpfs"), flags, Some(options.as_str()))?;
            }
            Self::Disk(dir, replacement) => {
                let moved = KeptMount { path: (*dir).to_owned(), mount: replacement.try_clone()? };
                moved.mount_below(dir)?;
                // A bind mount of the spool: mounts below it must not propagate there.
                set_propagation(dir, MsFlags::MS_PRIVATE)?;
                mount(none, *dir, none, flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND, none)?;
            }
        }
        Ok(())
    }
}

/// Makes a directory with this mode, whatever the umask.
fn make_dir(dir: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(dir) {
        Ok(()) => fs::set_permissions(dir, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes the files of a step's private directories and its container.
///
/// # Errors
/// When something cannot be removed.
pub fn remove(step: &StepDir) -> io::Result<()> {
    [step.private_dir(), step.container_dir()].iter().try_for_each(|dir| removal::remove(dir))
}
