//! Another size for a job that runs (`kantctl resize`), and what it is told then.
//! Source: man scontrol, `update JobId= NumNodes=`. Never changes one; the state does.

use super::warning::{SignalNumber, Warned, WarningError};
use crate::unit::{Nodes, Tasks};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How large a job that runs is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobSize {
    /// So many tasks, on as many of its first nodes as have them.
    Tasks(Tasks),
    /// So many of its first nodes.
    Nodes(Nodes),
}

/// `1 node`, `4 tasks`.
impl fmt::Display for JobSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, what) = match self {
            Self::Tasks(Tasks(count)) => (count, "task"),
            Self::Nodes(Nodes(count)) => (count, "node"),
        };
        write!(f, "{count} {what}{}", if *count == 1 { "" } else { "s" })
    }
}

/// The signal that a job gets when it is given another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizeSignal {
    pub signal: SignalNumber,
    #[serde(default)]
    pub whom: Warned,
}

/// `[B:]SIGNAL`, as in `--signal`.
impl FromStr for ResizeSignal {
    type Err = WarningError;
    fn from_str(text: &str) -> Result<Self, WarningError> {
        let (whom, signal) = match text.trim().split_once(':') {
            None => (Warned::All, text.trim()),
            Some((word, rest)) if word.eq_ignore_ascii_case("B") => (Warned::Script, rest),
            Some((word, _)) => return Err(WarningError::Whom(word.to_owned())),
        };
        Ok(Self { signal: signal.parse()?, whom })
    }
}

/// As it is asked for: `B:USR1`.
impl fmt::Display for ResizeSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whom = if self.whom == Warned::Script { "B:" } else { "" };
        f.pad(&format!("{whom}{}", self.signal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reads_as_it_is_written() {
        for (text, number, whom) in
            [("USR1", 10, Warned::All), ("B:SIGUSR2", 12, Warned::Script), ("1", 1, Warned::All)]
        {
            let read: ResizeSignal = text.parse().unwrap();
            assert_eq!((read.signal, read.whom), (SignalNumber(number), whom), "{text}");
            assert_eq!(read.to_string().parse(), Ok(read));
        }
        for text in ["", "USR9", "R:USR1", "USR1@60"] {
            assert!(text.parse::<ResizeSignal>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_is_read_aloud() {
        assert_eq!(JobSize::Tasks(Tasks(1)).to_string(), "1 task");
        assert_eq!(JobSize::Nodes(Nodes(2)).to_string(), "2 nodes");
    }
}
