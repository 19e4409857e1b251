//! The new size of a running job (`kantctl resize`), and the signal that announces it.
//! Source: man scontrol, `update JobId= NumNodes=`.

use super::warning::{SignalNumber, Warned, WarningError};
use crate::unit::{Nodes, Tasks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The requested size of a running job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobSize {
    /// The number of tasks, on the first nodes that hold them.
    Tasks(Tasks),
    /// The number of nodes, counted from the first.
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

/// The signal that a job receives when its size changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResizeSignal {
    pub signal: SignalNumber,
    #[serde(default)]
    pub to: Warned,
}

/// `[B:]SIGNAL`, as in `--signal`.
impl FromStr for ResizeSignal {
    type Err = WarningError;
    fn from_str(text: &str) -> Result<Self, WarningError> {
        let (to, signal) = match text.trim().split_once(':') {
            None => (Warned::All, text.trim()),
            Some((word, rest)) if word.eq_ignore_ascii_case("B") => (Warned::Script, rest),
            Some((word, _)) => return Err(WarningError::Prefix(word.to_owned())),
        };
        Ok(Self { signal: signal.parse()?, to })
    }
}

/// The form that is parsed: `B:USR1`.
impl fmt::Display for ResizeSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.to == Warned::Script { "B:" } else { "" };
        f.pad(&format!("{to}{}", self.signal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reads_as_it_is_written() {
        for (text, number, to) in
            [("USR1", 10, Warned::All), ("B:SIGUSR2", 12, Warned::Script), ("1", 1, Warned::All)]
        {
            let read: ResizeSignal = text.parse().unwrap();
            assert_eq!((read.signal, read.to), (SignalNumber(number), to), "{text}");
            assert_eq!(read.to_string().parse(), Ok(read));
        }
        for text in ["", "USR9", "R:USR1", "USR1@60"] {
            assert!(text.parse::<ResizeSignal>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_has_a_text() {
        assert_eq!(JobSize::Tasks(Tasks(1)).to_string(), "1 task");
        assert_eq!(JobSize::Nodes(Nodes(2)).to_string(), "2 nodes");
    }
}
