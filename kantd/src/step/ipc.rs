//! Shared memory, semaphores and message queues of a step (man 7 sysvipc, man 7 mq_overview): its
//! processes share a namespace of their own (man 7 ipc_namespaces), other jobs' objects are not in
//! it, and it goes with them. Made by the supervisor, which enters it before it starts the tasks.
//! Files in memory (/dev/shm) are `private`'s.

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::statfs::{FsType, statfs};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Where POSIX message queues are seen as files, and can be made as such.
pub const QUEUES: &str = "/dev/mqueue";

pub const MQUEUE_MAGIC: FsType = FsType(0x1980_0202);

/// What the operator may have set for the machine, of which a new namespace knows nothing. The
/// largest size goes before what is given by default.
const LIMITS: [&str; 13] = [
    "kernel/shmmax",
    "kernel/shmall",
    "kernel/shmmni",
    "kernel/shm_rmid_forced",
    "kernel/msgmax",
    "kernel/msgmnb",
    "kernel/msgmni",
    "kernel/sem",
    "fs/mqueue/queues_max",
    "fs/mqueue/msg_max",
    "fs/mqueue/msgsize_max",
    "fs/mqueue/msg_default",
    "fs/mqueue/msgsize_default",
];

/// Proof that this process has left the machine's namespace, and the way back.
pub struct Entered(File);

impl Entered {
    /// Goes back, and with the last process inside all in it goes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn leave(&self) -> nix::Result<()> {
        setns(&self.0, CloneFlags::CLONE_NEWIPC)
    }
}

/// Makes a namespace and enters it; `None`: there are none here, or none for us.
///
/// # Errors
/// The kernel's.
pub fn enter() -> io::Result<Option<Entered>> {
    let machines = match File::open("/proc/self/ns/ipc") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let set: Vec<_> = LIMITS.iter().map(|name| (name, fs::read(path_of(name)))).collect();
    match unshare(CloneFlags::CLONE_NEWIPC) {
        Err(Errno::EPERM | Errno::EINVAL | Errno::ENOSYS) => return Ok(None),
        made => made?,
    }
    for (name, value) in set {
        // A kernel without one, or a /proc that cannot be written: the kernel's own hold.
        let _ = value.and_then(|value| fs::write(path_of(name), value));
    }
    Ok(Some(Entered(machines)))
}

fn path_of(limit: &str) -> String {
    format!("/proc/sys/{limit}")
}

/// Can a process of the machine see message queues as files?
pub fn shows_queues() -> bool {
    statfs(QUEUES).is_ok_and(|found| found.filesystem_type() == MQUEUE_MAGIC)
}

/// Puts the queues of this process's namespace where it sees the machine's, in mounts of its own.
///
/// # Errors
/// The kernel's.
pub fn mount_queues() -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("kant"), Path::new(QUEUES), Some("mqueue"), flags, None::<&str>)
}

/// Tries it on a thread that ends afterwards; a sentence if it cannot be.
pub fn try_out(missing: &mut Vec<String>) {
    let tried = std::thread::spawn(|| unshare(CloneFlags::CLONE_NEWIPC)).join();
    if let Ok(Err(error)) = tried {
        let what = "shared memory and message queues";
        missing.push(format!("jobs share and leave behind {what}: no IPC namespace: {error}"));
    }
}
