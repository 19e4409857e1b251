//! Signals that kantctl forwards to the programs it started, instead of obeying them. Those that
//! the programs receive anyway are not forwarded.

use crate::failure::Failure;
use anyhow::Context;
use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::getuid;
use std::io;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// `si_code` of kill(2): SI_USER (man sigaction).
const SENT_BY_A_PROCESS: i32 = 0;

const PASSED_ON: [Signal; 8] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGCONT,
    Signal::SIGALRM,
];

/// Inside a job, lets a command that cancels or requeues that job print its answer: the job's
/// processes, including this one, then receive SIGTERM. SIGKILL follows after the grace period.
///
/// # Errors
/// [`Failure`] when the system refuses.
pub fn block_sigterm_in_job() -> Result<(), Failure> {
    if std::env::var_os("KANT_JOB_ID").is_some() {
        SigSet::from(Signal::SIGTERM).thread_block().context("failed to block SIGTERM")?;
    }
    Ok(())
}

/// Unblocks all signals in a program that is started from here: kantctl blocks and reads them, the
/// program must obey them. Safe between fork and exec.
///
/// # Errors
/// Never.
pub fn unblock() -> io::Result<()> {
    // SAFETY: sigemptyset initialises the set, which sigprocmask then reads.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
    Ok(())
}

/// Signals that programs started here have not received already.
pub struct Signals(UnboundedReceiver<Signal>);

impl Signals {
    /// Blocks the signals, and reads them in a thread that ends with kantctl. Programs get what the
    /// job's own user sends; kantd, which is root, signals all processes of a job itself.
    ///
    /// # Errors
    /// [`Failure`] when the system refuses.
    pub fn block_and_watch() -> Result<Self, Failure> {
        let mut set = SigSet::empty();
        PASSED_ON.into_iter().for_each(|signal| set.add(signal));
        set.thread_block().context("failed to block signals")?;
        let read = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC);
        let read = read.context("failed to read signals")?;
        let (sender, signals) = unbounded_channel();
        // Outside a job only its user, an administrator and the terminal send signals to kantctl.
        let is_signalled_by_kantd =
            std::env::var_os("KANT_JOB_ID").is_some() && !getuid().is_root();
        std::thread::spawn(move || {
            while let Ok(Some(sent)) = read.read_signal() {
                // A terminal's signals come from the kernel, which has root's user id, too.
                let by_a_process = sent.ssi_code == SENT_BY_A_PROCESS;
                let from_kantd = is_signalled_by_kantd && by_a_process && sent.ssi_uid == 0;
                let signal = i32::try_from(sent.ssi_signo).ok();
                let signal = signal.and_then(|number| Signal::try_from(number).ok());
                if let Some(signal) = signal.filter(|_| !from_kantd)
                    && sender.send(signal).is_err()
                {
                    return;
                }
            }
        });
        Ok(Self(signals))
    }

    pub async fn next(&mut self) -> Signal {
        match self.0.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
}
