//! Retention: the limits of a user, the texts of finished jobs that are gone, and the requests that
//! were answered.

use crate::command::UserBounds;
use crate::state::{KnownRequest, State};
use common::id::{JobId, RequestKey, Uid};
use common::time::{Span, Time};
use std::collections::BTreeSet;

/// A submission whose answer was lost may be repeated within this time and returns the same job,
/// even if that job is forgotten.
const REQUEST_KEPT: Span = Span::from_minutes(10);

impl State {
    /// The limits on what the controller keeps for one user.
    #[must_use]
    pub fn user_bounds(&self) -> UserBounds {
        self.settings().map(|settings| settings.user_bounds).unwrap_or_default()
    }

    /// The time since which no ended job has been forgotten.
    #[must_use]
    pub fn remembered_since(&self) -> Time {
        let kept = self.settings().map(|settings| settings.done_jobs_kept).unwrap_or_default();
        let by_age = Time(self.now.0.saturating_sub(kept.0));
        let by_count = self.forgot_until.map(|at| Time(at.0.saturating_add(1)));
        by_age.max(by_count.unwrap_or_default())
    }

    /// Whether this job has ended and its script is no longer kept.
    #[must_use]
    pub fn is_textless(&self, job: JobId) -> bool {
        self.textless.contains(&job)
    }

    /// A request that was already answered.
    #[must_use]
    pub fn answered_request(&self, uid: Uid, key: &RequestKey) -> Option<&KnownRequest> {
        self.requests.get(&uid)?.get(key)
    }

    pub fn requests(&self) -> impl Iterator<Item = (Uid, &RequestKey, &KnownRequest)> {
        self.requests.iter().flat_map(|(uid, keys)| keys.iter().map(|(k, r)| (*uid, k, r)))
    }

    /// The owner of a job, for a while also of one that was forgotten.
    #[must_use]
    pub fn owner_of_job(&self, job: JobId) -> Option<Uid> {
        self.asked.get(&job).map(|(uid, _)| *uid)
    }

    /// The jobs whose requests are forgotten next: forgotten jobs whose requests are not repeated
    /// any more, and jobs whose requests are older than the time for which finished jobs are kept.
    pub(crate) fn old_requests(&self, now: Time) -> impl Iterator<Item = JobId> + '_ {
        let kept = self.settings().map(|settings| settings.done_jobs_kept);
        let is_old = move |job: &JobId, most: Span| {
            let known = self.asked.get(job).and_then(|(uid, key)| self.answered_request(*uid, key));
            kept.is_some_and(|kept| known.is_none_or(|known| known.at + kept.min(most) <= now))
        };
        // Ids increase with time.
        let of_user = move |jobs: &'_ BTreeSet<JobId>| -> Vec<JobId> {
            jobs.iter().copied().take_while(|job| is_old(job, REQUEST_KEPT)).collect()
        };
        let forgotten = self.asked_of_forgotten.values().flat_map(of_user);
        forgotten
            .chain(self.asked.keys().copied().take_while(move |job| is_old(job, Span(u64::MAX))))
    }
}
