//! Preparation of a step as its user: looking the user up, checking the working directory and
//! opening the job's files. Runs in a child of the supervisor, because access to a dead file server
//! hangs, and the supervisor must stay able to stop the job. The user cannot signal the child.

mod open_file;
mod wait_budget;

use super::account::{Account, AccountError};
use super::container::{self, Image};
use super::fd_passing::{self, ReceivedMessage};
use super::files::FilePlan;
use super::launch_fault::LaunchFault;
use super::private_dirs;
use super::spec::StepSpec;
use crate::cgroup::ProcessHandle;
use net::OwnerRefusal;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::stat::{Mode, umask};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, ForkResult, Pid, chdir, faccessat, fork};
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use wait_budget::WaitBudget;

/// A message from the child.
#[derive(Serialize, Deserialize)]
enum Report {
    /// The first message, sent before the child acts as the user: the groups must be trustworthy.
    Account(Account),
    /// Sent with the file, once for each file of the plan, in its order.
    Opened,
    /// Sent with the container's root file system.
    Container(Image),
    /// Sent with the working directory, if it lies in a private directory of the step.
    WorkDir(PathBuf),
    Done,
    Failed(LaunchFault),
}

/// What a step has when it is ready.
#[derive(Debug)]
pub struct Prepared {
    pub account: Account,
    /// The files of the plan, in its order.
    pub files: Vec<OwnedFd>,
    /// The container's image and its root file system, if the job has one.
    pub image: Option<(Image, OwnedFd)>,
    /// The working directory and its path, if it lies in a private directory.
    pub work_dir: Option<(PathBuf, OwnedFd)>,
}

/// The message for a child that was killed.
const GONE: &str = "failed to prepare the job: the process that opens its files was killed";

/// A preparation in progress.
pub struct Preparation {
    pid: Pid,
    child: Option<ProcessHandle>,
    end: OwnedFd,
    account: Option<Account>,
    files: Vec<OwnedFd>,
    image: Option<(Image, OwnedFd)>,
    work_dir: Option<(PathBuf, OwnedFd)>,
}

impl Preparation {
    /// Starts the child.
    ///
    /// # Errors
    /// When the fork fails.
    pub fn begin(spec: &StepSpec, plan: &FilePlan, script: &Path) -> nix::Result<Self> {
        let (ours, theirs) = fd_passing::pair()?;
        // SAFETY: the supervisor has one thread, so the child may do anything.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => {
                let (pid, child, files) = (child, ProcessHandle::open(child), Vec::new());
                let (account, image, work_dir) = (None, None, None);
                Ok(Self { pid, child, end: ours, account, files, image, work_dir })
            }
            ForkResult::Child => {
                drop(ours);
                close_all_but(&theirs);
                let report = match prepare(spec, plan, script, theirs.as_fd()) {
                    Ok(()) => Report::Done,
                    Err(fault) => Report::Failed(fault),
                };
                send(theirs.as_fd(), &report, None);
                // SAFETY: ends this child only, without running the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// The child's pid, which the caller must reap.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// Readable when there is something to [`receive`](Self::receive).
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Reads the messages that have arrived; after the last one returns the result.
    pub fn receive(&mut self) -> Option<Result<Prepared, LaunchFault>> {
        loop {
            let ReceivedMessage { message, file } = match fd_passing::receive(self.end.as_fd()) {
                Err(nix::Error::EAGAIN | nix::Error::EINTR) => return None,
                Err(_) => ReceivedMessage { message: Vec::new(), file: None },
                Ok(received) => received,
            };
            match serde_json::from_slice(&message) {
                Ok(Report::Account(account)) => {
                    self.account.get_or_insert(account);
                }
                Ok(Report::Opened) => self.files.extend(file),
                Ok(Report::Container(image)) => self.image = file.map(|root| (image, root)),
                Ok(Report::WorkDir(path)) => self.work_dir = file.map(|file| (path, file)),
                Ok(Report::Done) => {
                    let (files, work_dir) = (std::mem::take(&mut self.files), self.work_dir.take());
                    let image = self.image.take();
                    let Some(account) = self.account.take() else {
                        return Some(Err(self.killed_child_fault()));
                    };
                    return Some(Ok(Prepared { account, files, image, work_dir }));
                }
                Ok(Report::Failed(fault)) => return Some(Err(fault)),
                Err(_) => return Some(Err(self.killed_child_fault())),
            }
        }
    }

    /// The fault if the child was killed: while it looked the user up, in the node's libraries, the
    /// node's; later, on the job's own files, the job's.
    fn killed_child_fault(&self) -> LaunchFault {
        match self.account {
            None => LaunchFault::of_node(GONE),
            Some(_) => LaunchFault::of_job(GONE),
        }
    }
}

/// A preparation that is dropped is not wanted any more.
impl Drop for Preparation {
    fn drop(&mut self) {
        if let Some(child) = &self.child {
            child.signal(Signal::SIGKILL);
        }
    }
}

/// Closes the supervisor's files in the child, above all its lock, which a hanging child would hold
/// beyond the supervisor's life.
fn close_all_but(kept: &OwnedFd) {
    let Ok(kept) = libc::c_uint::try_from(kept.as_raw_fd()) else { return };
    // SAFETY: the child uses none of these descriptors, and exits without dropping their owners.
    unsafe {
        if kept > 3 {
            libc::close_range(3, kept - 1, 0);
        }
        libc::close_range(kept + 1, libc::c_uint::MAX, 0);
    }
}

/// Sends a message, which is far smaller than the socket's buffer. A parent that is gone needs
/// none.
fn send(end: BorrowedFd<'_>, report: &Report, file: Option<BorrowedFd<'_>>) {
    if let Ok(message) = serde_json::to_vec(report) {
        let _ = fd_passing::send(end, &message, file);
    }
}

fn prepare(
    spec: &StepSpec,
    plan: &FilePlan,
    script: &Path,
    end: BorrowedFd<'_>,
) -> Result<(), LaunchFault> {
    act_as_user(spec, end)?;
    // An open that hangs must not outlive the supervisor.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| {
        LaunchFault::unclear(format!("failed to bind the process to the supervisor: {error}"))
    })?;
    open_container(spec, end)?;
    if plan.tasks.is_empty() {
        send_work_dir_if_hidden(spec, end);
        return Ok(());
    }
    umask(Mode::from_bits_truncate(spec.launch.umask));
    let work_dir = &spec.launch.work_dir;
    chdir(work_dir.as_str()).map_err(|error| {
        LaunchFault::of_job(format!(
            "failed to enter working directory {work_dir} as user {} on node {}: {error}; create \
             it there, or submit with another --chdir",
            spec.user_text(),
            spec.node
        ))
    })?;
    check_script(spec, script)?;
    send_hidden_work_dir(spec, end);
    let mut patience = WaitBudget::new();
    for opening in &plan.openings {
        let file = open_file::open_file(opening, &mut patience)
            .map_err(|error| open_file::explain(spec, opening, error))?;
        send(end, &Report::Opened, Some(file.as_fd()));
    }
    Ok(())
}

/// Checks that the user can run the script. The user owns the file and may change its mode at any
/// time, so that only the directory, which is root's, shows a fault of the node.
fn check_script(spec: &StepSpec, script: &Path) -> Result<(), LaunchFault> {
    let may_run = |path| faccessat(AT_FDCWD, path, AccessFlags::X_OK, AtFlags::AT_EACCESS);
    let Err(error) = may_run(script) else { return Ok(()) };
    let (shown, user, node) = (script.display(), spec.user_text(), &spec.node);
    let failed = format!("failed to reach the script {shown} as user {user} on node {node}");
    let dir = script.parent().unwrap_or(script);
    let is_noexec = statvfs(dir).is_ok_and(|found| found.flags().contains(FsFlags::ST_NOEXEC));
    if may_run(dir).is_err() || is_noexec {
        return Err(LaunchFault::of_node(format!(
            "{failed}: {error}; the spool directory and its parents must be open to users (mode \
             0711), and not mounted noexec"
        )));
    }
    Err(match error {
        nix::Error::EACCES => LaunchFault::of_job(format!(
            "{failed}: {error}; its mode was changed: submit the job again, and do not change \
             the file"
        )),
        error => LaunchFault::unclear(format!("{failed}: {error}")),
    })
}

/// Looks the user up, reports the account to the supervisor, and acts as the user from then on.
fn act_as_user(spec: &StepSpec, end: BorrowedFd<'_>) -> Result<(), LaunchFault> {
    let (user, node) = (spec.user_text(), &spec.node);
    let refused = |why| {
        let message = format!("failed to run as user {user} on node {node}: {why}");
        match why {
            OwnerRefusal::System { .. } => LaunchFault::of_job(message),
            // The controller knows the user: a directory service that is down may say otherwise.
            OwnerRefusal::Unknown { .. } | OwnerRefusal::ForeignGroup { .. } => {
                LaunchFault::unclear(message)
            }
        }
    };
    let failed = format!("failed to look up user {user} in the user database of node {node}");
    let looked_up = Account::look_up(&spec.launch.owner, &spec.rules.owners);
    let account = looked_up.map_err(|error| match error {
        AccountError::Silent(error) => LaunchFault::of_node(format!("{failed}: {error}")),
        AccountError::Refused(why) => refused(why),
    })?;
    send(end, &Report::Account(account.clone()), None);
    account.act_as_user().map_err(|error| {
        LaunchFault::of_node(format!("failed to become user {user} on node {node}: {error}"))
    })
}

/// Opens the job's container, also if no task starts: programs may be started in it later.
fn open_container(spec: &StepSpec, end: BorrowedFd<'_>) -> Result<(), LaunchFault> {
    let Some(dir) = &spec.launch.container else { return Ok(()) };
    let (image, root) = container::open_image(Path::new(dir)).map_err(|why| {
        LaunchFault::of_job(format!(
            "failed to open container {dir} as user {} on node {}: {why}; --container must name an \
             OCI bundle or a root file system that exists on every node of the job",
            spec.user_text(),
            spec.node
        ))
    })?;
    send(end, &Report::Container(image), Some(root.as_fd()));
    Ok(())
}

/// Keeps the working directory visible for programs that are started later, if no task starts. A
/// missing directory is no error, and others are not accessed, because they may hang.
fn send_work_dir_if_hidden(spec: &StepSpec, end: BorrowedFd<'_>) {
    let work_dir = Path::new(&spec.launch.work_dir);
    if private_dirs::is_below(work_dir, &spec.rules.private_dirs) && chdir(work_dir).is_ok() {
        send_hidden_work_dir(spec, end);
    }
}

fn send_hidden_work_dir(spec: &StepSpec, end: BorrowedFd<'_>) {
    if let Some((path, dir)) = hidden_work_dir(spec) {
        send(end, &Report::WorkDir(path), Some(dir.as_fd()));
    }
}

/// The working directory, by its real path, if a private directory hides it from the tasks.
fn hidden_work_dir(spec: &StepSpec) -> Option<(PathBuf, OwnedFd)> {
    let path = std::env::current_dir().ok()?;
    if !private_dirs::is_below(&path, &spec.rules.private_dirs) {
        return None;
    }
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    Some((path, open(".", flags, Mode::empty()).ok()?))
}
