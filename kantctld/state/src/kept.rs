//! How long and how much is remembered: bounds on what one user has, what is gone of jobs that are
//! over, and requests that were answered. Never forgets anything itself.

use crate::command::UserBounds;
use crate::remembered::{KnownRequest, State};
use common::id::{JobId, RequestKey, Uid};
use common::time::Time;

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
}
