//! Starting one process of a job. Everything that needs memory happens before the fork; between
//! fork and exec only calls that are safe there (man 7 signal-safety).
//! Never waits for the process; the supervisor does.

mod child;
mod explain;
mod rlimit;

use super::account::Account;
use super::container::{Container, Process, Wrapped};
use super::dir::StepDir;
use super::environment;
use super::guest::GuestOrder;
use super::order::{StepOrder, TaskPlace};
use common::id::TaskNumber;
use common::job::ExitStatus;
use common::task_prolog;
use common::time::Time;
use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, Pid, fork, pipe2};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, NulError};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use child::reset_signals;
pub use explain::{explain, explain_guest};
pub use rlimit::{FileLimit, SoftLimit, raise_open_files};

/// What a new process needs, ready to use between fork and exec.
pub struct TaskStart {
    /// The script or program, which is also argv[0].
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    work_dir: CString,
    /// What to say on standard error if it starts in [`ELSEWHERE`], for want of its directory;
    /// `None`: then it does not start.
    elsewhere: Option<CString>,
    /// Standard input, output, error.
    streams: [RawFd; 3],
    /// Files to write `0` to.
    gates: Vec<RawFd>,
    /// Whom to become; `None` if we are them already.
    account: Option<Account>,
    /// The user's number, for the audit log.
    login: Vec<u8>,
    groups: Vec<libc::gid_t>,
    umask: libc::mode_t,
    supervisor: libc::pid_t,
    soft_limits: Vec<rlimit::SoftLimit>,
}

/// Where a program starts whose directory the node does not have, if it may.
pub const ELSEWHERE: &CStr = c"/tmp";

/// A process that cannot even be tried.
#[derive(Debug, thiserror::Error)]
pub enum TaskStartError {
    /// A text of the order that no program can be handed.
    #[error("failed to start the job: {what} holds a NUL byte: {source}")]
    Nul { what: &'static str, source: NulError },
    /// What the runtime of its container reads cannot be written.
    #[error("failed to write what the container runtime reads: {0}")]
    Container(#[source] io::Error),
}

/// The name of a task's container, if it runs in one.
pub fn container_of(task: TaskPlace) -> String {
    format!("task-{}", task.rank)
}

/// The name of a program's container, if it runs in one.
pub fn container_of_guest(number: TaskNumber) -> String {
    format!("program-{number}")
}

/// What all tasks of a step on this node have in common.
pub struct StepFacts<'a> {
    /// The order.
    pub order: &'a StepOrder,
    /// Whom they run as.
    pub account: &'a Account,
    pub script: &'a Path,
    /// When the first of them starts.
    pub start: Time,
    /// The limit of open files where none was submitted.
    pub open_files: SoftLimit,
    /// What they run in; `None`: the node itself.
    pub container: Option<&'a Container>,
}

impl TaskStart {
    /// For one task.
    ///
    /// # Errors
    /// [`TaskStartError`].
    pub fn new(facts: &StepFacts<'_>, task: TaskPlace) -> Result<Self, TaskStartError> {
        let StepFacts { order, account, script, .. } = *facts;
        let mut program: Vec<&[u8]> = Vec::new();
        if let Some(prolog) = &order.rules.task_prolog {
            program.extend(task_prolog::WORDS.map(str::as_bytes));
            program.push(prolog.as_os_str().as_bytes());
        }
        program.push(script.as_os_str().as_bytes());
        program.extend(order.launch.args.iter().map(String::as_bytes));
        let variables = environment::build(order, account, task, facts.start);
        Self::of(facts, order, &container_of(task), &program, variables)
    }

    /// For a program that is started in the step.
    ///
    /// # Errors
    /// [`TaskStartError`].
    pub fn of_guest(
        facts: &StepFacts<'_>,
        number: TaskNumber,
        guest: GuestOrder,
    ) -> Result<Self, TaskStartError> {
        let program = guest.words(facts.order);
        let program: Vec<&[u8]> = program.iter().map(String::as_bytes).collect();
        let asked = guest.into_order(facts.order);
        let account = facts.account;
        let variables = environment::build_for_guest(facts.order, &asked, account, facts.start);
        let name = container_of_guest(number);
        let mut start = Self::of(facts, &asked, &name, &program, variables)?;
        let (dir, node) = (&asked.launch.work_dir, &asked.node);
        let says = format!("kant: node {node} has no directory {dir}: starting in /tmp\n");
        start.elsewhere = CString::new(says).ok();
        Ok(start)
    }

    fn of(
        facts: &StepFacts<'_>,
        order: &StepOrder,
        name: &str,
        program: &[&[u8]],
        mut variables: BTreeMap<String, String>,
    ) -> Result<Self, TaskStartError> {
        let text = |what: &'static str, text: &[u8]| {
            CString::new(text).map_err(|source| TaskStartError::Nul { what, source })
        };
        let dir = StepDir::at(facts.script.parent().unwrap_or(facts.script));
        for (name, value) in environment::mpi_variables(order, &dir.hosts()) {
            variables.insert(name.to_owned(), value);
        }
        let size = dir.environment().display().to_string();
        variables.insert(environment::SIZE_FILE.to_owned(), size);
        let soft_limits = rlimit::soft_limits(&order.launch.rlimits, facts.open_files);
        let wrapped;
        let mut words = program.to_vec();
        if let Some(container) = facts.container {
            let process = Process {
                program,
                variables: &variables,
                submitted: &order.launch.environment,
                work_dir: &order.launch.work_dir,
                open_files: rlimit::open_files(&soft_limits),
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
        Ok(Self {
            program: arguments.first().cloned().unwrap_or_default(),
            arguments,
            environment: variables
                .map(|v| text("the environment", v.as_bytes()))
                .collect::<Result<_, _>>()?,
            work_dir: text("the working directory", order.launch.work_dir.as_bytes())?,
            elsewhere: None,
            streams: [-1; 3],
            gates: Vec::new(),
            account: account.is_other().then(|| account.clone()),
            login: account.uid.to_string().into_bytes(),
            groups: account.groups.iter().map(|gid| gid.0).collect(),
            umask: order.launch.umask & 0o777,
            supervisor: Pid::this().as_raw(),
            soft_limits,
        })
    }

    /// Starts it, with these files as its three streams, inside a cgroup with these gates.
    ///
    /// # Errors
    /// When no process can be made.
    pub fn spawn(
        mut self,
        streams: [BorrowedFd<'_>; 3],
        gates: &[OwnedFd],
    ) -> nix::Result<StartedTask> {
        self.streams = streams.map(|stream| stream.as_raw_fd());
        self.gates = gates.iter().map(AsRawFd::as_raw_fd).collect();
        let pointers = child::Pointers::of(&self);
        let (report, theirs) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        // SAFETY: the supervisor has one thread, and the child only makes async-signal-safe calls
        // until it execs or exits.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(StartedTask { pid: child, report }),
            ForkResult::Child => child::run(&self, &pointers, theirs.as_raw_fd()),
        }
    }
}

/// A process between fork and exec.
#[derive(Debug)]
pub struct StartedTask {
    pub pid: Pid,
    /// Closed by a successful exec; else it says what failed.
    pub report: OwnedFd,
}

/// What failed between fork and exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartFailure {
    pub step: child::Step,
    pub error: nix::Error,
}

/// What a report has said so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReport {
    Pending,
    Started,
    Failed(StartFailure),
}

/// Looks at a report, without waiting.
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

/// How a program that was to exit with 0 ended, in words.
pub fn exit_words(exit: ExitStatus) -> String {
    match exit.signal {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("exited with {}", exit.code),
    }
}

/// The exit of a process, from what waitpid said.
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
