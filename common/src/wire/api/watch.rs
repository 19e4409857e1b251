//! The stream of events for clients that watch. It has no snapshot, which the lists provide.

use crate::id::JobKey;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// A selection of events. Every list is names separated by commas; an empty list selects all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchQuery {
    /// Jobs and array tasks.
    pub jobs: String,
    /// The names of the jobs' users.
    pub users: String,
}

/// An event; `D` is the type of its own fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happened<D> {
    pub at: Time,
    /// The kind: "JobSubmitted", "JobStarted", "JobRunning", "JobEnded", "JobDone", "NodeDrained",
    /// ...; "Watching" is the first line, "Missed" replaces events that a slow reader lost.
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
