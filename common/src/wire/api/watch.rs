//! The stream of events for clients that watch. It has no snapshot, which the lists provide.

use crate::id::{JobKey, LogIndex};
use crate::serde_skip::is_default;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest time between two heartbeats.
pub const HEARTBEAT_SECONDS_MAX: u64 = 60;

/// A selection of events. Every list is names separated by commas; an empty list selects all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WatchQuery {
    /// Jobs and array tasks.
    pub jobs: String,
    /// The names of the jobs' users.
    pub users: String,
    /// Begin after this event ([`EventSequence`]), or at this time in milliseconds since 1970.
    /// Empty: now.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub since: String,
    /// After this many seconds without an event, send a "Heartbeat"; 0: never.
    #[serde(skip_serializing_if = "is_default")]
    pub heartbeat_seconds: u64,
}

/// The place of an event in the log, which is the same on every controller: `1234-2` is the second
/// event of entry 1234, and `1234-0` the place before the first one.
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
#[serde(try_from = "String", into = "String")]
pub struct EventSequence {
    pub entry: LogIndex,
    /// From 1.
    pub place: u32,
}

/// The text is not the sequence of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the sequence of an event: it has the form 1234-2")]
pub struct NoSequence(pub String);

/// The point after which a client wants events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    After(EventSequence),
    At(Time),
}

impl FromStr for EventSequence {
    type Err = NoSequence;

    fn from_str(text: &str) -> Result<Self, NoSequence> {
        let bad = || NoSequence(text.to_owned());
        let (entry, place) = text.split_once('-').ok_or_else(bad)?;
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(entry) || !is_digits(place) {
            return Err(bad());
        }
        let entry = LogIndex(entry.parse().map_err(|_| bad())?);
        Ok(Self { entry, place: place.parse().map_err(|_| bad())? })
    }
}

impl TryFrom<String> for EventSequence {
    type Error = NoSequence;
    fn try_from(text: String) -> Result<Self, NoSequence> {
        text.parse()
    }
}

impl From<EventSequence> for String {
    fn from(sequence: EventSequence) -> Self {
        sequence.to_string()
    }
}

impl fmt::Display for EventSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.entry, self.place)
    }
}

/// As in [`WatchQuery::since`].
impl FromStr for Since {
    type Err = NoSequence;

    fn from_str(text: &str) -> Result<Self, NoSequence> {
        match text.parse() {
            Ok(milliseconds) => Ok(Self::At(Time(milliseconds))),
            Err(_) => text.parse().map(Self::After),
        }
    }
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(sequence) => sequence.fmt(f),
            Self::At(time) => time.0.fmt(f),
        }
    }
}

/// An event; `D` is the type of its own fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Happened<D> {
    /// Watching again since this sequence loses and repeats nothing. `None` only for "Missed", and
    /// from controllers of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<EventSequence>,
    pub at: Time,
    /// The kind: "JobSubmitted", "JobStarted", "JobRunning", "JobEnded", "JobDone", "NodeDrained",
    /// ..., or one of [`NOTICES`].
    pub event: String,
    /// The job or array task of the event.
    #[serde(default)]
    pub job: Option<JobKey>,
    #[serde(default)]
    pub user: Option<String>,
    pub text: String,
    /// The event's own fields. More fields may be added; existing ones keep their meaning.
    pub detail: D,
}

/// The kinds that are no events: "Watching" is the first line; "Gap" says that events since the
/// requested point are no longer kept; "Missed" replaces events that a slow reader lost;
/// "Heartbeat" says that there was no event.
pub const NOTICES: [&str; 4] = ["Watching", "Gap", "Missed", "Heartbeat"];

impl<D> Happened<D> {
    #[must_use]
    pub fn is_notice(&self) -> bool {
        NOTICES.contains(&self.event.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_written_as_it_is_read_and_ordered_by_entry_and_place() {
        let read = |text: &str| text.parse::<EventSequence>().unwrap();
        assert_eq!(read("1234-2").to_string(), "1234-2");
        let sorted = ["9-0", "9-2", "9-10", "10-0"].map(read);
        assert!(sorted.is_sorted());
        for bad in ["", "12", "-", "1-", "-1", "+1-2", "1-2-3", "1.2", "x-1", "1-4294967296"] {
            assert!(bad.parse::<EventSequence>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_point_is_a_sequence_or_a_time() {
        assert_eq!("12".parse(), Ok(Since::At(Time(12))));
        let after = EventSequence { entry: LogIndex(12), place: 3 };
        assert_eq!("12-3".parse(), Ok(Since::After(after)));
        assert_eq!("yesterday".parse::<Since>(), Err(NoSequence("yesterday".to_owned())));
    }
}
