//! Jobs of which nothing lives any more, by when the last of each was done: those that are next to
//! be forgotten are found without a look at the others. Follows from the jobs and is not stored.
//! Never forgets one; `ForgetDone` does, some at a time.

use crate::footprint;
use crate::job::Record;
use crate::remembered::State;
use common::id::JobId;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most elements that one command forgets: while it is applied, all others wait.
pub const FORGOTTEN_AT_ONCE: usize = 1000;

/// What is over, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Over {
    since: BTreeMap<JobId, Time>,
    in_order: BTreeSet<(Time, JobId)>,
}

impl Over {
    /// Nothing of it lives since then.
    pub(crate) fn insert(&mut self, job: JobId, since: Time) {
        self.remove(job);
        self.since.insert(job, since);
        self.in_order.insert((since, job));
    }

    /// It lives again, or is forgotten.
    pub(crate) fn remove(&mut self, job: JobId) {
        if let Some(since) = self.since.remove(&job) {
            self.in_order.remove(&(since, job));
        }
    }

    /// With the time since when they are over, the longest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Time, JobId)> + '_ {
        self.in_order.iter().copied()
    }
}

impl State {
    /// What a [`ForgetDone`] at this time forgets: jobs that were over first of those that are over
    /// for long enough, then those that are more than their user may have kept; at most
    /// [`FORGOTTEN_AT_ONCE`] elements, except for a single job that has more. And whether there is
    /// more to forget.
    ///
    /// [`ForgetDone`]: crate::Command::ForgetDone
    #[must_use]
    pub fn old(&self, now: Time) -> (Vec<Arc<Record>>, bool) {
        let Some(kept) = self.settings().map(|settings| settings.done_jobs_kept) else {
            return (Vec::new(), false);
        };
        let aged = self.over.iter().take_while(|(since, _)| *since + kept <= now);
        let users = footprint::users(self);
        let surplus = users.into_iter().flat_map(|uid| footprint::surplus(self, uid));
        self.first_of(aged.map(|(_, job)| job).chain(surplus))
    }

    /// The first of these jobs, each once, that one command may forget; and whether there are more.
    pub(crate) fn first_of(&self, jobs: impl Iterator<Item = JobId>) -> (Vec<Arc<Record>>, bool) {
        let (mut records, mut named, mut elements) = (Vec::new(), BTreeSet::new(), 0);
        for record in jobs.filter_map(|job| self.jobs.get(&job)) {
            if !named.insert(record.id) {
                continue;
            }
            elements += record.elements.len();
            if elements > FORGOTTEN_AT_ONCE && !records.is_empty() {
                return (records, true);
            }
            records.push(record.clone());
        }
        (records, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_longest_comes_first_and_what_lives_again_is_not_named() {
        let mut over = Over::default();
        over.insert(JobId(1), Time(30));
        over.insert(JobId(2), Time(10));
        over.insert(JobId(3), Time(20));
        assert!(over.iter().map(|(_, job)| job.0).eq([2, 3, 1]));
        over.remove(JobId(3));
        over.remove(JobId(3));
        over.insert(JobId(2), Time(40));
        assert!(over.iter().eq([(Time(30), JobId(1)), (Time(40), JobId(2))]));
    }
}
