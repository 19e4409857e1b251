//! A time limit on opening files whose open may block: a pipe without another end, or a file with a
//! lease. A timer interrupts the call. Only for a single-threaded process without other uses of
//! SIGALRM; calls that hang on a dead file server cannot be interrupted.

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::os::fd::OwnedFd;
use std::ptr;
use std::time::{Duration, Instant};

/// The total time that a process may wait.
pub const WAIT_MAX: Duration = Duration::from_secs(10);

/// Interval of the timer, which repeats because a signal just before a call does not interrupt it.
const AGAIN: Duration = Duration::from_millis(100);

/// The remaining time.
#[derive(Debug)]
pub struct WaitBudget(Duration);

impl WaitBudget {
    pub const fn new() -> Self {
        Self(WAIT_MAX)
    }

    /// Opens a file, within the remaining time.
    ///
    /// # Errors
    /// [`Errno::ETIMEDOUT`] when the time is used up, else the kernel's.
    pub fn open_file(&mut self, call: impl Fn() -> nix::Result<OwnedFd>) -> nix::Result<OwnedFd> {
        let begun = Instant::now();
        let timer = Timer::set(self.0)?;
        let opened = loop {
            match call() {
                Err(Errno::EINTR) if begun.elapsed() < self.0 => {}
                Err(Errno::EINTR) => break Err(Errno::ETIMEDOUT),
                opened => break opened,
            }
        };
        drop(timer);
        self.0 = self.0.saturating_sub(begun.elapsed());
        opened
    }
}

/// Sends SIGALRM repeatedly until it is dropped.
struct Timer;

impl Timer {
    fn set(first: Duration) -> nix::Result<Self> {
        let noted = SigHandler::Handler(note);
        // Without SA_RESTART, so that the call returns EINTR.
        let action = SigAction::new(noted, SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing.
        unsafe { sigaction(Signal::SIGALRM, &action) }?;
        SigSet::from(Signal::SIGALRM).thread_unblock()?;
        set_timer(first.max(AGAIN), AGAIN)?;
        Ok(Self)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // Setting a timer to zero cannot fail.
        let _ = set_timer(Duration::ZERO, Duration::ZERO);
    }
}

extern "C" fn note(_: libc::c_int) {}

fn set_timer(first: Duration, again: Duration) -> nix::Result<()> {
    let time = |span: Duration| libc::timeval {
        tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        tv_usec: i64::from(span.subsec_micros()),
    };
    let timer = libc::itimerval { it_interval: time(again), it_value: time(first) };
    // SAFETY: reads a live struct and writes nothing.
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) };
    Errno::result(set).map(drop)
}
