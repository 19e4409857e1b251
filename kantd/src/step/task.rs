//! Start of one process of a job. Everything that allocates happens before the fork; between fork
//! and exec only async-signal-safe calls are made (man 7 signal-safety).

mod child;
mod explain;
mod rlimit;

use super::account::Account;
use super::container::{Container, Process, Wrapped};
use super::dir::StepDir;
use super::environment;
use super::program_spec::ProgramSpec;
use super::sandbox;
use super::spec::{StepSpec, TaskPlace};
use common::id::TaskNumber;
use common::job::ExitStatus;
use common::task_prolog;
use common::time::Time;
use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, Pid, fork, geteuid, pipe2};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, NulError};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use child::reset_signals;
pub use explain::{explain, explain_program};
pub use rlimit::{FileLimit, SoftLimit, raise_open_files};

/// The input of a new process, prepared for use between fork and exec.
pub struct TaskStart {
    /// The script or program; also argv[0].
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    work_dir: CString,
    /// The notice on standard error if the process starts in [`FALLBACK_DIR`] because its directory
    /// is missing; `None` if it must not.
    elsewhere: Option<CString>,
    /// Standard input, output, error.
    streams: [RawFd; 3],
    /// cgroup files to write `0` to.
    entry_files: Vec<RawFd>,
    /// The user to become; `None` if this process runs as that user.
    account: Option<Account>,
    /// The uid as text, for the audit login uid.
    login: Vec<u8>,
    groups: Vec<libc::gid_t>,
    umask: libc::mode_t,
    supervisor: libc::pid_t,
    soft_limits: Vec<rlimit::SoftLimit>,
    sandbox: sandbox::Prepared,
}

/// Working directory of a program whose own does not exist on the node.
pub const FALLBACK_DIR: &CStr = c"/tmp";

/// An input that no process can be started with.
#[derive(Debug, thiserror::Error)]
pub enum TaskStartError {
    #[error("failed to start the job: {what} contains a NUL byte: {source}")]
    Nul { what: &'static str, source: NulError },
    #[error("failed to write the configuration of the container runtime: {0}")]
    Container(#[source] io::Error),
    #[error("failed to prepare the sandbox of the job: {0}")]
    Sandbox(#[from] seccompiler::BackendError),
}

/// The name of a task's container.
pub fn task_container(task: TaskPlace) -> String {
    format!("task-{}", task.rank)
}

/// The name of a program's container.
pub fn program_container(number: TaskNumber) -> String {
    format!("program-{number}")
}

/// The common input of all tasks of a step on this node.
pub struct StepFacts<'a> {
    pub spec: &'a StepSpec,
    /// The user they run as.
    pub account: &'a Account,
    pub script: &'a Path,
    /// Start time of the first task.
    pub start: Time,
    /// The limit of open files if none was submitted.
    pub open_files: SoftLimit,
    pub container: Option<&'a Container>,
}

impl TaskStart {
    ///
    /// # Errors
    /// [`TaskStartError`].
    pub fn new(facts: &StepFacts<'_>, task: TaskPlace) -> Result<Self, TaskStartError> {
        let StepFacts { spec, account, script, .. } = *facts;
        let mut program: Vec<&[u8]> = Vec::new();
        if let Some(prolog) = &spec.rules.task_prolog {
            program.extend(task_prolog::WORDS.map(str::as_bytes));
            program.push(prolog.as_os_str().as_bytes());
        }
        program.push(script.as_os_str().as_bytes());
        program.extend(spec.launch.args.iter().map(String::as_bytes));
        let variables = environment::build(spec, account, task, facts.start);
        Self::for_command(facts, spec, &task_container(task), &program, variables)
    }

    /// For a program started in a running step.
    ///
    /// # Errors
    /// [`TaskStartError`].
    pub fn for_program(
        facts: &StepFacts<'_>,
        number: TaskNumber,
        guest: ProgramSpec,
    ) -> Result<Self, TaskStartError> {
        let program = guest.command(facts.spec);
        let program: Vec<&[u8]> = program.iter().map(String::as_bytes).collect();
        let asked = guest.into_step_spec(facts.spec);
        let account = facts.account;
        let variables = environment::build_for_program(facts.spec, &asked, account, facts.start);
        let name = program_container(number);
        let mut start = Self::for_command(facts, &asked, &name, &program, variables)?;
        let (dir, node) = (&asked.launch.work_dir, &asked.node);
        let says = format!("kant: node {node} has no directory {dir}: starting in /tmp\n");
        start.elsewhere = CString::new(says).ok();
        Ok(start)
    }

    fn for_command(
        facts: &StepFacts<'_>,
        spec: &StepSpec,
        name: &str,
        program: &[&[u8]],
        mut variables: BTreeMap<String, String>,
    ) -> Result<Self, TaskStartError> {
        let text = |what: &'static str, text: &[u8]| {
            CString::new(text).map_err(|source| TaskStartError::Nul { what, source })
        };
        let dir = StepDir::at(facts.script.parent().unwrap_or(facts.script));
        for (name, value) in environment::mpi_variables(spec, &dir.host_file_paths()) {
            variables.insert(name.to_owned(), value);
        }
        let size = dir.environment_path().display().to_string();
        variables.insert(environment::SIZE_FILE.to_owned(), size);
        let soft_limits = rlimit::soft_limits(&spec.launch.rlimits, facts.open_files);
        let wrapped;
        let mut words = program.to_vec();
        if let Some(container) = facts.container {
            let process = Process {
                program,
                variables: &variables,
                submitted: &spec.launch.environment,
                work_dir: &spec.launch.work_dir,
                open_files: rlimit::open_file_limit(&soft_limits),
            };
            let Wrapped { program, environment } =
                container.wrap(name, process).map_err(TaskStartError::Container)?;
            variables = environment;
            wrapped = program;
            words = wrapped.iter().map(String::as_bytes).collect();
        }
        let variables = variables.iter().map(|(name, value)| format!("{name}={value}"));
        let arguments: Vec<CString> =
            words.iter().map(|word| text("an argument", word)).collect::<Result<_, _>>()?;
        let account = facts.account;
        let (is_root, in_container) = (geteuid().is_root(), facts.container.is_some());
        let sandbox = sandbox::Prepared::new(facts.spec.launch.sandbox, is_root, in_container)?;
        Ok(Self {
            program: arguments.first().cloned().unwrap_or_default(),
            arguments,
            environment: variables
                .map(|v| text("the environment", v.as_bytes()))
                .collect::<Result<_, _>>()?,
            work_dir: text("the working directory", spec.launch.work_dir.as_bytes())?,
            elsewhere: None,
            streams: [-1; 3],
            entry_files: Vec::new(),
            account: account.needs_user_change().then(|| account.clone()),
            login: account.uid.to_string().into_bytes(),
            groups: account.groups.iter().map(|gid| gid.0).collect(),
            umask: spec.launch.umask & 0o777,
            supervisor: Pid::this().as_raw(),
            soft_limits,
            sandbox,
        })
    }

    /// Starts the process, with these files as its streams, in the cgroup with these entry files.
    ///
    /// # Errors
    /// When the fork fails.
    pub fn spawn(
        mut self,
        streams: [BorrowedFd<'_>; 3],
        entry_files: &[OwnedFd],
    ) -> nix::Result<StartedTask> {
        self.streams = streams.map(|stream| stream.as_raw_fd());
        self.entry_files = entry_files.iter().map(AsRawFd::as_raw_fd).collect();
        let pointers = child::Pointers::of(&self);
        let (report, theirs) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        // SAFETY: the supervisor has one thread, and the child makes only async-signal-safe calls
        // until it executes the program or exits.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(StartedTask { pid: child, report }),
            ForkResult::Child => child::run(&self, &pointers, theirs.as_raw_fd()),
        }
    }
}

/// A forked process.
#[derive(Debug)]
pub struct StartedTask {
    pub pid: Pid,
    /// Closed by a successful exec; otherwise it delivers the failure.
    pub report: OwnedFd,
}

/// A failure between fork and exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartFailure {
    pub step: child::StartStep,
    pub error: nix::Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReport {
    Pending,
    Started,
    Failed(StartFailure),
}

/// Reads a report without blocking.
pub fn read_report(report: &mut File) -> StartReport {
    let mut bytes = [0; child::REPORT_BYTES];
    match report.read(&mut bytes) {
        Ok(0) => StartReport::Started,
        Ok(_) => StartReport::Failed(child::decode(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => StartReport::Pending,
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => StartReport::Pending,
        Err(_) => StartReport::Started,
    }
}

/// Says how a program failed that was to exit with 0.
pub fn describe_exit(exit: ExitStatus) -> String {
    match exit.signal {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("exited with {}", exit.code),
    }
}

/// The exit status from a wait status.
pub fn exit_status(status: nix::sys::wait::WaitStatus) -> Option<ExitStatus> {
    use nix::sys::wait::WaitStatus::{Exited, Signaled};
    match status {
        Exited(_, code) => {
            Some(ExitStatus { code: u8::try_from(code & 255).unwrap_or(255), signal: None })
        }
        Signaled(_, signal, _) => {
            Some(ExitStatus { code: 0, signal: u8::try_from(signal as i32).ok() })
        }
        _ => None,
    }
}
