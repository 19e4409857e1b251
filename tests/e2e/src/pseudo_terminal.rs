//! A program on a pseudo-terminal, with its output and key presses. Tests wait for output, not for
//! a time.

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

/// A terminal with a program.
pub struct PseudoTerminal {
    master: File,
    /// Kept open, so that the settings can be read after the program has ended.
    slave: OwnedFd,
    child: Child,
    shown: String,
}

const fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl PseudoTerminal {
    /// Starts a program on a new terminal of 24 lines and 80 columns.
    ///
    /// # Errors
    /// When a system call fails.
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
    /// When a system call fails.
    pub fn press(&mut self, keys: &str) -> anyhow::Result<()> {
        Ok(self.master.write_all(keys.as_bytes())?)
    }

    /// Resizes the window.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn resize(&mut self, rows: u16, columns: u16) -> anyhow::Result<()> {
        let size = size(rows, columns);
        // SAFETY: an open terminal and a live struct of the kind that this request reads.
        let set =
            unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
        anyhow::ensure!(set == 0, "failed to resize: {}", std::io::Error::last_os_error());
        Ok(())
    }

    /// The terminal's settings.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn settings(&self) -> anyhow::Result<Termios> {
        Ok(tcgetattr(&self.slave)?)
    }

    /// All output so far.
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

    /// Waits until the output contains `text` at least `times` times.
    ///
    /// # Errors
    /// When it does not in time, with all output.
    pub fn see(&mut self, text: &str, times: usize) -> anyhow::Result<()> {
        let seen = wait_for(&format!("{text:?} on the terminal"), || {
            let shown = self.shown()?;
            Ok((shown.matches(text).count() >= times).then_some(()))
        });
        seen.with_context(|| format!("shown: {}", self.shown))
    }

    /// Waits until the program has ended.
    ///
    /// # Errors
    /// When it does not end in time.
    pub fn end(&mut self) -> anyhow::Result<ExitStatus> {
        let ended = wait_for("the end of the program on the terminal", || {
            // The program would block if its output were not read.
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
        // The program may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
