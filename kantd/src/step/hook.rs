//! The site's own programs before and after a step: prolog and epilog, run as root in a group of
//! their own, with a time limit. All that they start ends with them. Never part of the job: neither
//! its limits nor its user hold for them.

use super::dir::StepDir;
use super::keyring;
use super::order::StepOrder;
use super::task::{exit_words, reset_signals};
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

/// How long one try to kill what a hook left may take.
const TRY: Duration = Duration::from_secs(2);

/// So much of what it says is read, in bytes, and told, in characters.
const SAID_MAX: u64 = 4096;
const LINE_MAX: usize = 200;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookKind {
    /// Before anything of the job is there.
    Prolog,
    /// After everything of it is gone.
    Epilog,
}

impl HookKind {
    pub const ALL: [Self; 2] = [Self::Prolog, Self::Epilog];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Prolog => "prolog",
            Self::Epilog => "epilog",
        }
    }

    /// The group of a step's hook, beside the step's own.
    pub fn group(self, step: &str) -> String {
        format!("{step}-{}", self.word())
    }

    fn program(self, order: &StepOrder) -> Option<&Path> {
        match self {
            Self::Prolog => order.rules.prolog.as_deref(),
            Self::Epilog => order.rules.epilog.as_deref(),
        }
    }
}

pub struct Hook {
    kind: HookKind,
    program: PathBuf,
    said: PathBuf,
    group: Box<dyn Cgroup>,
    pid: Pid,
    limit: Duration,
    deadline: Instant,
    exit: Option<ExitStatus>,
}

/// What became of it so far.
pub enum HookState {
    /// It runs, and may.
    Runs,
    /// It exited with 0.
    Fine,
    /// A sentence that says how it did not.
    Failed(String),
}

impl Hook {
    /// Starts one; `None` if the node has none of this kind.
    ///
    /// # Errors
    /// A sentence, when it cannot be started.
    pub fn start(kind: HookKind, order: &StepOrder, dir: &StepDir) -> Result<Option<Self>, String> {
        let Some(program) = kind.program(order) else { return Ok(None) };
        let failed = |error: &dyn std::fmt::Display| {
            format!("failed to run the {} {}: {error}", kind.word(), program.display())
        };
        // Root runs it: not if it was opened to others since kantd looked at its start.
        crate::trust::check_program(kind.word(), program).map_err(|error| error.to_string())?;
        let id = kind.group(&order.launch.id.to_string());
        let group = cgroup::open(&order.cgroup, &id, Uid(0), Some(Pid::this()))
            .map_err(|error| failed(&error))?;
        let gates = make(group.as_ref(), order).map_err(|error| failed(&error))?;
        let said = dir.path().join(kind.word());
        let pid = spawn(program, kind, order, &said, gates).map_err(|error| {
            // Nothing is in it. If it stays all the same, that is not what is to be told.
            let _ = cgroup::remove(group.as_ref(), TRY);
            failed(&error)
        })?;
        let limit = Duration::from_millis(order.rules.hook_limit.0);
        let deadline = Instant::now() + limit;
        let program = program.to_owned();
        Ok(Some(Self { kind, program, said, group, pid, limit, deadline, exit: None }))
    }

    /// When it has to be over.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// A child of the supervisor's ended: was it this one?
    pub fn note_exit(&mut self, pid: Pid, exit: ExitStatus) {
        if pid == self.pid {
            self.exit = Some(exit);
        }
    }

    /// What became of it.
    pub fn state(&self) -> HookState {
        let says = match self.exit {
            Some(exit) if exit.is_success() => return HookState::Fine,
            Some(exit) => exit_words(exit),
            None if Instant::now() < self.deadline => return HookState::Runs,
            None => format!("did not end within {:?} and was killed", self.limit),
        };
        let said = match first_line(&self.said) {
            line if line.is_empty() => String::new(),
            line => format!(": {line}"),
        };
        HookState::Failed(format!(
            "the {} {} {says}{said}",
            self.kind.word(),
            self.program.display()
        ))
    }

    /// Kills all of it that is left; its group goes.
    ///
    /// # Errors
    /// When something does not die; worth another try.
    pub fn end(&self) -> Result<(), CgroupError> {
        cgroup::kill_all(self.group.as_ref(), TRY)?;
        cgroup::remove(self.group.as_ref(), TRY)
    }
}

/// The group, without limits: what a hook looks at may be any of the node's GPUs, and of their
/// parts, of which none is denied to a group that is told of none.
fn make(group: &dyn Cgroup, order: &StepOrder) -> Result<Vec<OwnedFd>, CgroupError> {
    let gpu_minors = (0..32).chain(order.gpu_minors.iter().copied()).collect();
    group.create(&Limits { gpu_minors, ..Limits::default() })?;
    group.gates()
}

fn spawn(
    program: &Path,
    kind: HookKind,
    order: &StepOrder,
    said: &Path,
    gates: Vec<OwnedFd>,
) -> io::Result<Pid> {
    let output = match File::create(said) {
        // The step's directory is lost; the epilog of a job whose record is gone runs all the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().write(true).open("/dev/null")?
        }
        Err(error) => {
            let shown = said.display();
            return Err(io::Error::other(format!(
                "failed to make {shown} for its output: {error}"
            )));
        }
        Ok(file) => file,
    };
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(environment(kind, order))
        .current_dir("/")
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output);
    // SAFETY: only calls that are safe between fork and exec, on descriptors that live until then.
    unsafe {
        command.pre_exec(move || {
            for gate in &gates {
                if libc::write(gate.as_raw_fd(), b"0".as_ptr().cast(), 1) != 1 {
                    return Err(io::Error::last_os_error());
                }
            }
            reset_signals();
            libc::setsid();
            // The supervisor's is the job's, and what its user puts there is not for root. Where
            // there are no keyrings there is nothing to leave.
            let _ = keyring::join_new();
            Ok(())
        });
    }
    // Reaped with all other children, by pid.
    let child = command.spawn()?;
    Ok(Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?))
}

/// What a hook knows of the job: its own names and, for scripts that are there already, Slurm's.
fn environment(kind: HookKind, order: &StepOrder) -> Vec<(&'static str, String)> {
    let launch = &order.launch;
    let gpus: Vec<&str> = order.gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
    vec![
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("KANT_HOOK", kind.word().to_owned()),
        ("KANT_JOB_ID", launch.id.key.to_string()),
        ("KANT_JOB_ATTEMPT", launch.id.attempt.to_string()),
        ("KANT_NODE", order.node.to_string()),
        ("KANT_GPUS", gpus.join(",")),
        ("SLURM_JOB_ID", super::environment::number(launch)),
        ("SLURM_JOB_NAME", launch.job_name.clone()),
        ("SLURM_JOB_PARTITION", launch.queue.to_string()),
        ("SLURM_JOB_USER", launch.owner.name.clone()),
        ("SLURM_JOB_UID", launch.owner.uid.to_string()),
        ("SLURM_JOB_GID", launch.owner.gid.to_string()),
        ("SLURM_JOB_WORK_DIR", launch.work_dir.clone()),
        ("SLURMD_NODENAME", order.node.to_string()),
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

/// Where the supervisors of a spool tell kantd that a hook failed: the node is drained for it.
pub fn failures(spool: &Path) -> PathBuf {
    spool.join("hook-failed")
}

/// Tells kantd.
///
/// # Errors
/// When the spool cannot be written.
pub fn tell_failure(dir: &StepDir, says: &str) -> io::Result<()> {
    let spool = dir.path().parent().and_then(Path::parent);
    let file = failures(spool.ok_or_else(|| io::Error::other("the step lies in no spool"))?);
    let new = file.with_extension(std::process::id().to_string());
    fs::write(&new, says)?;
    fs::rename(new, file)
}
