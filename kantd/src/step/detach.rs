//! Daemonizing a supervisor: it leaves kantd's process tree and session, closes kantd's files,
//! ignores signals meant for others, and becomes the reaper of the step's orphans. Of the signals
//! that would end it, it handles SIGTERM only, which may announce a shutdown of the machine.

use super::dir::{self, StepDir};
use nix::fcntl::OFlag;
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{ForkResult, chdir, dup2_stderr, fork, pipe2, setsid};
use std::fs::File;
use std::io::{self, Read, Write};

/// Closes all descriptors but the first three. Only for the very beginning of a process, when
/// nothing owns one of them.
pub fn close_inherited() {
    // SAFETY: called before anything was opened, so no owner is left with a closed descriptor.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

/// Reports to the process that kantd waits for that the supervisor is ready.
pub struct ReadySignal(File);

impl ReadySignal {
    /// Reports that kantd may connect.
    pub fn send(mut self) {
        // If the reader is gone, the supervisor goes on all the same.
        let _ = self.0.write_all(b"1");
    }
}

/// Continues in a new process with its own session. The old one waits until the new one is ready
/// and exits with 0, or with 1 if it died first.
///
/// # Errors
/// When no process can be made.
pub fn detach() -> nix::Result<ReadySignal> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { fork() }? {
        ForkResult::Parent { .. } => {
            drop(writer);
            let is_ready = File::from(reader).read_exact(&mut [0]).is_ok();
            // SAFETY: ends this process without running the exit handlers it shares with its child.
            unsafe { libc::_exit(i32::from(!is_ready)) }
        }
        ForkResult::Child => {
            drop(reader);
            setsid()?;
            Ok(ReadySignal(File::from(writer)))
        }
    }
}

/// Sets up the process. Returns the descriptor that reports ended children and SIGTERM.
///
/// # Errors
/// When the kernel refuses.
pub fn set_up_process() -> io::Result<SignalFd> {
    umask(Mode::from_bits_truncate(0o077));
    chdir("/")?;
    // Tools show this name; a process started as /proc/self/exe is called `exe` otherwise.
    prctl::set_name(c"kantd-step")?;
    prctl::set_child_subreaper(true)?;
    let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGPIPE] {
        // SAFETY: no handler runs; ignoring is always sound.
        unsafe { sigaction(signal, &ignore) }?;
    }
    let handled = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM]);
    handled.thread_block()?;
    Ok(SignalFd::with_flags(&handled, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Sends the supervisor's standard error, which went to kantd so far, to its log.
///
/// # Errors
/// When the log cannot be opened.
pub fn redirect_stderr_to_log(step: &StepDir) -> io::Result<()> {
    let log = dir::private_file_options().create(true).append(true).open(step.log_path())?;
    Ok(dup2_stderr(log)?)
}
