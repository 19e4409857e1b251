//! The IPC namespace of a step (man 7 ipc_namespaces): System V IPC and POSIX message queues (man 7
//! sysvipc, man 7 mq_overview). The step's processes share it, other jobs are not in it, and its
//! objects end with the step. The supervisor makes it and enters it before it starts the tasks.
//! Files in memory (/dev/shm) belong to `private_dirs`.

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::statfs::{FsType, statfs};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Where POSIX message queues are mounted.
pub const QUEUES: &str = "/dev/mqueue";

pub const MQUEUE_MAGIC: FsType = FsType(0x1980_0202);

/// Limits that the operator may have set for the machine and that a new namespace lacks. Maxima
/// come before the defaults that they bound.
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

/// The machine's namespace, which this process has left.
pub struct Entered(File);

impl Entered {
    /// Returns to it; the step's namespace ends with its last process.
    ///
    /// # Errors
    /// The kernel's.
    pub fn leave(&self) -> nix::Result<()> {
        setns(&self.0, CloneFlags::CLONE_NEWIPC)
    }
}

/// Makes a namespace and enters it; `None` if the kernel has none, or refuses one.
///
/// # Errors
/// The kernel's.
pub fn enter() -> io::Result<Option<Entered>> {
    let machines = match File::open("/proc/self/ns/ipc") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let set: Vec<_> = LIMITS.iter().map(|name| (name, fs::read(sysctl_path(name)))).collect();
    match unshare(CloneFlags::CLONE_NEWIPC) {
        Err(Errno::EPERM | Errno::EINVAL | Errno::ENOSYS) => return Ok(None),
        made => made?,
    }
    for (name, value) in set {
        // Without the file or write access, the kernel's defaults apply.
        let _ = value.and_then(|value| fs::write(sysctl_path(name), value));
    }
    Ok(Some(Entered(machines)))
}

fn sysctl_path(limit: &str) -> String {
    format!("/proc/sys/{limit}")
}

/// Whether the machine has message queues mounted.
pub fn is_mqueue_mounted() -> bool {
    statfs(QUEUES).is_ok_and(|found| found.filesystem_type() == MQUEUE_MAGIC)
}

/// Mounts the queues of this namespace over the machine's. Only in a private mount namespace.
///
/// # Errors
/// The kernel's.
pub fn mount_queues() -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("kant"), Path::new(QUEUES), Some("mqueue"), flags, None::<&str>)
}

/// Tries to make a namespace, on a thread that ends afterwards; adds a sentence if that fails.
pub fn check_support(missing: &mut Vec<String>) {
    let tried = std::thread::spawn(|| unshare(CloneFlags::CLONE_NEWIPC)).join();
    if let Ok(Err(error)) = tried {
        let what = "shared memory and message queues";
        missing.push(format!("jobs share and leave behind {what}: no IPC namespace: {error}"));
    }
}
