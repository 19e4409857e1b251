//! What a round that ran out of searches hands to the next one, so that this goes on from there:
//! who was searched for in vain, and what they were told. Never says who goes first.
//!
//! Source: man slurm.conf, SchedulerParameters bf_continue and bf_max_job_test: a backfill cycle
//! that is cut short goes on where it stopped.
//! Reads: what came free since. Knobs: none; `TRIALS_MAX` bounds a round.
//!
//! As long as nothing comes free, who found no room finds none, and is not searched for again.
//! When something did, all of that is old; what was kept for a job and is no more, only a moment
//! later, for a round may drop what it promises again in the next. Half of a round's searches go to
//! those with old answers, whose turn comes first, and the rest to those whom nobody has looked at,
//! so that the end of the line is reached however often something comes free.
//!
//! Example, two nodes in use, and a bound of two searches. Jobs 1, 2 and 3 ask for different
//! things.
//! The first round searches for 1 and 2 and looks again at once; the second for 3. After that
//! nobody looks until something changes. Another job comes: only that is searched for.

use crate::snapshot::Snapshot;
use common::id::JobKey;
use common::reason::WaitReason;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How far rounds that ran out of searches have come. Empty in most rounds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Halfway {
    pub(crate) at: Time,
    pub(crate) jobs: BTreeMap<JobKey, Searched>,
    /// Something came free since, and not only what was kept for a job.
    #[serde(default)]
    pub(crate) is_freed: bool,
    /// What was kept for a job that waits came free in that instant: a look is due after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_dropped: bool,
    /// Where queues share fairly: for whom it was looked who could yield, and nobody was found.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) tried: BTreeSet<JobKey>,
}

/// What became of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Searched {
    /// No job of its shape that ends then or later fits.
    pub no_fit_from: Option<Time>,
    /// It lacked room; else something spoke against it or another component of its job.
    pub lacks_room: bool,
    /// Something came free since.
    pub is_old: bool,
    /// It is the first of its queue for want of quota: it is searched for again, at no cost.
    #[serde(default)]
    pub is_first: bool,
    /// What it was told.
    pub reason: WaitReason,
}

/// What to do about a job that may start.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// Search for a place.
    Search,
    /// Nothing has changed since that was done.
    Repeat(&'a Searched),
    /// This round has searched enough.
    Later,
}

impl Halfway {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Has something come free, or may something else be used, since then?
    pub(crate) fn is_old(&self, snapshot: &Snapshot, now: Time) -> bool {
        let is_past = |time: Time| self.at < time && time <= now;
        let mut promises = snapshot.promises.values();
        !self.is_empty()
            && (self.is_freed
                || ((snapshot.is_looser || self.is_dropped) && self.at < now)
                || snapshot.reservations.values().any(|r| is_past(r.from) || is_past(r.to))
                || promises.any(|promise| !promise.nodes.is_empty() && promise.at < now))
    }
}
