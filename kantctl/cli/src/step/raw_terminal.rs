//! The user's terminal in raw mode, while a program on another machine uses it: keys and the window
//! size are forwarded. It is restored on every exit except SIGKILL.

use super::plan::Window;
use crate::failure::Failure;
use anyhow::Context;
use nix::libc;
use nix::pty::Winsize;
use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use std::io::{IsTerminal, stdin};
use std::os::fd::{AsFd, AsRawFd};

/// The default size.
const USUAL: Window = Window { rows: 24, columns: 80 };

/// A terminal in raw mode until this is dropped.
#[derive(Debug)]
pub struct RawTerminal(Termios);

impl RawTerminal {
    /// Switches the terminal on stdin to raw mode; `None` if stdin is not a terminal.
    ///
    /// # Errors
    /// [`Failure`] when the system refuses.
    pub fn enable() -> Result<Option<Self>, Failure> {
        let input = stdin();
        if !input.is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(input.as_fd()).context("failed to read the terminal's settings")?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(input.as_fd(), SetArg::TCSADRAIN, &raw)
            .context("failed to change the terminal's settings")?;
        Ok(Some(Self(before)))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(stdin().as_fd(), SetArg::TCSADRAIN, &self.0);
    }
}

#[must_use]
pub fn window() -> Window {
    let mut size = Winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: an open descriptor, and a live struct of the type that this request writes.
    let asked = unsafe { libc::ioctl(stdin().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    if asked != 0 || size.ws_row == 0 || size.ws_col == 0 {
        return USUAL;
    }
    Window { rows: size.ws_row, columns: size.ws_col }
}

/// The size in the format of a frame.
#[must_use]
pub fn window_bytes(window: Window) -> [u8; 4] {
    let ([a, b], [c, d]) = (window.rows.to_le_bytes(), window.columns.to_le_bytes());
    [a, b, c, d]
}
