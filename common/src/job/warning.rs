//! The signal that warns a job before its time limit.
//! Source: man sbatch, `--signal`.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The default time before the limit.
pub const LEAD_DEFAULT: Span = Span::from_seconds(60);

/// The maximum time before the limit, as in Slurm.
pub const LEAD_MAX: Span = Span::from_seconds(65_535);

/// Signal names by number (man 7 signal, x86 and ARM).
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// From 1 to 31.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct SignalNumber(pub u8);

impl SignalNumber {
    /// The name without `SIG`; `None` if there is no such signal.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(usize::from(self.0).checked_sub(1)?).copied()
    }
}

/// A name with or without `SIG`, or a number.
impl FromStr for SignalNumber {
    type Err = WarningError;
    fn from_str(text: &str) -> Result<Self, WarningError> {
        let unknown = || WarningError::Signal(text.to_owned());
        let upper = text.to_ascii_uppercase();
        let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
        let place = NAMES.iter().position(|name| *name == bare);
        let number = match place.and_then(|place| u8::try_from(place + 1).ok()) {
            Some(number) => Self(number),
            None => Self(text.parse().map_err(|_| unknown())?),
        };
        number.name().map(|_| number).ok_or_else(unknown)
    }
}

/// `USR1`; the number if there is no such signal.
impl fmt::Display for SignalNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => self.0.fmt(f),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Warned {
    /// Every process of the job. The process that runs the script is included only if it handles
    /// the signal: a shell without a handler would end, and the job with it.
    #[default]
    All,
    /// Only the process that runs the script.
    Script,
}

/// A signal before the time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    pub signal: SignalNumber,
    /// The time before the limit.
    pub lead: Span,
    #[serde(default)]
    pub to: Warned,
}

/// The text is not a valid warning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WarningError {
    #[error("`{0}` is not a signal: write a name (USR1, TERM) or a number from 1 to 31")]
    Signal(String),
    #[error("`{0}` is not a number of seconds: write one from 0 to 65535 (USR1@120)")]
    Lead(String),
    /// The prefix is not `B:`.
    #[error(
        "`{0}:` is not supported: write B: for the script alone, or nothing before the signal for \
         all processes"
    )]
    Prefix(String),
}

/// Slurm's form: `[B:]SIGNAL[@SECONDS]`.
impl FromStr for Warning {
    type Err = WarningError;
    fn from_str(text: &str) -> Result<Self, WarningError> {
        let text = text.trim();
        let (to, rest) = match text.split_once(':') {
            None => (Warned::All, text),
            Some((word, rest)) if word.eq_ignore_ascii_case("B") => (Warned::Script, rest),
            Some((word, _)) => return Err(WarningError::Prefix(word.to_owned())),
        };
        let (signal, lead) = match rest.split_once('@') {
            None => (rest, LEAD_DEFAULT),
            Some((signal, seconds)) => {
                let refused = || WarningError::Lead(seconds.to_owned());
                let lead = Span::from_seconds(seconds.parse().map_err(|_| refused())?);
                (signal, Some(lead).filter(|lead| *lead <= LEAD_MAX).ok_or_else(refused)?)
            }
        };
        Ok(Self { signal: signal.parse()?, lead, to })
    }
}

/// The form that is parsed: `B:USR1@60`.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = if self.to == Warned::Script { "B:" } else { "" };
        f.pad(&format!("{to}{}@{}", self.signal, self.lead.seconds()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        text.parse::<Warning>().map(|w| w.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_ways_of_sbatch_are_read() {
        for (text, shown) in [
            ("USR1", "USR1@60"),
            ("SIGUSR1@120", "USR1@120"),
            ("B:usr2@90", "B:USR2@90"),
            ("10@0", "USR1@0"),
            ("b:15", "B:TERM@60"),
            ("31@65535", "SYS@65535"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(shown), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for (text, word) in [
            ("", "is not a signal"),
            ("USR3@60", "is not a signal"),
            ("0", "is not a signal"),
            ("32", "is not a signal"),
            ("-1", "is not a signal"),
            ("USR1@", "seconds"),
            ("USR1@soon", "seconds"),
            ("USR1@65536", "seconds"),
            ("USR1@-1", "seconds"),
            ("R:USR1", "B:"),
            ("RB:USR1", "B:"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn what_the_log_keeps_stays_as_it_is() {
        let kept = r#"{"signal":10,"lead":120000,"to":"script"}"#;
        let warning: Warning = "B:USR1@120".parse().unwrap();
        assert_eq!(serde_json::to_string(&warning).unwrap(), kept);
        assert_eq!(serde_json::from_str::<Warning>(kept).unwrap(), warning);
    }

    #[test]
    fn every_number_and_its_name_are_one_signal() {
        for number in 1..=31 {
            let name = SignalNumber(number).to_string();
            assert_eq!(name.parse(), Ok(SignalNumber(number)));
            assert_eq!(format!("SIG{name}").parse(), Ok(SignalNumber(number)));
        }
    }
}
