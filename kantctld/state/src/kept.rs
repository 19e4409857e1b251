//! How long and how much is remembered: bounds on what one user has, what is gone of jobs that are
//! over, and requests that were answered. Never forgets anything itself.

use crate::command::UserBounds;
use crate::remembered::{KnownRequest, State};
use common::id::{JobId, RequestKey, Uid};
use common::time::{Span, Time};
use std::collections::BTreeSet;

/// A submission whose answer was lost comes again within this time, and is the same job then, also
/// where that is forgotten.
const REQUEST_KEPT: Span = Span::from_minutes(10);

impl State {
    /// Bounds on what one user has the controller remember.
    #[must_use]
    pub fn user_bounds(&self) -> UserBounds {
        self.settings().map(|settings| settings.user_bounds).unwrap_or_default()
    }

    /// Everything that was over since then is remembered.
    #[must_use]
    pub fn remembered_since(&self) -> Time {
        let kept = self.settings().map(|settings| settings.done_jobs_kept).unwrap_or_default();
        let by_age = Time(self.now.0.saturating_sub(kept.0));
        let by_count = self.forgot_until.map(|at| Time(at.0.saturating_add(1)));
        by_age.max(by_count.unwrap_or_default())
    }

    /// Is this job over, and without its script?
    #[must_use]
    pub fn is_textless(&self, job: JobId) -> bool {
        self.textless.contains(&job)
    }

    /// A request that was answered before.
    #[must_use]
    pub fn request(&self, uid: Uid, key: &RequestKey) -> Option<&KnownRequest> {
        self.requests.get(&uid)?.get(key)
    }

    pub fn requests(&self) -> impl Iterator<Item = (Uid, &RequestKey, &KnownRequest)> {
        self.requests.iter().flat_map(|(uid, keys)| keys.iter().map(|(k, r)| (*uid, k, r)))
    }

    /// The jobs whose requests are forgotten next: those that are forgotten, once their requests do
    /// not come again, and those that live for longer than finished ones are kept.
    pub(crate) fn old_requests(&self, now: Time) -> impl Iterator<Item = JobId> + '_ {
        let kept = self.settings().map(|settings| settings.done_jobs_kept);
        let is_old = move |job: &JobId, most: Span| {
            let known = self.asked.get(job).and_then(|(uid, key)| self.request(*uid, key));
            kept.is_some_and(|kept| known.is_none_or(|known| known.at + kept.min(most) <= now))
        };
        // Ids rise with time.
        let of_user = move |jobs: &'_ BTreeSet<JobId>| -> Vec<JobId> {
            jobs.iter().copied().take_while(|job| is_old(job, REQUEST_KEPT)).collect()
        };
        let forgotten = self.asked_of_forgotten.values().flat_map(of_user);
        forgotten
            .chain(self.asked.keys().copied().take_while(move |job| is_old(job, Span(u64::MAX))))
    }
}
