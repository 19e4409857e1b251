//! A person at a terminal: a program that runs on one of its own, what it shows there, and keys
//! that are pressed. Never waits but for what is to be shown.

use crate::wait_for;
use anyhow::Context as _;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{Termios, tcgetattr};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A terminal of this size, with a program on it.
pub struct PseudoTerminal {
    master: File,
    /// Held open, so that its settings can be looked at to the end.
    slave: OwnedFd,
    child: Child,
    shown: String,
}

const fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl PseudoTerminal {
    /// Starts a program on a terminal of its own, of 24 lines of 80 letters.
    ///
    /// # Errors
    /// The system's.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        let OpenptyResult { master, slave } = openpty(&size(24, 80), None)?;
        let copy = || slave.try_clone().map(Stdio::from);
        command.stdin(copy()?).stdout(copy()?).stderr(copy()?);
        let terminal = slave.as_raw_fd();
        let settle = move || {
            // SAFETY: plain system calls on numbers, which may be made between fork and exec.
            let settled =
                unsafe { libc::setsid() >= 0 && libc::ioctl(terminal, libc::TIOCSCTTY, 0) >= 0 };
            if settled { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: as said above.
        unsafe { command.pre_exec(settle) };
        let child = command.spawn().context("failed to start a program on a terminal")?;
        drop(command);
        fcntl(&master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { master: File::from(master), slave, child, shown: String::new() })
    }

    /// Presses keys.
    ///
    /// # Errors
    /// The system's.
    pub fn press(&mut self, keys: &str) -> anyhow::Result<()> {
        Ok(self.master.write_all(keys.as_bytes())?)
    }

    /// Gives the window another size, as a user who drags it.
    ///
    /// # Errors
    /// The system's.
    pub fn resize(&mut self, rows: u16, columns: u16) -> anyhow::Result<()> {
        let size = size(rows, columns);
        // SAFETY: an open terminal and a live struct of the kind that this request reads.
        let set =
            unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
        anyhow::ensure!(set == 0, "failed to resize: {}", std::io::Error::last_os_error());
        Ok(())
    }

    /// How the terminal is set.
    ///
    /// # Errors
    /// The system's.
    pub fn settings(&self) -> anyhow::Result<Termios> {
        Ok(tcgetattr(&self.slave)?)
    }

    /// All that was shown so far.
    pub fn shown(&mut self) -> anyhow::Result<&str> {
        let mut buffer = [0; 4096];
        loop {
            match self.master.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.shown.push_str(&String::from_utf8_lossy(&buffer[..count])),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(&self.shown)
    }

    /// Waits until this is shown, so often.
    ///
    /// # Errors
    /// When it never is, with all that was.
    pub fn see(&mut self, text: &str, times: usize) -> anyhow::Result<()> {
        let seen = wait_for(&format!("{text:?} on the terminal"), || {
            let shown = self.shown()?;
            Ok((shown.matches(text).count() >= times).then_some(()))
        });
        seen.with_context(|| format!("shown: {}", self.shown))
    }

    /// Waits until the program is over.
    ///
    /// # Errors
    /// When it stays.
    pub fn end(&mut self) -> anyhow::Result<ExitStatus> {
        let ended = wait_for("the end of the program on the terminal", || {
            // Who shows something to nobody waits for ever.
            self.shown()?;
            Ok(self.child.try_wait()?)
        });
        ended.with_context(|| format!("shown: {}", self.shown))
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        // It may be over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
