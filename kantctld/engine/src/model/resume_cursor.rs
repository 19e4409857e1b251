//! What a round that ran out of searches passes to the next one, so that it continues there: which
//! jobs were searched for without success, and their reasons.
//!
//! Source: man slurm.conf, SchedulerParameters bf_continue and bf_max_job_test: a backfill cycle
//! that is cut short continues where it stopped.
//! Reads: what was freed since.
//! Knobs: none; `TRIALS_MAX` bounds a round.
//!
//! As long as nothing is freed, a job that found no room finds none, and is not searched for again.
//! Once something is freed, all results are outdated. If only what was kept for a job was freed,
//! they are outdated a moment later, because the next round may renew the promise that this one
//! drops. Half of a round's searches go to jobs with outdated results, whose turn comes first, and
//! half to jobs not searched for yet, so the end of the queue is reached however often something is
//! freed.
//!
//! Example, two nodes in use, and a bound of two searches. Jobs 1, 2 and 3 ask for different
//! things. The first round searches for 1 and 2 and schedules another round at once; the second
//! searches for 3. After that, no round runs until something changes. When another job is
//! submitted, only that one is searched for.

use common::id::JobKey;
use common::reason::WaitReason;
use common::serde_skip::is_default;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How far rounds that ran out of searches have come. Empty in most rounds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResumeCursor {
    pub(crate) at: Time,
    pub(crate) jobs: BTreeMap<JobKey, Searched>,
    /// Whether something was freed since, other than what was kept for a job.
    #[serde(default)]
    pub(crate) is_freed: bool,
    /// Whether what was kept for a waiting job was freed at that time. Another round is due after
    /// it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) is_dropped: bool,
    /// With fair sharing: jobs for which victims were searched without success.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) tried: BTreeSet<JobKey>,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Searched {
    /// No job of its shape that ends then or later fits.
    pub no_fit_from: Option<Time>,
    /// Whether it lacked room. Otherwise something else refused it or another component of its set.
    pub lacks_room: bool,
    /// Whether something was freed since.
    pub is_old: bool,
    /// Whether it is the first of its queue for lack of quota. Then it is searched for again, at no
    /// cost.
    #[serde(default)]
    pub is_first: bool,
    /// Its wait reason.
    pub reason: WaitReason,
}

/// What to do about a job that may start.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// Search for a place.
    Search,
    /// Repeat this result, since nothing has changed.
    Repeat(&'a Searched),
    /// Wait for the next round, since this one has made all its searches.
    Later,
}

impl ResumeCursor {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}
