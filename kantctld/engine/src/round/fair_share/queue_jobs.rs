//! The jobs of one queue that are in line.

use common::id::JobKey;
use common::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How a job's tasks stand to its minimum. The smaller goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It has not started.
    Waits,
    /// It has started with its minimum, and could have more tasks.
    AtLeast,
    /// It has more than its minimum.
    Above,
}

/// A job's place in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub priority: Reverse<i64>,
    pub standing: Standing,
    pub since: Time,
    pub key: JobKey,
}

/// The jobs of a queue that are in line, each with a number. Thousands of queues have only one,
/// which needs no map.
#[derive(Debug, Clone, Default)]
pub(super) struct QueueJobs {
    first: Option<(Place, usize)>,
    /// Those behind the first.
    rest: BTreeMap<Place, usize>,
}

impl QueueJobs {
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The first job.
    pub fn first(&self) -> Option<usize> {
        self.first.map(|(_, job)| job)
    }

    pub fn contains(&self, place: &Place) -> bool {
        self.first.is_some_and(|(first, _)| first == *place) || self.rest.contains_key(place)
    }

    /// Adds a job, whose place must be free.
    pub fn insert(&mut self, place: Place, job: usize) {
        match self.first {
            Some((first, _)) if first < place => _ = self.rest.insert(place, job),
            before => {
                self.first = Some((place, job));
                self.rest.extend(before);
            }
        }
    }

    pub fn pop_first(&mut self) -> Option<usize> {
        let (_, job) = self.first.take()?;
        self.first = self.rest.pop_first();
        Some(job)
    }

    pub fn remove(&mut self, place: &Place) -> Option<usize> {
        if self.first.is_some_and(|(first, _)| first == *place) {
            return self.pop_first();
        }
        self.rest.remove(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::JobId;

    fn place(since: u64) -> Place {
        let key = JobKey::single(JobId(1));
        Place { priority: Reverse(0), standing: Standing::Waits, since: Time(since), key }
    }

    #[test]
    fn jobs_leave_in_the_order_of_their_places() {
        let mut jobs = QueueJobs::default();
        for (job, since) in [(0, 5), (1, 3), (2, 8), (3, 4), (4, 1)] {
            jobs.insert(place(since), job);
        }
        assert_eq!((jobs.remove(&place(1)), jobs.remove(&place(4))), (Some(4), Some(3)));
        assert_eq!((jobs.remove(&place(4)), jobs.contains(&place(8))), (None, true));
        let left = std::iter::from_fn(|| jobs.pop_first());
        assert_eq!(left.collect::<Vec<usize>>(), [1, 0, 2]);
        assert!(jobs.is_empty() && jobs.first().is_none());
    }
}
