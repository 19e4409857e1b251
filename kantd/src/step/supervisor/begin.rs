//! Start of a supervisor: it claims the step, leaves kantd's process tree, writes its first journal
//! entry, and sets up cgroup, script and files. A step with an earlier supervisor is left alone.

use super::container_processes::ContainerProcesses;
use super::exit_notice::ExitNotice;
use super::fence::Fence;
use super::programs::Programs;
use super::{DiskSums, EndReason, Freezer, Stage, Supervisor, log};
use crate::cgroup::{self, CgroupError};
use crate::clock;
use crate::container_support::Offer;
use crate::step::container;
use crate::step::control::Control;
use crate::step::dir::StepDir;
use crate::step::files::FilePlan;
use crate::step::hook::{self, Hook, HookKind};
use crate::step::journal::{self, Event, Journal};
use crate::step::keyring;
use crate::step::launch_fault::LaunchFault;
use crate::step::prepare::Preparation;
use crate::step::spec::StepSpec;
use crate::step::{boot, detach, environment, task};
use crate::trust;
use common::wire::node::StepPhase;
use nix::unistd::{Gid, Pid, Uid, chown, geteuid};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Instant;

/// A supervisor that could not start. The step is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    #[error("failed to take over the step in {0}: it has, or had, a supervisor")]
    Taken(String),
    #[error("failed to {what} of the step in {dir}: {source}")]
    Io { what: &'static str, dir: String, source: io::Error },
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

/// Claims a step and supervises it to its end, in a new process; the caller's process ends when
/// that one is ready.
///
/// # Errors
/// [`BeginError`] when the step cannot be supervised.
pub fn begin(dir: &Path) -> Result<(), BeginError> {
    let shown = dir.display().to_string();
    let failed = |what| {
        let dir = shown.clone();
        move |source| BeginError::Io { what, dir, source }
    };
    let dir = StepDir::at(std::path::absolute(dir).map_err(failed("find the directory"))?);
    let lock = dir.try_lock().map_err(failed("lock the directory"))?;
    let lock = lock.ok_or_else(|| BeginError::Taken(shown.clone()))?;
    let spec = dir.read_spec().map_err(failed("read the spec"))?;
    let (mut journal, events) =
        Journal::open(&dir.journal_path()).map_err(failed("open the journal"))?;
    if !events.is_empty() {
        return Err(BeginError::Taken(shown));
    }
    let boot = boot::boot_id().map_err(failed("read the boot id"))?;

    let ready = detach::detach().map_err(|e| failed("detach the supervisor")(e.into()))?;
    let signals = detach::set_up_process().map_err(failed("set up the process"))?;
    let me = Pid::this();
    let owner = spec.launch.owner.uid;
    let group = cgroup::open(&spec.cgroup, &spec.launch.id.to_string(), owner, Some(me))?;
    let control = Control::listen(&dir).map_err(failed("make the control socket"))?;
    let (pid, at, version) = (me.as_raw(), clock::now(), journal::VERSION);
    let preparing = Event::Preparing { pid, boot, at, version };
    // Not synced: nothing of the job runs before the next event, which is.
    journal.append_unsynced(&preparing).map_err(failed("write the journal"))?;
    detach::redirect_stderr_to_log(&dir).map_err(failed("open the log"))?;
    ready.send();
    supervise(spec, dir, journal, control, signals, group);
    drop::<File>(lock);
    Ok(())
}

fn supervise(
    spec: StepSpec,
    dir: StepDir,
    journal: Journal,
    control: Control,
    signals: nix::sys::signalfd::SignalFd,
    group: Box<dyn cgroup::Cgroup>,
) {
    let resized = spec.launch.resized;
    let mut supervisor = Supervisor {
        plan: FilePlan::new(&spec),
        spec,
        dir,
        journal,
        control,
        signals,
        group,
        open_files: task::raise_open_files(),
        phase: StepPhase::Preparing,
        go: false,
        stop: false,
        not_live: None,
        overuse: None,
        fence: Fence::new(),
        shutting_down: false,
        freezer: Freezer::default(),
        disks_before: DiskSums::default(),
        warned: false,
        resized,
        resize_signal: None,
        tasks: Vec::new(),
        failure: None,
        begun: Instant::now(),
        started: None,
        preparer: None,
        hook: None,
        private: None,
        account: None,
        container: None,
        exit_notice: ExitNotice::default(),
        programs: Programs::default(),
        container_processes: ContainerProcesses::default(),
    };
    let stage = match supervisor.set_up() {
        Ok(stage) => stage,
        Err(fault) => Stage::begin_cleanup(EndReason::launch_failed(fault)),
    };
    supervisor.run(stage);
}

impl Supervisor {
    /// Sets up everything that does not need the user's rights.
    fn set_up(&mut self) -> Result<Stage, LaunchFault> {
        self.check_owner().map_err(LaunchFault::of_job)?;
        container::check_support(&self.spec).map_err(LaunchFault::of_job)?;
        self.check_programs()?;
        self.join_keyring()?;
        self.make_cgroup_and_files()?;
        let started = Hook::start(HookKind::Prolog, &self.spec, &self.dir);
        self.hook = started.map_err(|says| self.report_hook_failure(says))?;
        match self.hook {
            Some(_) => Ok(Stage::Prolog),
            None => self.prepare(),
        }
    }

    /// Checks the programs that each task runs for the site: others may write them since kantd's
    /// start.
    fn check_programs(&self) -> Result<(), LaunchFault> {
        let StepSpec { rules, launch, .. } = &self.spec;
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

    /// Leaves kantd's keyring before any file of the job is accessed.
    fn join_keyring(&self) -> Result<(), LaunchFault> {
        match keyring::join_for(&self.spec) {
            Err(error) if keyring::is_keyring_refusal(error) => {
                log(&format!("the job shares the keyring that kantd was started with: {error}"));
                Ok(())
            }
            joined => joined.map_err(|error| {
                let (id, node) = (self.spec.launch.id, &self.spec.node);
                LaunchFault::unclear(format!(
                    "failed to make a keyring for {id} on node {node}: {error}"
                ))
            }),
        }
    }

    /// Starts the child that prepares the step as the user.
    pub(super) fn prepare(&mut self) -> Result<Stage, LaunchFault> {
        let begun = Preparation::begin(&self.spec, &self.plan, &self.dir.script_path());
        let preparation = begun.map_err(|error| {
            let id = self.spec.launch.id;
            LaunchFault::of_node_or_exhaustion(
                &error.into(),
                format!("failed to prepare {id}: {error}"),
            )
        })?;
        self.preparer = Some(preparation.pid());
        Ok(Stage::Preparing(preparation))
    }

    /// Reports a failed hook to kantd, which drains the node.
    pub(super) fn report_hook_failure(&self, says: String) -> LaunchFault {
        if let Err(error) =
            hook::report_failure(&self.dir, &format!("{}: {says}", self.job_label()))
        {
            log(&format!("failed to report to kantd that {says}: {error}"));
        }
        LaunchFault::of_node(says)
    }

    fn job_label(&self) -> String {
        format!("job {}", self.spec.launch.id)
    }

    /// Makes the cgroup and writes the script.
    fn make_cgroup_and_files(&self) -> Result<(), LaunchFault> {
        let limits = self.spec.limits(self.spec.rules.processes_max.or_else(pids_max));
        self.group.create(&limits).map_err(|error| {
            LaunchFault::of_node(format!(
                "failed to make the cgroup of {} on node {}: {error}",
                self.spec.launch.id, self.spec.node
            ))
        })?;
        let failed = |path: &Path, error: io::Error| {
            let message = format!("failed to write {}: {error}", path.display());
            LaunchFault::of_node_or_exhaustion(&error, message)
        };
        self.write_hosts().map_err(|error| failed(self.dir.path(), error))?;
        if !self.plan.tasks.is_empty() {
            self.write_script().map_err(|error| failed(&self.dir.script_path(), error))?;
        }
        Ok(())
    }

    /// Checks that the job may run as root, if it would, and that this process can become its user.
    fn check_owner(&self) -> Result<(), String> {
        let (uid, node) = (self.spec.launch.owner.uid, &self.spec.node);
        if uid.0 == 0 && !self.spec.allow_root {
            return Err(format!(
                "root may not submit jobs on node {node}: submit as another user, or set \
                 allow_root_jobs = true in its kantd.toml"
            ));
        }
        let me = geteuid();
        if !me.is_root() && me.as_raw() != uid.0 {
            return Err(format!(
                "failed to run as user {} on node {node}: kantd there runs as uid {me}, not as \
                 root, and can run that user's jobs only",
                self.spec.user_text()
            ));
        }
        Ok(())
    }

    /// Writes the host files and the size file atomically; all users may read them.
    pub(super) fn write_hosts(&self) -> io::Result<()> {
        let texts = environment::mpi_host_files(&self.spec);
        let size =
            (self.dir.environment_path(), environment::size_script(&self.spec, self.resized));
        for (path, text) in self.dir.host_file_paths().into_iter().zip(texts).chain([size]) {
            let draft = path.with_extension("new");
            let mut file = File::create(&draft)?;
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.write_all(text.as_bytes())?;
            fs::rename(&draft, &path)?;
        }
        Ok(())
    }

    /// Writes the script, which only the user may read and run.
    fn write_script(&self) -> io::Result<()> {
        let path = self.dir.script_path();
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o500).open(&path)?;
        file.write_all(self.spec.launch.script.as_bytes())?;
        let owner = &self.spec.launch.owner;
        if geteuid().is_root() {
            let (uid, gid) = (Uid::from_raw(owner.uid.0), Gid::from_raw(owner.gid.0));
            chown(&path, Some(uid), Some(gid))?;
        }
        Ok(())
    }
}

/// Half of what the machine can hold, so that a fork bomb leaves room to log in.
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
