//! A bound on calls that the kernel may let wait: for the other side of a pipe, or for the end of a
//! lease on a file. A timer interrupts them. Only for a process of one thread that has no other use
//! for SIGALRM; what hangs on a dead file server is interrupted by nothing.

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::os::fd::OwnedFd;
use std::ptr;
use std::time::{Duration, Instant};

/// How long all such calls of a process may take together.
pub const WAIT_MAX: Duration = Duration::from_secs(10);

/// The timer goes off again and again: a signal just before a call does not interrupt it.
const AGAIN: Duration = Duration::from_millis(100);

/// What is left of the wait.
#[derive(Debug)]
pub struct Patience(Duration);

impl Patience {
    pub const fn new() -> Self {
        Self(WAIT_MAX)
    }

    /// Opens something, and gives up once the wait is used up.
    ///
    /// # Errors
    /// [`Errno::ETIMEDOUT`] then, else the system's.
    pub fn open(&mut self, call: impl Fn() -> nix::Result<OwnedFd>) -> nix::Result<OwnedFd> {
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

/// Sends SIGALRM until it is dropped.
struct Timer;

impl Timer {
    fn set(first: Duration) -> nix::Result<Self> {
        let noted = SigHandler::Handler(note);
        // Without SA_RESTART: a call that is interrupted says so.
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
        // Zero is never refused.
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
    // SAFETY: reads a live struct, and writes nothing.
    let set = unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) };
    Errno::result(set).map(drop)
}
