//! What a job is called by its users, which is not always its key. Never what it is.

use super::JobView;
use crate::id::JobKey;
use crate::job::SetPlace;

impl JobView {
    /// What its users call it: `42`, `42_7`, or as a component of a set `42+1`.
    #[must_use]
    pub fn name(&self) -> JobKey {
        self.set.map_or(self.key, SetPlace::name)
    }

    /// What is named to have all of it: of a component its set.
    #[must_use]
    pub fn whole(&self) -> JobKey {
        self.set.map_or(self.key, SetPlace::first_key)
    }

    /// The other components, of the first of a set; else none.
    pub fn components_behind(&self) -> impl Iterator<Item = JobKey> + use<> {
        let set = self.set.filter(|set| set.offset == 0);
        set.into_iter().flat_map(SetPlace::keys).skip(1)
    }
}
