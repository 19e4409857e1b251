//! The name of a job for users, which differs from its key for components of het jobs.

use super::JobView;
use crate::id::JobKey;
use crate::job::SetPlace;

impl JobView {
    /// The name for users: `42`, `42_7`, or `42+1` for a component of a het job.
    #[must_use]
    pub fn name(&self) -> JobKey {
        self.set.map_or(self.key, SetPlace::name)
    }

    /// The key of the whole: for a component, that of its het job.
    #[must_use]
    pub fn whole_job_key(&self) -> JobKey {
        self.set.map_or(self.key, SetPlace::first_key)
    }

    /// The other components, if this is the first of a het job.
    pub fn other_components(&self) -> impl Iterator<Item = JobKey> + use<> {
        let set = self.set.filter(|set| set.offset == 0);
        set.into_iter().flat_map(SetPlace::keys).skip(1)
    }
}
