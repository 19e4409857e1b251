//! An index of the jobs and array tasks that are not Done: by user, by deadline, and by lease. It
//! is derived from the jobs and not stored. It also limits their number, since each takes memory
//! and time in every round.

use common::id::{ArrayIndex, JobId, JobKey, Uid};
use common::job::Ask;
use common::reason::{NoRoom, Refusal};
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of unfinished jobs and array tasks of one user.
pub const LIVING_PER_USER_MAX: u32 = 100_000;

/// The maximum number of unfinished jobs and array tasks of all users.
pub const LIVING_MAX: u32 = 1_000_000;

/// The limits on a job's life besides its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bounds {
    deadline: Option<Time>,
    is_leased: bool,
}

impl Bounds {
    /// The limits that a request sets.
    pub(crate) const fn of(ask: &Ask) -> Self {
        Self { deadline: ask.deadline, is_leased: ask.lease.is_some() }
    }
}

/// The highest possible key of this job.
pub(crate) const fn highest_key_of(job: JobId) -> JobKey {
    JobKey { job, index: Some(ArrayIndex(u32::MAX)) }
}

/// The unfinished elements, and counts of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Living {
    keys: BTreeSet<JobKey>,
    /// The number for each user. Users without any are left out.
    of_user: BTreeMap<Uid, u32>,
    /// Unfinished jobs with a deadline. They are indexed by job, since the tasks of an array share
    /// one deadline, so that a change costs the same for any number of tasks.
    deadlines: BTreeSet<(Time, JobId)>,
    /// Unfinished jobs with a lease.
    leased: BTreeSet<JobId>,
    /// The number of elements that hold nodes.
    active: u32,
    /// The number of all elements, including finished ones.
    all: u32,
}

/// The numbers of elements by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub pending: u32,
    /// Elements that hold nodes, in whatever phase.
    pub active: u32,
    pub done: u32,
}

impl Living {
    /// All keys, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.keys.iter().copied()
    }

    /// The keys of one job, in ascending order.
    pub(crate) fn keys_of_job(&self, job: JobId) -> impl DoubleEndedIterator<Item = JobKey> + '_ {
        self.up_to(highest_key_of(job))
    }

    /// The keys of one job up to and including this one, in ascending order.
    pub(crate) fn up_to(&self, last: JobKey) -> impl DoubleEndedIterator<Item = JobKey> + '_ {
        self.keys.range(JobKey::single(last.job)..=last).copied()
    }

    /// Whether no element of this job is unfinished.
    pub(crate) fn has_none_of(&self, job: JobId) -> bool {
        self.keys_of_job(job).next().is_none()
    }

    /// The keys with a deadline at or before this time, the earliest first.
    pub(crate) fn past_deadline(&self, now: Time) -> impl Iterator<Item = JobKey> + '_ {
        let due = self.deadlines.iter().take_while(move |(deadline, _)| *deadline <= now);
        due.flat_map(|(_, job)| self.keys_of_job(*job))
    }

    /// The keys with a lease.
    pub(crate) fn leased(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.leased.iter().flat_map(|job| self.keys_of_job(*job))
    }

    /// Adds to the number of all elements, or subtracts if not `are_new`.
    pub(crate) fn note_elements(&mut self, count: u32, are_new: bool) {
        self.all = add_or_subtract(self.all, count, are_new);
    }

    /// Counts an element that begins to hold nodes, or, if not `is_active`, one that holds none any
    /// more.
    pub(crate) fn note_active(&mut self, is_active: bool) {
        self.active = add_or_subtract(self.active, 1, is_active);
    }

    pub(crate) fn phase_counts(&self) -> Standing {
        let alive = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        Standing {
            pending: alive.saturating_sub(self.active),
            active: self.active,
            done: self.all.saturating_sub(alive),
        }
    }

    /// Adds an element, unless it is in the index.
    pub(crate) fn insert(&mut self, key: JobKey, owner: Uid, bounds: Bounds) {
        if self.keys.insert(key) {
            self.insert_bounds(key.job, bounds);
            *self.of_user.entry(owner).or_insert(0) += 1;
        }
    }

    /// Removes an element, if it is in the index.
    pub(crate) fn remove(&mut self, key: JobKey, owner: Uid, bounds: Bounds) {
        if !self.keys.remove(&key) {
            return;
        }
        if self.has_none_of(key.job) {
            self.remove_bounds(key.job, bounds);
        }
        if let Some(count) = self.of_user.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.of_user.remove(&owner);
            }
        }
    }

    /// Updates the limits of a job, if it has unfinished elements.
    pub(crate) fn replace_bounds(&mut self, job: JobId, before: Bounds, now: Bounds) {
        if !self.has_none_of(job) {
            self.remove_bounds(job, before);
            self.insert_bounds(job, now);
        }
    }

    fn insert_bounds(&mut self, job: JobId, bounds: Bounds) {
        self.deadlines.extend(bounds.deadline.map(|deadline| (deadline, job)));
        self.leased.extend(bounds.is_leased.then_some(job));
    }

    fn remove_bounds(&mut self, job: JobId, bounds: Bounds) {
        bounds.deadline.map(|deadline| self.deadlines.remove(&(deadline, job)));
        self.leased.remove(&job);
    }

    /// Checks that a user may have this number of further elements.
    ///
    /// # Errors
    /// [`Refusal::NoRoom`].
    pub(crate) fn check_room(&self, owner: Uid, more: u32) -> Result<(), Refusal> {
        let alive = self.of_user.get(&owner).copied().unwrap_or(0);
        if alive.saturating_add(more) > LIVING_PER_USER_MAX {
            return Err(Refusal::NoRoom(NoRoom::TooManyJobs {
                alive,
                more,
                limit: LIVING_PER_USER_MAX,
            }));
        }
        let alive = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        if alive.saturating_add(more) > LIVING_MAX {
            return Err(Refusal::NoRoom(NoRoom::ClusterFull { alive, more, limit: LIVING_MAX }));
        }
        Ok(())
    }
}

const fn add_or_subtract(count: u32, by: u32, up: bool) -> u32 {
    if up { count.saturating_add(by) } else { count.saturating_sub(by) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(job: u32) -> JobKey {
        JobKey::single(JobId(job))
    }

    #[test]
    fn a_job_counts_once_however_often_it_is_named() {
        let (mut living, ada) = (Living::default(), Uid(1000));
        let bounds = Bounds { deadline: Some(Time(7)), is_leased: true };
        living.insert(key(1), ada, bounds);
        living.insert(key(1), ada, bounds);
        assert_eq!(living.of_user[&ada], 1);
        assert_eq!(living.leased().collect::<Vec<_>>(), [key(1)]);
        assert_eq!(living.past_deadline(Time(7)).collect::<Vec<_>>(), [key(1)]);
        assert_eq!(living.past_deadline(Time(6)).next(), None);
        living.remove(key(2), ada, Bounds::default());
        living.remove(key(1), ada, bounds);
        living.remove(key(1), ada, bounds);
        assert_eq!(living, Living::default());
    }

    #[test]
    fn a_full_user_leaves_room_to_others_and_a_full_cluster_to_no_user() {
        let mut living = Living::default();
        (0..LIVING_PER_USER_MAX).for_each(|job| living.insert(key(job), Uid(1), Bounds::default()));
        let (alive, limit) = (LIVING_PER_USER_MAX, LIVING_PER_USER_MAX);
        let full = Refusal::NoRoom(NoRoom::TooManyJobs { alive, more: 1, limit });
        assert!(full.to_string().contains("100000 unfinished jobs and array tasks"));
        assert_eq!(living.check_room(Uid(1), 1), Err(full));
        assert_eq!(living.check_room(Uid(2), LIVING_PER_USER_MAX), Ok(()));
        let more = (LIVING_PER_USER_MAX..LIVING_MAX).map(|job| (key(job), Uid(job / 1000)));
        more.for_each(|(key, user)| living.insert(key, user, Bounds::default()));
        let (alive, limit) = (LIVING_MAX, LIVING_MAX);
        let full = Refusal::NoRoom(NoRoom::ClusterFull { alive, more: 1, limit });
        assert_eq!(living.check_room(Uid(5000), 1), Err(full));
    }
}
