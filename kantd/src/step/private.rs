//! Directories that a step has for itself, like /tmp and /dev/shm: other jobs' files are not in
//! them, and they are gone with the step. Made as a mount namespace (man 7 mount_namespaces) that
//! the supervisor enters before it starts the tasks. Never changes what the rest of the machine
//! sees.
//!
//! Output files are opened before, so that they are where the user can find them; and a working
//! directory inside of such a directory stays where it is, seen through a mount.

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

/// As /tmp is everywhere: all may write, nobody may remove what is another's.
const MODE: u32 = 0o1777;

/// Of directories on the way to something that stays visible.
const WAY_MODE: u32 = 0o755;

/// linux/mount.h, `OPEN_TREE_CLONE`: a mount of its own, attached nowhere yet.
const OPEN_TREE_CLONE: libc::c_uint = 1;

/// linux/mount.h, `MOVE_MOUNT_F_EMPTY_PATH`: what moves is the descriptor itself.
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;

/// The directories that can be private here, as the kernel names them; a sentence for each that
/// cannot. Tries it on a thread that ends afterwards.
pub fn usable(wanted: &[PathBuf], missing: &mut Vec<String>) -> Vec<PathBuf> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let tried = std::thread::spawn(leave_the_machines_mounts).join();
    if let Ok(Err(error)) = tried {
        let all: Vec<String> = wanted.iter().map(|dir| dir.display().to_string()).collect();
        missing.push(format!("jobs share {}: no mount namespace: {error}", all.join(" and ")));
        return Vec::new();
    }
    let mut found = Vec::new();
    for dir in wanted {
        match fs::canonicalize(dir) {
            Ok(path) if path.is_dir() => found.push(path),
            Ok(_) => missing.push(format!("jobs share {}: it is no directory", dir.display())),
            Err(error) => missing.push(format!("jobs share {}: {error}", dir.display())),
        }
    }
    found
}

/// Is `path` inside of one of the directories?
pub fn is_below(path: &Path, dirs: &[PathBuf]) -> bool {
    dirs.iter().any(|dir| path != dir && path.starts_with(dir))
}

/// The calling thread gets mounts of its own, which follow the machine's, but not the other way.
fn leave_the_machines_mounts() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    share_as(Path::new("/"), MsFlags::MS_REC | MsFlags::MS_SLAVE)
}

/// Who hears of mounts in a mount (man 7 mount_namespaces, "SHARED SUBTREES").
fn share_as(path: &Path, how: MsFlags) -> nix::Result<()> {
    let none = None::<&str>;
    mount(none, path, none, how, none)
}

/// Something inside of a private directory that stays visible.
pub struct Kept {
    path: PathBuf,
    mount: OwnedFd,
}

impl Kept {
    /// The directory `path`, which is open as `dir`: by whoever may look at it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open(path: PathBuf, dir: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE | libc::O_CLOEXEC;
        let flags = flags.cast_unsigned() | OPEN_TREE_CLONE;
        // SAFETY: an open descriptor and a null-ended text go in; no memory of ours is written.
        let fd =
            unsafe { libc::syscall(libc::SYS_open_tree, dir.as_raw_fd(), c"".as_ptr(), flags) };
        let fd = i32::try_from(nix::errno::Errno::result(fd)?).map_err(io::Error::other)?;
        // SAFETY: the kernel just made this descriptor for us.
        Ok(Self { path, mount: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Puts it where it belongs, in the directory above it.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn place(&self, above: &Path) -> io::Result<()> {
        let mut way = above.to_owned();
        for part in self.path.strip_prefix(above).map_err(io::Error::other)? {
            way.push(part);
            make(&way, WAY_MODE)?;
        }
        let path = CString::new(self.path.as_os_str().as_bytes())?;
        let (from, none) = (self.mount.as_raw_fd(), c"".as_ptr());
        let (to, flags) = (libc::AT_FDCWD, MOVE_MOUNT_F_EMPTY_PATH);
        // SAFETY: an open descriptor and null-ended texts go in; no memory of ours is written.
        let moved =
            unsafe { libc::syscall(libc::SYS_move_mount, from, none, to, path.as_ptr(), flags) };
        nix::errno::Errno::result(moved)?;
        // What is mounted below it is still the machine's, and what the machine does there shows.
        Ok(share_as(&self.path, MsFlags::MS_REC | MsFlags::MS_SLAVE)?)
    }
}

/// Makes the directories private for this process and its children, and with them its shared memory
/// and message queues, where the kernel lets it. `kept` stays visible, and so
/// does the step's own directory, which holds the script. A tmpfs holds at most `memory`.
/// Only in a process of one thread.
///
/// # Errors
/// When the kernel refuses; nothing should be started then.
pub fn enter(
    dirs: &[PathBuf],
    step: &StepDir,
    memory: Option<Bytes>,
    kept: Vec<Kept>,
    needs_mounts: bool,
) -> io::Result<Entered> {
    let ipc = ipc::enter().map_err(|error| {
        io::Error::new(error.kind(), format!("shared memory of its own: {error}"))
    })?;
    let shows_queues = ipc.is_some() && ipc::shows_queues();
    let mut entered = Entered { mounts: Vec::new(), ipc };
    if !dirs.is_empty() {
        enter_dirs(dirs, step, memory, kept)?;
        entered.mounts = dirs.to_vec();
    } else if needs_mounts || shows_queues {
        leave_the_machines_mounts()?;
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
    mut kept: Vec<Kept>,
) -> io::Result<()> {
    let own = fs::canonicalize(step.path())?;
    if is_below(&own, dirs) {
        kept.push(Kept::open(own.clone(), File::open(&own)?.as_fd())?);
    }
    // What lies above others goes first.
    kept.sort_by_key(|kept| kept.path.components().count());
    DirBuilder::new().mode(0o700).create(step.private())?;
    let rooms: Vec<Room> =
        dirs.iter().map(|dir| Room::build(dir, step)).collect::<Result<_, _>>()?;
    leave_the_machines_mounts()?;
    rooms.iter().try_for_each(|room| room.open(memory))?;
    for kept in kept {
        if let Some(above) = dirs.iter().find(|dir| kept.path.starts_with(dir)) {
            kept.place(above)?;
        }
    }
    Ok(())
}

/// Proof that this process has left the machine's mounts, and its shared memory where it may.
pub struct Entered {
    mounts: Vec<PathBuf>,
    ipc: Option<ipc::Entered>,
}

impl Entered {
    /// Something else that is to be mounted, and let go of before the directories if it was.
    pub fn add(&mut self, mount: &Path) {
        self.mounts.insert(0, mount.to_owned());
    }

    /// Leaves all of it, which goes with the last process inside.
    pub fn leave(&mut self) {
        for dir in self.mounts.drain(..) {
            // They go with this process anyhow.
            let _ = umount2(&dir, MntFlags::MNT_DETACH);
        }
        // So does that.
        let _ = self.ipc.take().map(|ipc| ipc.leave());
    }
}

/// What takes the place of a directory.
enum Room<'a> {
    /// Memory of the job's.
    Memory(&'a Path),
    /// A directory in the spool.
    Disk(&'a Path, OwnedFd),
}

impl<'a> Room<'a> {
    /// Opened while the spool is in sight: it may lie in what becomes private.
    fn build(dir: &'a Path, step: &StepDir) -> io::Result<Self> {
        if statfs(dir)?.filesystem_type() == TMPFS_MAGIC {
            return Ok(Self::Memory(dir));
        }
        let name = dir.to_string_lossy().replace('/', "%");
        let room = step.private().join(name);
        make(&room, MODE)?;
        let kept = Kept::open(dir.to_owned(), File::open(&room)?.as_fd())?;
        Ok(Self::Disk(dir, kept.mount))
    }

    fn open(&self, memory: Option<Bytes>) -> io::Result<()> {
        let none = None::<&str>;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        match self {
            Self::Memory(dir) => {
                let size = memory.map(|memory| format!(",size={}", memory.0)).unwrap_or_default();
                let options = format!("mode={MODE:o}{size}");
                mount(Some("kant"), *dir, Some("tmpfs"), flags, Some(options.as_str()))?;
            }
            Self::Disk(dir, room) => {
                let moved = Kept { path: (*dir).to_owned(), mount: room.try_clone()? };
                moved.place(dir)?;
                // A mount of the spool's file system: what is placed in it must not show there.
                share_as(dir, MsFlags::MS_PRIVATE)?;
                mount(none, *dir, none, flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND, none)?;
            }
        }
        Ok(())
    }
}

/// Whatever the umask says.
fn make(dir: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(dir) {
        Ok(()) => fs::set_permissions(dir, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes what a step left in its private directories and its container.
///
/// # Errors
/// When something cannot be removed.
pub fn remove(step: &StepDir) -> io::Result<()> {
    [step.private(), step.container()].iter().try_for_each(|dir| removal::remove(dir))
}
