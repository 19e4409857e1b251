//! How a supervisor comes to be: it claims the step, leaves kantd's family, writes its first
//! journal line, and sets the stage: cgroup, script, files.
//! Never does anything to a step that another supervisor has or had.

use super::farewell::Farewell;
use super::guests::Guests;
use super::inside::Inside;
use super::{DiskSums, Stage, Stillness, Supervisor, Verdict, log};
use crate::cgroup::{self, CgroupError};
use crate::clock;
use crate::container::Offer;
use crate::step::container;
use crate::step::control::Control;
use crate::step::dir::StepDir;
use crate::step::fault::LaunchFault;
use crate::step::files::FilePlan;
use crate::step::hook::{self, Hook, HookKind};
use crate::step::journal::{self, Event, Journal};
use crate::step::keyring;
use crate::step::order::StepOrder;
use crate::step::prepare::Preparation;
use crate::step::{boot, daemon, environment, task};
use crate::trust;
use common::wire::node::StepPhase;
use nix::unistd::{Gid, Pid, Uid, chown, geteuid};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// A supervisor that did not come to be. Nothing was done to the step.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The step has or had a supervisor.
    #[error("failed to take on the step in {0}: a supervisor has it, or had it")]
    Taken(String),
    /// Something could not be read or written.
    #[error("failed to {what} of the step in {dir}: {source}")]
    Io { what: &'static str, dir: String, source: io::Error },
    /// The cgroup hierarchies could not be read.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
}

impl BeginError {
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Taken(_) => super::super::EXIT_TAKEN,
            Self::Io { .. } | Self::Cgroup(_) => 1,
        }
    }
}

/// Claims a step and supervises it to its end, in a process of its own; the caller's ends as soon
/// as that stands.
///
/// # Errors
/// [`BeginError`] when there is nothing to supervise.
pub fn begin(dir: &Path) -> Result<(), BeginError> {
    let shown = dir.display().to_string();
    let failed = |what| {
        let dir = shown.clone();
        move |source| BeginError::Io { what, dir, source }
    };
    let dir = StepDir::at(std::path::absolute(dir).map_err(failed("find the directory"))?);
    let lock = dir.try_lock().map_err(failed("lock the directory"))?;
    let lock = lock.ok_or_else(|| BeginError::Taken(shown.clone()))?;
    let order = dir.read_order().map_err(failed("read the order"))?;
    let (mut journal, events) =
        Journal::open(&dir.journal()).map_err(failed("open the journal"))?;
    if !events.is_empty() {
        return Err(BeginError::Taken(shown));
    }
    let boot = boot::boot_id().map_err(failed("read the boot id"))?;

    let standing = daemon::detach().map_err(|e| failed("detach the supervisor")(e.into()))?;
    let signals = daemon::settle().map_err(failed("settle the supervisor"))?;
    let me = Pid::this();
    let owner = order.launch.owner.uid;
    let group = cgroup::open(&order.cgroup, &order.launch.id.to_string(), owner, Some(me))?;
    let control = Control::listen(&dir).map_err(failed("make the control socket"))?;
    let (pid, at, version) = (me.as_raw(), clock::now(), journal::VERSION);
    let preparing = Event::Preparing { pid, boot, at, version };
    // Nothing of the job's runs before the next line, and that one is synced.
    journal.note(&preparing).map_err(failed("write the journal"))?;
    daemon::speak_to_log(&dir).map_err(failed("open the log"))?;
    standing.tell();
    supervise(order, dir, journal, control, signals, group);
    drop::<File>(lock);
    Ok(())
}

fn supervise(
    order: StepOrder,
    dir: StepDir,
    journal: Journal,
    control: Control,
    signals: nix::sys::signalfd::SignalFd,
    group: Box<dyn cgroup::Cgroup>,
) {
    let resized = order.launch.resized;
    let mut supervisor = Supervisor {
        plan: FilePlan::of(&order),
        order,
        dir,
        journal,
        control,
        signals,
        group,
        open_files: task::raise_open_files(),
        phase: StepPhase::Preparing,
        go: false,
        stop: false,
        overuse: None,
        down: false,
        stillness: Stillness::default(),
        disks_before: DiskSums::default(),
        warned: false,
        resized,
        resize_signal: None,
        tasks: Vec::new(),
        failure: None,
        started: None,
        preparer: None,
        hook: None,
        private: None,
        account: None,
        container: None,
        farewell: Farewell::default(),
        guests: Guests::default(),
        inside: Inside::default(),
    };
    let stage = match supervisor.set_up() {
        Ok(stage) => stage,
        Err(fault) => Stage::clean(Verdict::launch_failed(fault)),
    };
    supervisor.run(stage);
}

impl Supervisor {
    /// What needs no user's eyes: permission, cgroup, script, and the site's prolog.
    fn set_up(&mut self) -> Result<Stage, LaunchFault> {
        self.check_owner().map_err(LaunchFault::of_job)?;
        container::offered(&self.order).map_err(LaunchFault::of_job)?;
        self.check_programs()?;
        self.join_keyring()?;
        self.make_place()?;
        let started = Hook::start(HookKind::Prolog, &self.order, &self.dir);
        self.hook = started.map_err(|says| self.hook_failed(says))?;
        match self.hook {
            Some(_) => Ok(Stage::Prolog),
            None => self.prepare(),
        }
    }

    /// What each task runs for the site: not if it was opened to others since kantd looked at its
    /// start.
    fn check_programs(&self) -> Result<(), LaunchFault> {
        let StepOrder { rules, launch, .. } = &self.order;
        let runtime = match &rules.containers {
            Offer::Offered(offer) if launch.container.is_some() => Some(offer.runtime.as_path()),
            _ => None,
        };
        let programs =
            [("task_prolog", rules.task_prolog.as_deref()), ("container_runtime", runtime)];
        for (what, path) in programs {
            let checked = path.map_or(Ok(()), |path| trust::check_program(what, path));
            checked.map_err(|error| LaunchFault::of_node(error.to_string()))?;
        }
        Ok(())
    }

    /// Away from kantd's, before anything of the job's is looked at.
    fn join_keyring(&self) -> Result<(), LaunchFault> {
        match keyring::join_for(&self.order) {
            Err(error) if keyring::are_refused(error) => {
                log(&format!("the job shares the keyring that kantd was started with: {error}"));
                Ok(())
            }
            joined => joined.map_err(|error| {
                let (id, node) = (self.order.launch.id, &self.order.node);
                LaunchFault::unclear(format!(
                    "failed to make a keyring for {id} on node {node}: {error}"
                ))
            }),
        }
    }

    /// A child goes on as the user.
    pub(super) fn prepare(&mut self) -> Result<Stage, LaunchFault> {
        let begun = Preparation::begin(&self.order, &self.plan, &self.dir.script());
        let preparation = begun.map_err(|error| {
            let id = self.order.launch.id;
            LaunchFault::of_node_or_want(&error.into(), format!("failed to prepare {id}: {error}"))
        })?;
        self.preparer = Some(preparation.pid());
        Ok(Stage::Preparing(preparation))
    }

    /// The node is not fit for jobs; kantd drains it.
    pub(super) fn hook_failed(&self, says: String) -> LaunchFault {
        if let Err(error) = hook::tell_failure(&self.dir, &format!("{}: {says}", self.dir_name())) {
            log(&format!("failed to tell kantd that {says}: {error}"));
        }
        LaunchFault::of_node(says)
    }

    fn dir_name(&self) -> String {
        format!("job {}", self.order.launch.id)
    }

    /// The cgroup and the script.
    fn make_place(&self) -> Result<(), LaunchFault> {
        let limits = self.order.limits(self.order.rules.processes_max.or_else(pids_max));
        self.group.create(&limits).map_err(|error| {
            LaunchFault::of_node(format!(
                "failed to confine {} on node {}: {error}",
                self.order.launch.id, self.order.node
            ))
        })?;
        let failed = |path: &Path, error: io::Error| {
            let message = format!("failed to write {}: {error}", path.display());
            LaunchFault::of_node_or_want(&error, message)
        };
        self.write_hosts().map_err(|error| failed(self.dir.path(), error))?;
        if !self.plan.tasks.is_empty() {
            self.write_script().map_err(|error| failed(&self.dir.script(), error))?;
        }
        Ok(())
    }

    /// Never as root by accident; never as anybody else without the right to become them.
    fn check_owner(&self) -> Result<(), String> {
        let (uid, node) = (self.order.launch.owner.uid, &self.order.node);
        if uid.0 == 0 && !self.order.allow_root {
            return Err(format!(
                "root may not submit jobs on node {node}: submit as another user, or set \
                 allow_root_jobs = true in its kantd.toml"
            ));
        }
        let me = geteuid();
        if !me.is_root() && me.as_raw() != uid.0 {
            return Err(format!(
                "failed to run as user {} on node {node}: kantd there is not root but uid {me}, \
                 and can run that user's jobs only",
                self.order.user()
            ));
        }
        Ok(())
    }

    /// For all to read: they name nodes. Whole at any time, and as the job is now.
    pub(super) fn write_hosts(&self) -> io::Result<()> {
        let texts = environment::mpi_hosts(&self.order);
        let size = (self.dir.environment(), environment::of_size(&self.order, self.resized));
        for (path, text) in self.dir.hosts().into_iter().zip(texts).chain([size]) {
            let draft = path.with_extension("new");
            let mut file = File::create(&draft)?;
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.write_all(text.as_bytes())?;
            fs::rename(&draft, &path)?;
        }
        Ok(())
    }

    /// A file the user may read and run, and nobody else.
    fn write_script(&self) -> io::Result<()> {
        let path = self.dir.script();
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o500).open(&path)?;
        file.write_all(self.order.launch.script.as_bytes())?;
        let owner = &self.order.launch.owner;
        if geteuid().is_root() {
            let (uid, gid) = (Uid::from_raw(owner.uid.0), Gid::from_raw(owner.gid.0));
            chown(&path, Some(uid), Some(gid))?;
        }
        Ok(())
    }
}

/// Half of what the machine can hold: a job that forks without end leaves room to log in.
fn pids_max() -> Option<u32> {
    let number =
        |file: &str| -> Option<u32> { std::fs::read_to_string(file).ok()?.trim().parse().ok() };
    let limits = [number("/proc/sys/kernel/pid_max"), number("/proc/sys/kernel/threads-max")];
    let most = limits.into_iter().flatten().min();
    if most.is_none() {
        log("failed to read /proc/sys/kernel/pid_max: the number of processes is not limited");
    }
    most.map(|most| (most / 2).max(1))
}
