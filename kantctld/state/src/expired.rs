//! Selects the jobs that `ForgetDone` forgets next, a limited number at a time.

use crate::job::Record;
use crate::state::State;
use crate::texts;
use common::id::JobId;
use common::time::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of elements that one command forgets: nothing else is applied meanwhile.
pub const FORGOTTEN_AT_ONCE: usize = 1000;

impl State {
    /// The jobs that a [`ForgetDone`] at this time forgets: first those that ended long enough ago,
    /// the earliest end first, then those that exceed what is kept for their user. They have at
    /// most [`FORGOTTEN_AT_ONCE`] elements, unless a single job has more. Also returns whether more
    /// jobs or requests are left to forget.
    ///
    /// [`ForgetDone`]: crate::Command::ForgetDone
    #[must_use]
    pub fn jobs_to_forget(&self, now: Time) -> (Vec<Arc<Record>>, bool) {
        let Some(kept) = self.settings().map(|settings| settings.done_jobs_kept) else {
            return (Vec::new(), false);
        };
        let aged = self.footprint.ended().take_while(|(since, _)| *since + kept <= now);
        let surplus = self.footprint.users().flat_map(|uid| texts::surplus_jobs(self, uid));
        let (records, is_more) = self.first_forgettable(aged.map(|(_, job)| job).chain(surplus));
        (records, is_more || self.old_requests(now).nth(FORGOTTEN_AT_ONCE).is_some())
    }

    /// The first of these jobs, each once, that one command may forget, and whether there are more.
    pub(crate) fn first_forgettable(
        &self,
        jobs: impl Iterator<Item = JobId>,
    ) -> (Vec<Arc<Record>>, bool) {
        let (mut records, mut named, mut elements) = (Vec::new(), BTreeSet::new(), 0);
        for record in jobs.filter_map(|job| self.jobs.get(&job)) {
            if named.contains(&record.id) {
                continue;
            }
            let whole: Vec<&Arc<Record>> =
                texts::set_of(record).into_iter().filter_map(|job| self.jobs.get(&job)).collect();
            elements += whole.iter().map(|record| record.elements.len()).sum::<usize>();
            if elements > FORGOTTEN_AT_ONCE && !records.is_empty() {
                return (records, true);
            }
            named.extend(whole.iter().map(|record| record.id));
            records.extend(whole.into_iter().cloned());
        }
        (records, false)
    }
}
