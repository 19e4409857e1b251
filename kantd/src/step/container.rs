//! A step in a container: its processes see another root file system (`image`, `root`), with the
//! job's directories, the machine's devices and what the node's configuration names in it, and are
//! started by an OCI runtime (`config`).
//!
//! The runtime is started as a task is, by the job's user and in the job's group, and makes a user
//! namespace in which only that user exists: neither the image nor the bundle can make anybody
//! root. Processes and network stay the node's, and what is shared in memory the job's, so that
//! signals, ranks and GPUs that talk to each other work as without a container.
//! Never pulls or unpacks an image.

mod binds;
mod config;
mod image;
mod root;

use super::account::Account;
use super::dir::StepDir;
use super::order::StepOrder;
use super::private::Kept;
use super::removal;
use crate::cgroup;
use crate::container::{Containers, Dialect, Offer};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

pub use binds::Bind;
pub use config::Process;
pub use image::{Image, look};

/// The directory where what the user brought is mounted.
const LOWER: &str = "lower";

/// The longest text of a process's number.
const PID_BYTES_MAX: u64 = 32;

/// Where what the user brought is mounted.
pub fn lower(dir: &StepDir) -> PathBuf {
    dir.container().join(LOWER)
}

/// A container that stands; each process of the step is started in it by a runtime of its own.
pub struct Container {
    offer: Containers,
    /// The root file system.
    root: PathBuf,
    image: Image,
    binds: Vec<Bind>,
    /// Where its runtime's files are.
    base: PathBuf,
    account: Account,
    umask: u32,
    work_dir: String,
}

/// May this step run in a container here? A node's answer for the job, which asks for one.
///
/// # Errors
/// A sentence that says what to do.
pub fn offered(order: &StepOrder) -> Result<(), String> {
    match (&order.launch.container, &order.rules.containers) {
        (None, _) | (Some(_), Offer::Offered(_)) => Ok(()),
        (Some(_), Offer::Refused(why)) => Err(format!(
            "failed to run in a container (--container) on node {}: {why}; install crun there and \
             restart its kantd, or submit with --exclude={}",
            order.node, order.node
        )),
    }
}

impl Container {
    /// Makes it of an image and its root file system, in mounts of our own.
    ///
    /// # Errors
    /// When the kernel refuses, or the node has no runtime.
    pub fn make(
        order: &StepOrder,
        dir: &StepDir,
        account: &Account,
        image: Image,
        lower: &Kept,
    ) -> io::Result<Self> {
        let Offer::Offered(offer) = &order.rules.containers else {
            return Err(io::Error::other("the node has no runtime for it"));
        };
        let base = dir.container();
        make_dir(&base, 0o711)?;
        let state = base.join("state");
        make_dir(&state, 0o700)?;
        chown(&state, Some(account.uid.0), Some(account.gid.0))?;
        let binds = binds::all(order, dir, offer, &image);
        lower.place(&base)?;
        let root = root::make(dir, account, &binds)?;
        if offer.dialect == Dialect::Crun {
            cgroup::hide_unused(&order.cgroup)?;
        }
        let (offer, account) = (offer.clone(), account.clone());
        let (umask, work_dir) = (order.launch.umask, order.launch.work_dir.clone());
        Ok(Self { offer, root, image, binds, base, account, umask, work_dir })
    }

    /// The mounts that go with the container of a step, in the order they are made.
    pub fn mounts(dir: &StepDir) -> [PathBuf; 2] {
        [lower(dir), root::place(dir)]
    }

    /// The process that the runtime of this name says it has started. Theirs is the file: it may
    /// say anything, be a pipe, or lead anywhere.
    pub fn pid_of(&self, name: &str) -> Option<Pid> {
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.pid_file(name));
        let mut text = String::new();
        file.ok()?.take(PID_BYTES_MAX).read_to_string(&mut text).ok()?;
        text.trim().parse().ok().map(Pid::from_raw)
    }

    fn pid_file(&self, name: &str) -> PathBuf {
        self.base.join("state").join(format!("{name}.pid"))
    }

    /// Removes what was made for a process that is over.
    pub fn forget(&self, name: &str) {
        // What stays goes with the step.
        let _ = removal::remove(&self.base.join(name));
        let _ = fs::remove_file(self.pid_file(name));
    }

    /// What is started in the place of a program so that it runs in the container, and in which
    /// environment. `name` is this process's alone.
    ///
    /// # Errors
    /// When what the runtime reads cannot be written.
    pub fn wrap(&self, name: &str, process: Process<'_>) -> io::Result<Wrapped> {
        let bundle = self.base.join(name);
        make_dir(&bundle, 0o711)?;
        let file = bundle.join("config.json");
        let text = serde_json::to_vec(&config::of(self, &process))?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o400)
            .open(&file)?
            .write_all(&text)?;
        chown(&file, Some(self.account.uid.0), Some(self.account.gid.0))?;
        let state = self.base.join("state");
        let [root, log] = [&state, &state.join("log")].map(|path| path.display().to_string());
        let mut program = vec![self.offer.runtime.display().to_string()];
        program.extend(["--root", &root, "--log", &log].map(str::to_owned));
        if self.offer.dialect == Dialect::Crun {
            program.push("--cgroup-manager=disabled".to_owned());
        }
        let bundle = bundle.display().to_string();
        let pid_file = self.pid_file(name).display().to_string();
        // All that runs in the step shares its keys.
        let words = ["run", "--no-new-keyring", "--bundle", &bundle, "--pid-file", &pid_file, name];
        program.extend(words.map(str::to_owned));
        let mark = process.variables.get(cgroup::MARK).cloned().unwrap_or_default();
        let environment = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("XDG_RUNTIME_DIR", root),
            (cgroup::MARK, mark),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
        Ok(Wrapped { program, environment })
    }
}

pub struct Wrapped {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// What it finds in its environment.
    pub environment: BTreeMap<String, String>,
}

/// Whatever the umask says.
fn make_dir(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}
