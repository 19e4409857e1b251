//! kantctl on a pseudo-terminal. A test waits for text, at most for the common timeout.

use super::{TIMEOUT, TestController};
use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Instant;

/// A program and the master of its terminal.
pub struct Pty {
    master: File,
    child: Child,
    /// All output so far.
    pub seen: String,
    /// The length of the output that was already waited for.
    past: usize,
}

nix::ioctl_write_ptr_bad!(set_size, nix::libc::TIOCSWINSZ, Winsize);
nix::ioctl_write_int_bad!(take_terminal, nix::libc::TIOCSCTTY);

fn size(columns: u16, lines: u16) -> Winsize {
    Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Pty {
    /// Starts kantctl on a new terminal, as the leader of its own session.
    pub fn start(controller: &TestController, words: &[&str], columns: u16, lines: u16) -> Self {
        let prepared = controller.command(words);
        let mut command = Command::new(env!("CARGO_BIN_EXE_kantctl"));
        command.args(words).env_clear().current_dir(controller.dir.path());
        for (name, value) in prepared.as_std().get_envs() {
            command.env(name, value.unwrap());
        }
        command.env("TERM", "xterm").env("TZ", "UTC").env("NO_COLOR", "1");
        Self::begin(command, columns, lines)
    }

    /// Starts any program on a new terminal, as the leader of its own session.
    pub fn begin(mut command: Command, columns: u16, lines: u16) -> Self {
        let pair = openpty(&size(columns, lines), None).unwrap();
        let end = || pair.slave.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: setsid and ioctl are allowed between fork and exec (man signal-safety).
        unsafe {
            command.pre_exec(|| {
                nix::unistd::setsid()?;
                take_terminal(0, 0)?;
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        drop(pair.slave);
        let master = File::from(pair.master);
        Self { master, child, seen: String::new(), past: 0 }
    }

    /// Waits for this text after the text that was waited for before.
    pub fn until(&mut self, text: &str) {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.seen[self.past..].find(text) {
                self.past += at + text.len();
                return;
            }
            let left = TIMEOUT.saturating_sub(begun.elapsed());
            assert!(!left.is_zero(), "no {text:?} in {:?}", &self.seen[self.past..]);
            if !self.read(left) {
                panic!("the program ended without {text:?}: {:?}", &self.seen[self.past..]);
            }
        }
    }

    pub fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Resizes the terminal; the kernel signals the program.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        let wanted = size(columns, lines);
        // SAFETY: TIOCSWINSZ reads one winsize, which lives through the call.
        unsafe { set_size(self.master.as_raw_fd(), &raw const wanted) }.unwrap();
    }

    /// The program's process id.
    pub fn pid(&self) -> nix::unistd::Pid {
        nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    /// Reads to the end.
    pub fn ended(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        while self.read(TIMEOUT.saturating_sub(begun.elapsed())) {
            assert!(begun.elapsed() < TIMEOUT, "the program keeps running: {:?}", self.seen);
        }
        (self.child.wait().unwrap(), std::mem::take(&mut self.seen))
    }

    /// Reads available output, or waits for it; false: the terminal is closed.
    fn read(&mut self, wait: std::time::Duration) -> bool {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        let mut ends = [PollFd::new(self.master.as_fd(), PollFlags::POLLIN)];
        let wait = u16::try_from(wait.as_millis()).unwrap_or(u16::MAX);
        if poll(&mut ends, PollTimeout::from(wait)).unwrap() == 0 {
            // A read would block.
            return true;
        }
        let mut bytes = [0; 4096];
        match self.master.read(&mut bytes) {
            // Linux returns EIO once the last slave is closed (man pty).
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
                true
            }
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // The program has ended, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
