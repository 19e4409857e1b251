//! Becoming a supervisor: out of kantd's process family, with nothing of kantd's open, deaf to
//! signals meant for others, and the one all orphans of the step come to. Of those that would end
//! it, only SIGTERM is looked at, for it may mean that the machine goes down.
//! Never touches the step itself.

use super::dir::{self, StepDir};
use nix::fcntl::OFlag;
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{ForkResult, chdir, dup2_stderr, fork, pipe2, setsid};
use std::fs::File;
use std::io::{self, Read, Write};

/// Closes every descriptor but the first three. Only for the very beginning of a process, when
/// nothing owns one of them.
pub fn close_inherited() {
    // SAFETY: called before anything was opened, so no owner is left with a closed descriptor.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

/// Tells the process that kantd waits for that the supervisor stands.
pub struct Standing(File);

impl Standing {
    /// It stands: kantd may connect.
    pub fn tell(mut self) {
        // Nobody left to hear it is no reason to stop.
        let _ = self.0.write_all(b"1");
    }
}

/// Goes on in a new process with a session of its own. The old one waits until that stands, then
/// exits: with 0, or with 1 if it died before.
///
/// # Errors
/// When no process can be made.
pub fn detach() -> nix::Result<Standing> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: this process has one thread, so the child may do anything.
    match unsafe { fork() }? {
        ForkResult::Parent { .. } => {
            drop(writer);
            let stands = File::from(reader).read_exact(&mut [0]).is_ok();
            // SAFETY: ends this process without running the exit handlers it shares with its child.
            unsafe { libc::_exit(i32::from(!stands)) }
        }
        ForkResult::Child => {
            drop(reader);
            setsid()?;
            Ok(Standing(File::from(writer)))
        }
    }
}

/// The surroundings of a supervisor. Returns where ended children and SIGTERM are announced.
///
/// # Errors
/// When the kernel refuses.
pub fn settle() -> io::Result<SignalFd> {
    umask(Mode::from_bits_truncate(0o077));
    chdir("/")?;
    // As tools show it; started as /proc/self/exe it would be called `exe`.
    prctl::set_name(c"kantd-step")?;
    prctl::set_child_subreaper(true)?;
    let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGPIPE] {
        // SAFETY: no handler runs; ignoring is always sound.
        unsafe { sigaction(signal, &ignore) }?;
    }
    let heard = SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM]);
    heard.thread_block()?;
    Ok(SignalFd::with_flags(&heard, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// From here on, what the supervisor has to say goes to its log; until then kantd hears it.
///
/// # Errors
/// When the log cannot be opened.
pub fn speak_to_log(step: &StepDir) -> io::Result<()> {
    let log = dir::private().create(true).append(true).open(step.log())?;
    Ok(dup2_stderr(log)?)
}
