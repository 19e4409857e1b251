//! Points in time and spans, in milliseconds, and Slurm's forms of a time limit. Time is always an
//! argument: this crate has no clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A length of time in milliseconds.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Span {
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    #[must_use]
    pub const fn from_minutes(minutes: u64) -> Self {
        Self::from_seconds(minutes.saturating_mul(60))
    }

    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Whole seconds, rounded down.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }
}

impl Time {
    /// The span since `earlier`; zero if `earlier` is later (clocks of two hosts differ).
    #[must_use]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

/// UTC, to the second: `2026-11-21T04:05:06Z`. The CLI shows local time; this is for logs and
/// golden files.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1000;
        let (year, month, day) = civil_from_days(seconds / 86_400);
        let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
    }
}

/// The civil date of a day counted from 1970-01-01.
/// Source: Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Slurm's form: `1-02:03:04`, `02:03:04`, and `03:04` under an hour.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.seconds();
        let (days, hours, minutes, seconds) = (s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60);
        let text = match (days, hours) {
            (0, 0) => format!("{minutes:02}:{seconds:02}"),
            (0, _) => format!("{hours:02}:{minutes:02}:{seconds:02}"),
            _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
        };
        f.pad(&text)
    }
}

/// The text is not a time limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a length of time: write minutes (90), minutes:seconds (90:00), h:m:s (1:30:00), \
     days-hours (2-12), or a number with s, m, h or d (90m)"
)]
pub struct SpanError(pub String);

/// Slurm's forms (`m`, `m:s`, `h:m:s`, `d-h`, `d-h:m`, `d-h:m:s`; man sbatch, `--time`) and `30s`,
/// `90m`, `2h`, `1d`.
impl FromStr for Span {
    type Err = SpanError;
    fn from_str(text: &str) -> Result<Self, SpanError> {
        read_span(text.trim()).map(Span::from_seconds).ok_or_else(|| SpanError(text.to_owned()))
    }
}

/// The seconds; `None` if the text is not a span.
fn read_span(text: &str) -> Option<u64> {
    let number = |t: &str| -> Option<u64> {
        let plain = !t.is_empty() && t.len() <= 12 && t.bytes().all(|b| b.is_ascii_digit());
        if plain { t.parse().ok() } else { None }
    };
    if let Some(unit) = text.chars().last().filter(char::is_ascii_alphabetic) {
        let factor = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return None,
        };
        return number(&text[..text.len() - 1]).map(|n| n.saturating_mul(factor));
    }
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let parts = clock.split(':').map(number).collect::<Option<Vec<u64>>>()?;
    let seconds = match (days, parts.as_slice()) {
        (None, [m]) => m * 60,
        (None, [m, s]) => m * 60 + s,
        (None, [h, m, s]) => h * 3600 + m * 60 + s,
        (Some(d), [h]) => d * 86_400 + h * 3600,
        (Some(d), [h, m]) => d * 86_400 + h * 3600 + m * 60,
        (Some(d), [h, m, s]) => d * 86_400 + h * 3600 + m * 60 + s,
        _ => return None,
    };
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurms_ways_of_writing_a_limit_are_read() {
        for (text, seconds) in [
            ("10", 600),
            ("10:30", 630),
            ("1:30:00", 5400),
            ("2-12", 216_000),
            ("1-0:30", 88_200),
            ("1-02:03:04", 93_784),
            ("45s", 45),
            ("2h", 7200),
        ] {
            assert_eq!(text.parse::<Span>().map(Span::seconds), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_ways_to_write_it() {
        for text in ["", "-5", "1:2:3:4", "x", "5y", "1--2", "1e9", "99999999999999999999"] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains("is not a length of time"), "{text}");
        }
    }

    #[test]
    fn spans_and_times_are_shown_as_operators_know_them() {
        assert_eq!(Span::from_seconds(93_784).to_string(), "1-02:03:04");
        assert_eq!(Span::from_seconds(61).to_string(), "01:01");
        assert_eq!(Time(1_700_000_000_000).to_string(), "2023-11-14T22:13:20Z");
        assert_eq!(Time(951_782_400_000).to_string(), "2000-02-29T00:00:00Z");
    }
}
