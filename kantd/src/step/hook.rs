//! The site's prolog and epilog, run as root before and after a step in a cgroup of their own, with
//! a time limit. Their processes are killed when they end. The job's limits do not apply to them.

use super::dir::StepDir;
use super::keyring;
use super::spec::StepSpec;
use super::task::{describe_exit, reset_signals};
use crate::cgroup::{self, Cgroup, CgroupError, Limits};
use common::id::Uid;
use common::job::ExitStatus;
use nix::unistd::Pid;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest single attempt to kill a hook's processes.
const TRY: Duration = Duration::from_secs(2);

/// Bytes of a hook's output that are read, and characters that are reported.
const SAID_MAX: u64 = 4096;
const LINE_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookKind {
    /// Runs before the job has anything on the node.
    Prolog,
    /// Runs after everything of the job is gone.
    Epilog,
}

impl HookKind {
    pub const ALL: [Self; 2] = [Self::Prolog, Self::Epilog];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Prolog => "prolog",
            Self::Epilog => "epilog",
        }
    }

    /// The name of the hook's cgroup, next to the step's.
    pub fn cgroup_name(self, step: &str) -> String {
        format!("{step}-{}", self.name())
    }

    fn program(self, spec: &StepSpec) -> Option<&Path> {
        match self {
            Self::Prolog => spec.rules.prolog.as_deref(),
            Self::Epilog => spec.rules.epilog.as_deref(),
        }
    }
}

pub struct Hook {
    kind: HookKind,
    program: PathBuf,
    output_file: PathBuf,
    group: Box<dyn Cgroup>,
    pid: Pid,
    limit: Duration,
    deadline: Instant,
    exit: Option<ExitStatus>,
}

pub enum HookState {
    Running,
    /// It exited with 0.
    Succeeded,
    /// A sentence that says how it failed.
    Failed(String),
}

impl Hook {
    /// Starts a hook; `None` if the node has none of this kind.
    ///
    /// # Errors
    /// A sentence, when it cannot be started.
    pub fn start(kind: HookKind, spec: &StepSpec, dir: &StepDir) -> Result<Option<Self>, String> {
        let Some(program) = kind.program(spec) else { return Ok(None) };
        let failed = |error: &dyn std::fmt::Display| {
            format!("failed to run the {} {}: {error}", kind.name(), program.display())
        };
        // It runs as root: refuse it if others may write it by now.
        crate::trust::check_program(kind.name(), program).map_err(|error| error.to_string())?;
        let id = kind.cgroup_name(&spec.launch.id.to_string());
        let group = cgroup::open(&spec.cgroup, &id, Uid(0), Some(Pid::this()))
            .map_err(|error| failed(&error))?;
        let entry_files = make_cgroup(group.as_ref(), spec).map_err(|error| failed(&error))?;
        let output_file = dir.path().join(kind.name());
        let pid = spawn(program, kind, spec, &output_file, entry_files).map_err(|error| {
            // The cgroup is empty. The original error matters more than a failed removal.
            let _ = cgroup::remove(group.as_ref(), TRY);
            failed(&error)
        })?;
        let limit = Duration::from_millis(spec.rules.hook_limit.0);
        let deadline = Instant::now() + limit;
        let program = program.to_owned();
        Ok(Some(Self { kind, program, output_file, group, pid, limit, deadline, exit: None }))
    }

    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Records the exit of a child of the supervisor, if it is this hook.
    pub fn note_exit(&mut self, pid: Pid, exit: ExitStatus) {
        if pid == self.pid {
            self.exit = Some(exit);
        }
    }

    pub fn state(&self) -> HookState {
        let what = match self.exit {
            Some(exit) if exit.is_success() => return HookState::Succeeded,
            Some(exit) => describe_exit(exit),
            None if Instant::now() < self.deadline => return HookState::Running,
            None => format!("did not end within {:?} and was killed", self.limit),
        };
        let detail = match first_line(&self.output_file) {
            line if line.is_empty() => String::new(),
            line => format!(": {line}"),
        };
        HookState::Failed(format!(
            "the {} {} {what}{detail}",
            self.kind.name(),
            self.program.display()
        ))
    }

    /// Kills the hook's remaining processes and removes its cgroup.
    ///
    /// # Errors
    /// When a process does not die; worth a retry.
    pub fn end(&self) -> Result<(), CgroupError> {
        cgroup::kill_all(self.group.as_ref(), TRY)?;
        cgroup::remove(self.group.as_ref(), TRY)
    }
}

/// Makes the cgroup without limits: a hook may use any GPU of the node. MIG devices are denied only
/// where some are listed.
fn make_cgroup(group: &dyn Cgroup, spec: &StepSpec) -> Result<Vec<OwnedFd>, CgroupError> {
    let gpu_minors = (0..32).chain(spec.gpu_minors.iter().copied()).collect();
    group.create(&Limits { gpu_minors, ..Limits::default() })?;
    group.entry_files()
}

fn spawn(
    program: &Path,
    kind: HookKind,
    spec: &StepSpec,
    output_file: &Path,
    entry_files: Vec<OwnedFd>,
) -> io::Result<Pid> {
    let output = match File::create(output_file) {
        // The step's directory is lost, but its epilog runs all the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().write(true).open("/dev/null")?
        }
        Err(error) => {
            let shown = output_file.display();
            return Err(io::Error::other(format!(
                "failed to make {shown} for its output: {error}"
            )));
        }
        Ok(file) => file,
    };
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(environment(kind, spec))
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output);
    // SAFETY: only async-signal-safe calls between fork and exec, on descriptors that stay open.
    unsafe {
        command.pre_exec(move || {
            for entry_file in &entry_files {
                if libc::write(entry_file.as_raw_fd(), b"0".as_ptr().cast(), 1) != 1 {
                    return Err(io::Error::last_os_error());
                }
            }
            reset_signals();
            libc::setsid();
            // The supervisor's keyring is the job's, and its content is not for root. A kernel
            // without keyrings needs none.
            let _ = keyring::join_new();
            Ok(())
        });
    }
    // Reaped with all other children, by pid.
    let child = command.spawn()?;
    Ok(Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?))
}

/// A hook's environment: kant's variables, and Slurm's for existing scripts.
fn environment(kind: HookKind, spec: &StepSpec) -> Vec<(&'static str, String)> {
    let launch = &spec.launch;
    let gpus: Vec<&str> = spec.gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
    vec![
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("KANT_HOOK", kind.name().to_owned()),
        ("KANT_JOB_ID", launch.id.key.to_string()),
        ("KANT_JOB_ATTEMPT", launch.id.attempt.to_string()),
        ("KANT_NODE", spec.node.to_string()),
        ("KANT_GPUS", gpus.join(",")),
        ("SLURM_JOB_ID", super::environment::job_number(launch)),
        ("SLURM_JOB_NAME", launch.job_name.clone()),
        ("SLURM_JOB_PARTITION", launch.queue.to_string()),
        ("SLURM_JOB_USER", launch.owner.name.clone()),
        ("SLURM_JOB_UID", launch.owner.uid.to_string()),
        ("SLURM_JOB_GID", launch.owner.gid.to_string()),
        ("SLURM_JOB_WORK_DIR", launch.work_dir.clone()),
        ("SLURMD_NODENAME", spec.node.to_string()),
    ]
}

fn first_line(file: &Path) -> String {
    let mut text = Vec::new();
    let file = File::open(file).map(|file| file.take(SAID_MAX));
    if file.and_then(|mut file| file.read_to_end(&mut text)).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(LINE_MAX).collect()
}

/// The file in which supervisors report a failed hook to kantd, which drains the node.
pub fn failure_file(spool: &Path) -> PathBuf {
    spool.join("hook-failed")
}

/// Reports a failed hook to kantd.
///
/// # Errors
/// When the spool cannot be written.
pub fn report_failure(dir: &StepDir, what: &str) -> io::Result<()> {
    let spool = dir.path().parent().and_then(Path::parent);
    let file = failure_file(
        spool.ok_or_else(|| io::Error::other("the step's directory is not in a spool"))?,
    );
    let new = file.with_extension(std::process::id().to_string());
    fs::write(&new, what)?;
    fs::rename(new, file)
}
