//! Events as they are told to who watches. Never more than happened: a snapshot is in the lists.

use crate::id::JobKey;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Which events. Every list is words with commas between them; an empty one is no bound.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchQuery {
    /// Of these jobs and array tasks.
    pub jobs: String,
    /// Of jobs of these users, by name.
    pub users: String,
}

/// Something happened; `D` is how its own fields are held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happened<D> {
    pub at: Time,
    /// What: "JobSubmitted", "JobStarted", "JobRunning", "JobEnded", "JobDone", "NodeDrained", ...;
    /// "Watching" is the first line, "Missed" stands for those a slow reader was not told.
    pub event: String,
    /// Of which job or array task, if of one.
    #[serde(default)]
    pub job: Option<JobKey>,
    #[serde(default)]
    pub user: Option<String>,
    pub text: String,
    /// The event's own fields. Other fields may come; those of one name keep their meaning.
    pub detail: D,
}
