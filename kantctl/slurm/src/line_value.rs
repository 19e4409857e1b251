//! The value of a field of squeue or sacct as each of them writes it, and the lines of a listing.

use cli::output;
use cli::slurm_time::{format_time, long_span, short_span};
use common::time::{Span, Time};
use common::wire::api::JobView;
use jiff::tz::TimeZone;

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Words(String),
    /// Not set: `(null)` in squeue.
    Unset,
    /// Unknown or not applicable: `N/A` in squeue.
    Unknown,
    Span(Span),
    Unlimited,
    At(Time),
}

impl Value {
    /// The text, or [`Self::Unset`].
    pub fn from_optional(words: Option<impl ToString>) -> Self {
        words.map_or(Self::Unset, |words| Self::Words(words.to_string()))
    }

    pub fn of(words: impl ToString) -> Self {
        Self::Words(words.to_string())
    }

    /// The time, or [`Self::Unknown`].
    #[must_use]
    pub fn from_time(at: Option<Time>) -> Self {
        at.map_or(Self::Unknown, Self::At)
    }

    /// The text in squeue.
    #[must_use]
    pub fn squeue_text(self, zone: &TimeZone) -> String {
        match self {
            Self::Words(words) => words,
            Self::Unset => "(null)".to_owned(),
            Self::Unknown => "N/A".to_owned(),
            Self::Span(span) => short_span(span),
            Self::Unlimited => "UNLIMITED".to_owned(),
            Self::At(at) => format_time(at, zone),
        }
    }

    /// The text in sacct; `time`: the field is a time.
    #[must_use]
    pub fn sacct_text(self, time: bool, zone: &TimeZone) -> String {
        match self {
            Self::Words(words) => words,
            Self::Unset => String::new(),
            Self::Unknown if time => "Unknown".to_owned(),
            Self::Unknown => String::new(),
            Self::Span(span) => long_span(span),
            Self::Unlimited => "UNLIMITED".to_owned(),
            Self::At(at) => format_time(at, zone),
        }
    }
}

/// Groups jobs into lines: array tasks that wait for the same reason share one unless `apart`.
#[must_use]
pub fn group_lines(jobs: &[JobView], apart: bool) -> Vec<&[JobView]> {
    if apart { jobs.chunks(1).collect() } else { output::jobs::group_rows(jobs).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_values_are_written_as_each_command_writes_them() {
        let zone = TimeZone::UTC;
        assert_eq!(Value::Unset.squeue_text(&zone), "(null)");
        assert_eq!(Value::Unknown.squeue_text(&zone), "N/A");
        assert_eq!(Value::Unknown.sacct_text(true, &zone), "Unknown");
        assert_eq!(Value::Unset.sacct_text(false, &zone), "");
    }
}
