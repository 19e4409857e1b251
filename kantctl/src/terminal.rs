//! A terminal taken over for a while: its own screen, keys one by one, no cursor. Never kept: the
//! guard gives it back on every way out, a panic's and a signal's too.

use crate::failure::Failure;
use anyhow::Context;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode, size};
use std::io::{IsTerminal, Read, Write};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Another screen, without a cursor; and back (xterm's control sequences, DECSET 1049 and 25).
const TAKE: &str = "\x1b[?1049h\x1b[?25l";
const GIVE_BACK: &str = "\x1b[?25h\x1b[?1049l";
/// Where nobody says how large it is.
const USUAL: (u16, u16) = (80, 24);

/// What the user did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `q`, Ctrl-C, the end of input, or a signal that asks for an end.
    Quit,
    Letter(char),
    /// An arrow, or `k`.
    Up,
    /// An arrow, or `j`.
    Down,
    PageUp,
    PageDown,
    /// The terminal has another size.
    Resized,
}

/// The terminal, as long as this lives.
pub struct Terminal {
    keys: UnboundedReceiver<Key>,
    resized: Signal,
    ends: [Signal; 3],
}

impl Terminal {
    /// Takes it over.
    ///
    /// # Errors
    /// [`Failure`] when input or output is no terminal, or it cannot be had.
    pub fn take() -> Result<Self, Failure> {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            let refused = Failure::usage(anyhow::anyhow!("this needs a terminal"));
            return Err(refused.hint("`kantctl queue` lists jobs, and --json tells programs"));
        }
        let catch = |kind| signal(kind).context("failed to listen to signals");
        let resized = catch(SignalKind::window_change())?;
        let ends = [
            catch(SignalKind::terminate())?,
            catch(SignalKind::interrupt())?,
            catch(SignalKind::hangup())?,
        ];
        enable_raw_mode().context("failed to set the terminal up")?;
        // From here on the guard puts it right again.
        let terminal = Self { keys: keys(), resized, ends };
        write(TAKE)?;
        Ok(terminal)
    }

    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let known = size().ok().filter(|(width, height)| *width > 0 && *height > 0);
        let (width, height) = known.unwrap_or(USUAL);
        (width.into(), height.into())
    }

    /// Draws lines from the top; what was below them is gone.
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

    /// Waits for what the user does next.
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

impl Drop for Terminal {
    fn drop(&mut self) {
        // The terminal may be gone: then there is nobody to give it back to.
        drop(write(GIVE_BACK));
        let _ = disable_raw_mode();
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    Ok(written.context("failed to write to the terminal")?)
}

/// Reads keys on a thread of its own, which ends with the process: a read of a terminal cannot be
/// called off.
fn keys() -> UnboundedReceiver<Key> {
    let (tell, told) = unbounded_channel();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut bytes = [0; 64];
        loop {
            let read = match stdin.read(&mut bytes) {
                Ok(0) | Err(_) => vec![Key::Quit],
                Ok(count) => parsed(&bytes[..count]),
            };
            let ends = read.contains(&Key::Quit);
            let gone = read.into_iter().any(|key| tell.send(key).is_err());
            if ends || gone {
                return;
            }
        }
    });
    told
}

/// Keys of what a terminal sends (man console_codes; xterm's cursor keys).
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
            // Ctrl-C, Ctrl-D: raw mode hands them on.
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
    fn keys_are_read_also_several_at_once_and_nonsense_is_passed_over() {
        assert_eq!(parsed(b"\x1b[A\x1bOBm"), [Key::Up, Key::Down, Key::Letter('m')]);
        assert_eq!(parsed(b"\x1b[5~\x1b[6~ "), [Key::PageUp, Key::PageDown, Key::PageDown]);
        assert_eq!(parsed(b"\x03"), [Key::Quit]);
        assert_eq!(parsed(b"\x1b[Zq"), [Key::Quit]);
        assert_eq!(parsed("\u{e9}7\x1b".as_bytes()), []);
    }
}
