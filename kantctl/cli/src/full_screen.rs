//! A terminal in full-screen mode: alternate screen, single key presses, no cursor. A guard
//! restores it on every exit path, including panics and signals.

use crate::failure::Failure;
use anyhow::Context;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode, size};
use std::io::{IsTerminal, Read, Write};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The alternate screen without a cursor, and back (xterm's control sequences, DECSET 1049 and 25).
const TAKE: &str = "\x1b[?1049h\x1b[?25l";
const GIVE_BACK: &str = "\x1b[?25h\x1b[?1049l";
/// The size where the terminal does not report one.
const USUAL: (u16, u16) = (80, 24);

/// A key press or another event of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `q`, Ctrl-C, the end of input, or a signal that ends the program.
    Quit,
    Letter(char),
    /// An arrow, or `k`.
    Up,
    /// An arrow, or `j`.
    Down,
    PageUp,
    PageDown,
    Resized,
}

/// The terminal, in full-screen mode until this is dropped.
pub struct FullScreen {
    keys: UnboundedReceiver<Key>,
    resized: Signal,
    ends: [Signal; 3],
}

impl FullScreen {
    /// Enters full-screen mode.
    ///
    /// # Errors
    /// [`Failure`] when stdin or stdout is not a terminal, or it cannot be set up.
    pub fn enter() -> Result<Self, Failure> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            let refused = Failure::usage(anyhow::anyhow!("this needs a terminal"));
            return Err(refused
                .with_hint("`kantctl queue` lists jobs, and its --json output is for programs"));
        }
        let catch = |kind| signal(kind).context("failed to listen to signals");
        let resized = catch(SignalKind::window_change())?;
        let ends = [
            catch(SignalKind::terminate())?,
            catch(SignalKind::interrupt())?,
            catch(SignalKind::hangup())?,
        ];
        enable_raw_mode().context("failed to set the terminal up")?;
        // From here on the guard restores the terminal.
        let terminal = Self { keys: start_key_reader(), resized, ends };
        write(TAKE)?;
        Ok(terminal)
    }

    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let known = size().ok().filter(|(width, height)| *width > 0 && *height > 0);
        let (width, height) = known.unwrap_or(USUAL);
        (width.into(), height.into())
    }

    /// Draws lines from the top, and clears what is below them.
    ///
    /// # Errors
    /// [`Failure`] when the terminal is gone.
    pub fn draw(&mut self, lines: &[String]) -> Result<(), Failure> {
        let mut text = String::from("\x1b[H");
        for (place, line) in lines.iter().enumerate() {
            if place > 0 {
                text.push_str("\r\n");
            }
            text.push_str(line);
            text.push_str("\x1b[K");
        }
        text.push_str("\x1b[J");
        write(&text)
    }

    /// Waits for the next event.
    pub async fn key(&mut self) -> Key {
        let [terminate, interrupt, hangup] = &mut self.ends;
        tokio::select! {
            key = self.keys.recv() => key.unwrap_or(Key::Quit),
            _ = self.resized.recv() => Key::Resized,
            _ = terminate.recv() => Key::Quit,
            _ = interrupt.recv() => Key::Quit,
            _ = hangup.recv() => Key::Quit,
        }
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        // The terminal may be gone: then there is nothing to restore.
        drop(write(GIVE_BACK));
        let _ = disable_raw_mode();
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    Ok(written.context("failed to write to the terminal")?)
}

/// Reads keys in a thread of its own, which ends with the process: a read of a terminal cannot be
/// cancelled.
fn start_key_reader() -> UnboundedReceiver<Key> {
    let (sender, keys) = unbounded_channel();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut bytes = [0; 64];
        loop {
            let read = match stdin.read(&mut bytes) {
                Ok(0) | Err(_) => vec![Key::Quit],
                Ok(count) => parsed(&bytes[..count]),
            };
            let ends = read.contains(&Key::Quit);
            let gone = read.into_iter().any(|key| sender.send(key).is_err());
            if ends || gone {
                return;
            }
        }
    });
    keys
}

/// Parses the bytes that a terminal sends (man console_codes; xterm's cursor keys).
fn parsed(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let [first, more @ ..] = rest {
        let (key, left) = match (first, more) {
            (0x1b, [b'[' | b'O', b'A', left @ ..]) => (Some(Key::Up), left),
            (0x1b, [b'[' | b'O', b'B', left @ ..]) => (Some(Key::Down), left),
            (0x1b, [b'[', b'5', b'~', left @ ..]) => (Some(Key::PageUp), left),
            (0x1b, [b'[', b'6', b'~', left @ ..]) => (Some(Key::PageDown), left),
            (0x1b, [b'[' | b'O', _, left @ ..]) => (None, left),
            // Ctrl-C, Ctrl-D: raw mode passes them on.
            (b'q' | b'Q' | 0x03 | 0x04, left) => (Some(Key::Quit), left),
            (b'k', left) => (Some(Key::Up), left),
            (b'j', left) => (Some(Key::Down), left),
            (b' ', left) => (Some(Key::PageDown), left),
            (letter, left) if letter.is_ascii_alphabetic() => {
                (Some(Key::Letter(char::from(*letter).to_ascii_lowercase())), left)
            }
            (_, left) => (None, left),
        };
        keys.extend(key);
        rest = left;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_keys_are_read_at_once_and_unknown_sequences_are_skipped() {
        assert_eq!(parsed(b"\x1b[A\x1bOBm"), [Key::Up, Key::Down, Key::Letter('m')]);
        assert_eq!(parsed(b"\x1b[5~\x1b[6~ "), [Key::PageUp, Key::PageDown, Key::PageDown]);
        assert_eq!(parsed(b"\x03"), [Key::Quit]);
        assert_eq!(parsed(b"\x1b[Zq"), [Key::Quit]);
        assert_eq!(parsed("\u{e9}7\x1b".as_bytes()), []);
    }
}
