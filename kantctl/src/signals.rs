//! Signals that are passed on to the programs of a job that were started from here, instead of
//! being obeyed. Never those that the programs get anyhow.

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

/// What is passed on.
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

/// Inside a job: whoever asks for its end or its requeue gets the answer, though the wish comes
/// back as SIGTERM to all of the job's processes, this one too. SIGKILL comes after the grace.
///
/// # Errors
/// [`Failure`] when the system refuses.
pub fn outlast_the_own_job() -> Result<(), Failure> {
    if std::env::var_os("KANT_JOB_ID").is_some() {
        SigSet::from(Signal::SIGTERM).thread_block().context("failed to block SIGTERM")?;
    }
    Ok(())
}

/// For a program that is started here: we read signals instead of obeying them, and it is to obey.
/// Safe between fork and exec.
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

/// Those that programs started here have not got already.
pub struct Signals(UnboundedReceiver<Signal>);

impl Signals {
    /// From now on they are read, not obeyed, by a thread that ends with kantctl. Programs get what
    /// the job's own user sends; kantd, which is root, tells all processes of a job itself.
    ///
    /// # Errors
    /// [`Failure`] when the system refuses.
    pub fn take() -> Result<Self, Failure> {
        let mut set = SigSet::empty();
        PASSED_ON.into_iter().for_each(|signal| set.add(signal));
        set.thread_block().context("failed to block signals")?;
        let read = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC);
        let read = read.context("failed to read signals")?;
        let (tell, told) = unbounded_channel();
        // Outside a job nobody but its user, an administrator and the terminal signals kantctl.
        let is_told_by_kantd = std::env::var_os("KANT_JOB_ID").is_some() && !getuid().is_root();
        std::thread::spawn(move || {
            while let Ok(Some(sent)) = read.read_signal() {
                // A terminal's signals come from the kernel, which has the number of root, too.
                let by_a_process = sent.ssi_code == SENT_BY_A_PROCESS;
                let from_kantd = is_told_by_kantd && by_a_process && sent.ssi_uid == 0;
                let signal = i32::try_from(sent.ssi_signo).ok();
                let signal = signal.and_then(|number| Signal::try_from(number).ok());
                if let Some(signal) = signal.filter(|_| !from_kantd)
                    && tell.send(signal).is_err()
                {
                    return;
                }
            }
        });
        Ok(Self(told))
    }

    pub async fn next(&mut self) -> Signal {
        match self.0.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
}
