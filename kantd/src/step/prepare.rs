//! Looking the user up, checking the working directory and opening the job's files, as the user:
//! in a child of the supervisor, because home directories on dead file servers hang whoever asks
//! for them, and the supervisor must stay able to stop the job. The user cannot signal it.

mod open;
mod patience;

use super::account::{Account, AccountError};
use super::container::{self, Image};
use super::courier::{self, Parcel};
use super::fault::LaunchFault;
use super::files::FilePlan;
use super::order::StepOrder;
use super::private;
use crate::cgroup::Handle;
use net::OwnerRefusal;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::stat::{Mode, umask};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, ForkResult, Pid, chdir, faccessat, fork};
use patience::Patience;
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What the child reports.
#[derive(Serialize, Deserialize)]
enum Report {
    /// First of all, while the child is still ours and not the user's: groups are a matter of
    /// trust.
    Account(Account),
    /// One for each file of the plan, in its order, with the file.
    Opened,
    /// What a container brings, with its root file system.
    Container(Image),
    /// The working directory, with it, if it lies in one that the step has for itself.
    WorkDir(PathBuf),
    Done,
    Failed(LaunchFault),
}

/// All that stands when a step is ready.
#[derive(Debug)]
pub struct Prepared {
    /// Whom it runs as.
    pub account: Account,
    /// The files of the plan, in its order.
    pub files: Vec<OwnedFd>,
    /// What its container is, if it asks for one, and the root file system of that.
    pub image: Option<(Image, OwnedFd)>,
    /// The working directory and where it is, if it lies in a private directory.
    pub work_dir: Option<(PathBuf, OwnedFd)>,
}

/// Why there is no report.
const GONE: &str = "failed to prepare the job: the process that opens its files was killed";

/// A preparation on its way.
pub struct Preparation {
    pid: Pid,
    child: Option<Handle>,
    end: OwnedFd,
    account: Option<Account>,
    files: Vec<OwnedFd>,
    image: Option<(Image, OwnedFd)>,
    work_dir: Option<(PathBuf, OwnedFd)>,
}

impl Preparation {
    /// Begins to prepare.
    ///
    /// # Errors
    /// When no child could be made.
    pub fn begin(order: &StepOrder, plan: &FilePlan, script: &Path) -> nix::Result<Self> {
        let (ours, theirs) = courier::pair()?;
        // SAFETY: the supervisor has one thread, so the child may do anything.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => {
                let (pid, child, files) = (child, Handle::of(child), Vec::new());
                let (account, image, work_dir) = (None, None, None);
                Ok(Self { pid, child, end: ours, account, files, image, work_dir })
            }
            ForkResult::Child => {
                drop(ours);
                close_all_but(&theirs);
                let report = match prepare(order, plan, script, theirs.as_fd()) {
                    Ok(()) => Report::Done,
                    Err(fault) => Report::Failed(fault),
                };
                send(theirs.as_fd(), &report, None);
                // SAFETY: ends this child only, without running the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// The child: it is the caller's to reap.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// Readable when there is something to [`receive`](Self::receive).
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Takes what has arrived; when the last message has, what stands now or why it does not.
    pub fn receive(&mut self) -> Option<Result<Prepared, LaunchFault>> {
        loop {
            let Parcel { message, file } = match courier::receive(self.end.as_fd()) {
                Err(nix::Error::EAGAIN | nix::Error::EINTR) => return None,
                Err(_) => Parcel { message: Vec::new(), file: None },
                Ok(parcel) => parcel,
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
                    let Some(account) = self.account.take() else { return Some(Err(self.gone())) };
                    return Some(Ok(Prepared { account, files, image, work_dir }));
                }
                Ok(Report::Failed(fault)) => return Some(Err(fault)),
                Err(_) => return Some(Err(self.gone())),
            }
        }
    }

    /// Killed: while it looked the user up by the node's libraries, else over the job's own files.
    fn gone(&self) -> LaunchFault {
        match self.account {
            None => LaunchFault::of_node(GONE),
            Some(_) => LaunchFault::of_job(GONE),
        }
    }
}

/// Whoever no longer waits for it, no longer wants it.
impl Drop for Preparation {
    fn drop(&mut self) {
        if let Some(child) = &self.child {
            child.signal(Signal::SIGKILL);
        }
    }
}

/// In the child: lets go of the supervisor's files, above all of its lock, which would outlive it
/// in a child that hangs.
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

/// The messages are far smaller than a socket's buffer; if the parent is gone, so is the need.
fn send(end: BorrowedFd<'_>, report: &Report, file: Option<BorrowedFd<'_>>) {
    if let Ok(message) = serde_json::to_vec(report) {
        let _ = courier::send(end, &message, file);
    }
}

fn prepare(
    order: &StepOrder,
    plan: &FilePlan,
    script: &Path,
    end: BorrowedFd<'_>,
) -> Result<(), LaunchFault> {
    act_as_user(order, end)?;
    // An open that hangs must not outlive the supervisor.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| {
        LaunchFault::unclear(format!("failed to stay with the supervisor: {error}"))
    })?;
    look_at_container(order, end)?;
    if plan.tasks.is_empty() {
        offer_work_dir(order, end);
        return Ok(());
    }
    umask(Mode::from_bits_truncate(order.launch.umask));
    let work_dir = &order.launch.work_dir;
    chdir(work_dir.as_str()).map_err(|error| {
        LaunchFault::of_job(format!(
            "failed to enter working directory {work_dir} as user {} on node {}: {error}; make it \
             there, or submit with another --chdir",
            order.user(),
            order.node
        ))
    })?;
    check_script(order, script)?;
    tell_hidden(order, end);
    let mut patience = Patience::new();
    for opening in &plan.openings {
        let file = open::open_file(opening, &mut patience)
            .map_err(|error| open::explain(order, opening, error))?;
        send(end, &Report::Opened, Some(file.as_fd()));
    }
    Ok(())
}

/// Can the user run it? The file is the user's, and its mode may be another at each look: only the
/// directory it is in, which is root's, says that the node is at fault.
fn check_script(order: &StepOrder, script: &Path) -> Result<(), LaunchFault> {
    let may_run = |path| faccessat(AT_FDCWD, path, AccessFlags::X_OK, AtFlags::AT_EACCESS);
    let Err(error) = may_run(script) else { return Ok(()) };
    let (shown, user, node) = (script.display(), order.user(), &order.node);
    let failed = format!("failed to reach the script {shown} as user {user} on node {node}");
    let dir = script.parent().unwrap_or(script);
    let is_noexec = statvfs(dir).is_ok_and(|found| found.flags().contains(FsFlags::ST_NOEXEC));
    if may_run(dir).is_err() || is_noexec {
        return Err(LaunchFault::of_node(format!(
            "{failed}: {error}; the spool directory and all above it must be open to users (mode \
             0711), and not mounted noexec"
        )));
    }
    Err(match error {
        nix::Error::EACCES => LaunchFault::of_job(format!(
            "{failed}: {error}; its mode was changed: submit the job again, and let the file be"
        )),
        error => LaunchFault::unclear(format!("{failed}: {error}")),
    })
}

/// Looks the user up, tells the supervisor, and acts as the user from here on.
fn act_as_user(order: &StepOrder, end: BorrowedFd<'_>) -> Result<(), LaunchFault> {
    let (user, node) = (order.user(), &order.node);
    let refused = |why| {
        let message = format!("failed to run as user {user} on node {node}: {why}");
        match why {
            OwnerRefusal::System { .. } => LaunchFault::of_job(message),
            // The controller knew them: a directory service that is down may say that it does not.
            OwnerRefusal::Unknown { .. } | OwnerRefusal::ForeignGroup { .. } => {
                LaunchFault::unclear(message)
            }
        }
    };
    let failed = format!("failed to look up user {user} in the user database of node {node}");
    let looked_up = Account::look_up(&order.launch.owner, &order.rules.owners);
    let account = looked_up.map_err(|error| match error {
        AccountError::Silent(error) => LaunchFault::of_node(format!("{failed}: {error}")),
        AccountError::Refused(why) => refused(why),
    })?;
    send(end, &Report::Account(account.clone()), None);
    account.act_as_it().map_err(|error| {
        LaunchFault::of_node(format!("failed to become user {user} on node {node}: {error}"))
    })
}

/// Also where no task starts: programs that are started later run in it.
fn look_at_container(order: &StepOrder, end: BorrowedFd<'_>) -> Result<(), LaunchFault> {
    let Some(dir) = &order.launch.container else { return Ok(()) };
    let (image, root) = container::look(Path::new(dir)).map_err(|why| {
        LaunchFault::of_job(format!(
            "failed to open container {dir} as user {} on node {}: {why}; let --container name an \
             OCI bundle or a root file system that is there on every node of the job",
            order.user(),
            order.node
        ))
    })?;
    send(end, &Report::Container(image), Some(root.as_fd()));
    Ok(())
}

/// Where no task starts, what is started later may want the working directory: kept in sight if
/// it would be hidden. One that is not there is no matter; others are not looked at: they may hang.
fn offer_work_dir(order: &StepOrder, end: BorrowedFd<'_>) {
    let work_dir = Path::new(&order.launch.work_dir);
    if private::is_below(work_dir, &order.rules.private_dirs) && chdir(work_dir).is_ok() {
        tell_hidden(order, end);
    }
}

fn tell_hidden(order: &StepOrder, end: BorrowedFd<'_>) {
    if let Some((path, dir)) = hidden_work_dir(order) {
        send(end, &Report::WorkDir(path), Some(dir.as_fd()));
    }
}

/// The directory we are in, by its real name, if the tasks will not see it by themselves.
fn hidden_work_dir(order: &StepOrder) -> Option<(PathBuf, OwnedFd)> {
    let path = std::env::current_dir().ok()?;
    if !private::is_below(&path, &order.rules.private_dirs) {
        return None;
    }
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    Some((path, open(".", flags, Mode::empty()).ok()?))
}
