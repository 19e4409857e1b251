//! The moments between fork and exec, in the child. Only async-signal-safe calls, no memory, no
//! panics: everything it needs lies ready. Never returns.

use super::{ELSEWHERE, StartFailure, TaskStart, rlimit};
use crate::step::login;
use std::os::fd::RawFd;
use std::ptr;

/// What is tried, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Writing to the gates.
    Cgroup = 1,
    User = 2,
    /// Entering the working directory.
    WorkDir = 3,
    /// Placing the three streams.
    Streams = 4,
    Exec = 5,
    /// Staying with the supervisor.
    Parent = 6,
}

impl Step {
    /// In words, after "failed to".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Cgroup => "enter the job's cgroup",
            Self::User => "become the job's user",
            Self::WorkDir => "enter the working directory",
            Self::Streams => "place standard input, output and error",
            Self::Exec => "run the script",
            Self::Parent => "stay with the supervisor",
        }
    }

    /// Does it hang on the job's own directory, script and limits? Three descriptors have no place
    /// only under a limit of open files that is smaller.
    pub const fn is_of_job(self) -> bool {
        matches!(self, Self::WorkDir | Self::Streams | Self::Exec)
    }
}

/// A step, and the number of an error.
pub const REPORT_BYTES: usize = 5;

fn encode(step: Step, error: i32) -> [u8; REPORT_BYTES] {
    let [a, b, c, d] = error.to_ne_bytes();
    [step as u8, a, b, c, d]
}

/// What a child reported.
pub fn decode([step, a, b, c, d]: [u8; REPORT_BYTES]) -> StartFailure {
    let steps = [Step::Cgroup, Step::User, Step::WorkDir, Step::Streams, Step::Exec, Step::Parent];
    let step = steps.into_iter().find(|s| *s as u8 == step).unwrap_or(Step::Exec);
    StartFailure { step, error: nix::Error::from_raw(i32::from_ne_bytes([a, b, c, d])) }
}

/// Null-ended lists for execve, pointing into a [`TaskStart`].
pub struct Pointers {
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Pointers {
    /// Valid as long as `start` is where it is.
    pub fn of(start: &TaskStart) -> Self {
        let list = |texts: &[std::ffi::CString]| {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        Self { arguments: list(&start.arguments), environment: list(&start.environment) }
    }
}

/// Becomes the job's process, or reports what failed and exits.
pub fn run(start: &TaskStart, pointers: &Pointers, report: RawFd) -> ! {
    let failed = match prepare(start) {
        Err(step) => step,
        Ok(()) => {
            // SAFETY: program, arguments and environment are null-ended and live.
            unsafe {
                libc::execve(
                    start.program.as_ptr(),
                    pointers.arguments.as_ptr(),
                    pointers.environment.as_ptr(),
                );
            }
            Step::Exec
        }
    };
    let bytes = encode(failed, nix::Error::last_raw());
    // SAFETY: writes from a live array to an open pipe; _exit runs no handlers of the parent's.
    unsafe {
        libc::write(report, bytes.as_ptr().cast(), bytes.len());
        libc::_exit(127)
    }
}

/// All up to exec. On failure errno is that of the failed call.
fn prepare(start: &TaskStart) -> Result<(), Step> {
    for gate in &start.gates {
        // SAFETY: writes one byte from a constant.
        if unsafe { libc::write(*gate, b"0".as_ptr().cast(), 1) } != 1 {
            return Err(Step::Cgroup);
        }
    }
    write_oom_score();
    login::set(&start.login);
    reset_signals();
    // SAFETY: takes no memory. It fails only for a group leader, which a new child never is.
    unsafe { libc::setsid() };
    start.soft_limits.iter().for_each(rlimit::apply);
    become_user(start)?;
    die_with_supervisor(start)?;
    // SAFETY: umask takes a number.
    unsafe { libc::umask(start.umask) };
    enter_work_dir(start)?;
    for (target, stream) in (0..).zip(start.streams) {
        // SAFETY: duplicates one of our open descriptors; all of them are above 2.
        if unsafe { libc::dup2(stream, target) } < 0 {
            return Err(Step::Streams);
        }
    }
    // Ours close on exec by themselves; this is for what a library may have opened.
    // SAFETY: only marks descriptors. Kernels before 5.11 refuse, which costs nothing.
    unsafe {
        let from = 3 as libc::c_uint;
        libc::close_range(from, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int);
    }
    Ok(())
}

/// A daemon protected from the OOM killer must not pass that on: a job at its memory limit would
/// then spin for ever instead of being killed. Best effort: lowering one may be forbidden.
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

/// Ignored and blocked signals survive exec; the job starts with none of either. Asks the kernel
/// itself: the C library keeps two signals from its callers, and whoever started kantd may have
/// ignored all of them.
pub fn reset_signals() {
    // The kernel's `struct sigaction`: SIG_DFL, no flags, an empty mask are all zeros.
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

/// The task dies with its supervisor; else one that is killed between fork and exec would leave
/// behind a process that carries no mark yet and starts the job after its end was written down.
/// After becoming the user, which would undo it.
fn die_with_supervisor(start: &TaskStart) -> Result<(), Step> {
    // SAFETY: both calls take and return numbers.
    let stays = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::getppid() == start.supervisor
    };
    if stays { Ok(()) } else { Err(Step::Parent) }
}

/// Or, where that may be, another; which it says where the program will say what it has to.
fn enter_work_dir(start: &TaskStart) -> Result<(), Step> {
    // SAFETY: chdir takes a live null-ended text.
    if unsafe { libc::chdir(start.work_dir.as_ptr()) } == 0 {
        return Ok(());
    }
    let Some(says) = &start.elsewhere else { return Err(Step::WorkDir) };
    // SAFETY: as above, and writes from live memory of the length passed to an open descriptor.
    unsafe {
        if libc::chdir(ELSEWHERE.as_ptr()) != 0 {
            return Err(Step::WorkDir);
        }
        libc::write(start.streams[2], says.as_ptr().cast(), says.as_bytes().len());
    }
    Ok(())
}

fn become_user(start: &TaskStart) -> Result<(), Step> {
    let Some(account) = &start.account else { return Ok(()) };
    let (uid, gid) = (account.uid.0, account.gid.0);
    // SAFETY: the list of groups is live and of the length passed; the others take numbers.
    let became = unsafe {
        libc::setgroups(start.groups.len(), start.groups.as_ptr()) == 0
            && libc::setresgid(gid, gid, gid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    };
    if became { Ok(()) } else { Err(Step::User) }
}
