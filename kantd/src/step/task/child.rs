//! The child between fork and exec: only async-signal-safe calls, no allocation, no panics.

use super::{FALLBACK_DIR, StartFailure, TaskStart, rlimit};
use crate::step::loginuid;
use std::os::fd::RawFd;
use std::ptr;

/// The steps of starting a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum StartStep {
    /// Writing to the cgroup's files.
    Cgroup = 1,
    User = 2,
    /// Entering the working directory.
    WorkDir = 3,
    /// Setting up the three streams.
    Streams = 4,
    Exec = 5,
    /// Binding the process to the supervisor.
    Parent = 6,
    Sandbox = 7,
}

impl StartStep {
    /// What the step does, after "failed to".
    pub const fn description(self) -> &'static str {
        match self {
            Self::Cgroup => "enter the job's cgroup",
            Self::User => "become the job's user",
            Self::WorkDir => "enter the working directory",
            Self::Streams => "set up standard input, output and error",
            Self::Exec => "run the script",
            Self::Parent => "bind to the supervisor",
            Self::Sandbox => "apply the sandbox of its queue",
        }
    }

    /// Whether a failure depends on the job's own directory, script and limits. Setting up three
    /// descriptors fails only under a smaller limit of open files.
    pub const fn is_job_fault(self) -> bool {
        matches!(self, Self::WorkDir | Self::Streams | Self::Exec)
    }
}

/// The step that failed, and the error number.
pub const REPORT_BYTES: usize = 5;

fn encode(step: StartStep, error: i32) -> [u8; REPORT_BYTES] {
    let [a, b, c, d] = error.to_ne_bytes();
    [step as u8, a, b, c, d]
}

/// The failure that a child reported.
pub fn decode([step, a, b, c, d]: [u8; REPORT_BYTES]) -> StartFailure {
    let steps = [
        StartStep::Cgroup,
        StartStep::User,
        StartStep::WorkDir,
        StartStep::Streams,
        StartStep::Exec,
        StartStep::Parent,
        StartStep::Sandbox,
    ];
    let step = steps.into_iter().find(|s| *s as u8 == step).unwrap_or(StartStep::Exec);
    StartFailure { step, error: nix::Error::from_raw(i32::from_ne_bytes([a, b, c, d])) }
}

/// Null-terminated lists for execve, pointing into a [`TaskStart`].
pub struct Pointers {
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Pointers {
    /// Valid while `start` is not moved or dropped.
    pub fn of(start: &TaskStart) -> Self {
        let list = |texts: &[std::ffi::CString]| {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        Self { arguments: list(&start.arguments), environment: list(&start.environment) }
    }
}

/// Becomes the job's process, or reports the failure and exits.
pub fn run(start: &TaskStart, pointers: &Pointers, report: RawFd) -> ! {
    let failed = match prepare(start) {
        Err(step) => step,
        Ok(()) => {
            // SAFETY: program, arguments and environment are null-terminated and live.
            unsafe {
                libc::execve(
                    start.program.as_ptr(),
                    pointers.arguments.as_ptr(),
                    pointers.environment.as_ptr(),
                );
            }
            StartStep::Exec
        }
    };
    let bytes = encode(failed, nix::Error::last_raw());
    // SAFETY: writes from a live array to an open pipe; _exit runs no handlers of the parent's.
    unsafe {
        libc::write(report, bytes.as_ptr().cast(), bytes.len());
        libc::_exit(127)
    }
}

/// Everything before exec. On failure errno is that of the failed call.
fn prepare(start: &TaskStart) -> Result<(), StartStep> {
    for entry_file in &start.entry_files {
        // SAFETY: writes one byte from a constant.
        if unsafe { libc::write(*entry_file, b"0".as_ptr().cast(), 1) } != 1 {
            return Err(StartStep::Cgroup);
        }
    }
    write_oom_score();
    loginuid::set(&start.login);
    reset_signals();
    // SAFETY: passes no memory. It fails only for a group leader, which a new child never is.
    unsafe { libc::setsid() };
    start.soft_limits.iter().for_each(rlimit::apply);
    if !start.sandbox.apply() {
        return Err(StartStep::Sandbox);
    }
    become_user(start)?;
    die_with_supervisor(start)?;
    // SAFETY: passes a number.
    unsafe { libc::umask(start.umask) };
    enter_work_dir(start)?;
    for (target, stream) in (0..).zip(start.streams) {
        // SAFETY: duplicates one of our open descriptors; all of them are above 2.
        if unsafe { libc::dup2(stream, target) } < 0 {
            return Err(StartStep::Streams);
        }
    }
    // Our descriptors are closed on exec already; this is for those that a library may have opened.
    // SAFETY: only marks descriptors. Kernels before 5.11 refuse, which is harmless.
    unsafe {
        let from = 3 as libc::c_uint;
        libc::close_range(from, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
    }
    Ok(())
}

/// Resets the OOM score that the task inherits from a protected daemon: the kernel could not kill a
/// job at its memory limit otherwise. Best effort: lowering a score may be forbidden.
fn write_oom_score() {
    // SAFETY: opens a constant path, writes from a constant, closes what it opened.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY);
        if file >= 0 {
            libc::write(file, b"0".as_ptr().cast(), 1);
            libc::close(file);
        }
    }
}

/// The largest signal number of Linux.
const SIGNAL_MAX: libc::c_int = 64;

/// Resets ignored and blocked signals, which survive exec. Uses the system call, because the C
/// library reserves two signals that kantd's parent may have ignored.
pub fn reset_signals() {
    // The kernel's `struct sigaction`: SIG_DFL, no flags and an empty mask are all zeros.
    let default = [0_u64; 4];
    let mask_bytes = size_of::<u64>();
    for signal in 1..=SIGNAL_MAX {
        let (new, old) = (default.as_ptr(), ptr::null_mut::<u64>());
        // SAFETY: `default` is as large as the kernel's struct and live; refusals for SIGKILL and
        // SIGSTOP change nothing.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, mask_bytes) };
    }
    // SAFETY: sigemptyset initialises the set, which sigprocmask then reads.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// Makes the task die with its supervisor: otherwise one whose supervisor is killed between fork
/// and exec would start the job, without a mark, after the end was recorded. To be called after
/// becoming the user, which would undo it.
fn die_with_supervisor(start: &TaskStart) -> Result<(), StartStep> {
    // SAFETY: both calls pass and return numbers.
    let stays = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::getppid() == start.supervisor
    };
    if stays { Ok(()) } else { Err(StartStep::Parent) }
}

/// Enters the working directory, or the fallback with a notice on standard error where allowed.
fn enter_work_dir(start: &TaskStart) -> Result<(), StartStep> {
    // SAFETY: passes a live null-terminated text.
    if unsafe { libc::chdir(start.work_dir.as_ptr()) } == 0 {
        return Ok(());
    }
    let Some(says) = &start.elsewhere else { return Err(StartStep::WorkDir) };
    // SAFETY: as above, and writes from live memory of the length passed to an open descriptor.
    unsafe {
        if libc::chdir(FALLBACK_DIR.as_ptr()) != 0 {
            return Err(StartStep::WorkDir);
        }
        libc::write(start.streams[2], says.as_ptr().cast(), says.as_bytes().len());
    }
    Ok(())
}

fn become_user(start: &TaskStart) -> Result<(), StartStep> {
    let Some(account) = &start.account else { return Ok(()) };
    let (uid, gid) = (account.uid.0, account.gid.0);
    // SAFETY: the list of groups is live and of the length passed; the others pass numbers.
    let became = unsafe {
        libc::setgroups(start.groups.len(), start.groups.as_ptr()) == 0
            && libc::setresgid(gid, gid, gid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    };
    if became { Ok(()) } else { Err(StartStep::User) }
}
