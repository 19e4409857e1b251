//! A step in a container: its processes see another root file system (`image`, `root`) with the
//! job's directories, the machine's devices and the configured mounts in it, and are started by an
//! OCI runtime (`oci_config`).
//!
//! The runtime is started like a task, as the job's user and in the job's cgroup, and creates a
//! user namespace that has only that user: neither the image nor the bundle can give root rights.
//! Process ids and network stay the node's, and shared memory the job's, so that signals, ranks and
//! communication between GPUs work as without a container.

mod binds;
mod image;
mod oci_config;
mod root;

use super::account::Account;
use super::dir::StepDir;
use super::private_dirs::KeptMount;
use super::removal;
use super::spec::StepSpec;
use crate::cgroup;
use crate::container_support::{Containers, Dialect, Offer};
use common::policy::Sandbox;
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

pub use binds::Bind;
pub use image::{Image, open_image};
pub use oci_config::Process;

/// Mount point of the image that the user brought.
const LOWER: &str = "lower";

const PID_BYTES_MAX: u64 = 32;

pub fn lower_dir(dir: &StepDir) -> PathBuf {
    dir.container_dir().join(LOWER)
}

/// A container's file system; each process of the step is started in it by its own runtime.
pub struct Container {
    offer: Containers,
    root: PathBuf,
    image: Image,
    binds: Vec<Bind>,
    /// Directory of the runtime's files.
    base: PathBuf,
    account: Account,
    umask: u32,
    work_dir: String,
    sandbox: Sandbox,
}

/// Checks that this node can run the step's container, if it asks for one.
///
/// # Errors
/// A sentence that names the remedy.
pub fn check_support(spec: &StepSpec) -> Result<(), String> {
    match (&spec.launch.container, &spec.rules.containers) {
        (None, _) | (Some(_), Offer::Offered(_)) => Ok(()),
        (Some(_), Offer::Refused(why)) => Err(format!(
            "failed to run in a container (--container) on node {}: {why}; install crun there and \
             restart its kantd, or submit with --exclude={}",
            spec.node, spec.node
        )),
    }
}

impl Container {
    /// Builds the container from an image and its root file system, in the current mount namespace.
    ///
    /// # Errors
    /// When the kernel refuses, or the node has no runtime.
    pub fn make(
        spec: &StepSpec,
        dir: &StepDir,
        account: &Account,
        image: Image,
        lower: &KeptMount,
    ) -> io::Result<Self> {
        let Offer::Offered(offer) = &spec.rules.containers else {
            return Err(io::Error::other("the node has no container runtime"));
        };
        let base = dir.container_dir();
        make_dir(&base, 0o711)?;
        let state = base.join("state");
        make_dir(&state, 0o700)?;
        chown(&state, Some(account.uid.0), Some(account.gid.0))?;
        let binds = binds::container_binds(spec, dir, offer, &image);
        lower.mount_below(&base)?;
        let root = root::mount_root(dir, account, &binds)?;
        if offer.dialect == Dialect::Crun {
            cgroup::unmount_unused_hierarchy(&spec.cgroup)?;
        }
        let (offer, account) = (offer.clone(), account.clone());
        let (umask, work_dir) = (spec.launch.umask, spec.launch.work_dir.clone());
        let sandbox = spec.launch.sandbox;
        Ok(Self { offer, root, image, binds, base, account, umask, work_dir, sandbox })
    }

    /// The mounts of a step's container, in mount order.
    pub fn mounts(dir: &StepDir) -> [PathBuf; 2] {
        [lower_dir(dir), root::mount_point(dir)]
    }

    /// The process that the runtime of this name has started. The file belongs to the user: it may
    /// have any content, or be a pipe or a link.
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

    /// Removes the files of a process that has ended.
    pub fn forget(&self, name: &str) {
        // Leftovers are removed with the step.
        let _ = removal::remove(&self.base.join(name));
        let _ = fs::remove_file(self.pid_file(name));
    }

    /// The command that runs a program in the container, and its environment. `name` is unique to
    /// this process.
    ///
    /// # Errors
    /// When the runtime's configuration cannot be written.
    pub fn wrap(&self, name: &str, process: Process<'_>) -> io::Result<Wrapped> {
        let bundle = self.base.join(name);
        make_dir(&bundle, 0o711)?;
        let file = bundle.join("config.json");
        let text = serde_json::to_vec(&oci_config::build(self, &process))?;
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
        // All processes of the step share its keyring.
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
    pub program: Vec<String>,
    pub environment: BTreeMap<String, String>,
}

/// Makes a directory with this mode, whatever the umask.
fn make_dir(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}
