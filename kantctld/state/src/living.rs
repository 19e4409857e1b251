//! Every job and array task that is not Done, how many each user has of them, which have a
//! deadline, and which live on a lease. Follows from the jobs and is not stored. Bounds them too:
//! each takes memory, and room in every round. Never knows what they do.

use common::id::{ArrayIndex, JobId, JobKey, Uid};
use common::job::Ask;
use common::reason::{NoRoom, Refusal};
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The most jobs and array tasks that one user may have which are not done.
pub const LIVING_PER_USER_MAX: u32 = 100_000;

/// The most jobs and array tasks of all users together that are not done.
pub const LIVING_MAX: u32 = 1_000_000;

/// What bounds a job's life beside its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bounds {
    deadline: Option<Time>,
    is_leased: bool,
}

impl Bounds {
    /// Of a job that asks for this.
    pub(crate) const fn of(ask: &Ask) -> Self {
        Self { deadline: ask.deadline, is_leased: ask.lease.is_some() }
    }
}

/// No key of this job is after it.
pub(crate) const fn last_of(job: JobId) -> JobKey {
    JobKey { job, index: Some(ArrayIndex(u32::MAX)) }
}

/// The living, and whose they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Living {
    keys: BTreeSet<JobKey>,
    /// Users without any are not named.
    of_user: BTreeMap<Uid, u32>,
    /// Jobs of which something lives, by their deadlines; those without one are not named. All
    /// tasks of an array have the same, and a change of it costs the same for one as for many.
    deadlines: BTreeSet<(Time, JobId)>,
    /// Those with a lease of which something lives.
    leased: BTreeSet<JobId>,
    /// How many of them hold nodes.
    active: u32,
    /// How many elements there are, those that are done among them.
    all: u32,
}

/// How many elements there are, by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) pending: u32,
    /// They hold nodes, whatever they do with them.
    pub(crate) active: u32,
    pub(crate) done: u32,
}

impl Living {
    /// All of them, rising.
    pub(crate) fn iter(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.keys.iter().copied()
    }

    /// Those of one job, rising.
    pub(crate) fn of(&self, job: JobId) -> impl DoubleEndedIterator<Item = JobKey> + '_ {
        self.up_to(last_of(job))
    }

    /// Those of one job up to this one, rising.
    pub(crate) fn up_to(&self, last: JobKey) -> impl DoubleEndedIterator<Item = JobKey> + '_ {
        self.keys.range(JobKey::single(last.job)..=last).copied()
    }

    /// Is there none of this job?
    pub(crate) fn has_none_of(&self, job: JobId) -> bool {
        self.of(job).next().is_none()
    }

    /// Those whose deadline is not after this, the earliest first.
    pub(crate) fn due(&self, now: Time) -> impl Iterator<Item = JobKey> + '_ {
        let due = self.deadlines.iter().take_while(move |(deadline, _)| *deadline <= now);
        due.flat_map(|(_, job)| self.of(*job))
    }

    /// Those with a lease.
    pub(crate) fn leased(&self) -> impl Iterator<Item = JobKey> + '_ {
        self.leased.iter().flat_map(|job| self.of(*job))
    }

    /// So many elements more, or with `false` less, whatever they do.
    pub(crate) fn note_elements(&mut self, count: u32, are_new: bool) {
        self.all = step(self.all, count, are_new);
    }

    /// One of them begins to hold nodes, or with `false` has let go of all.
    pub(crate) fn note_active(&mut self, is_active: bool) {
        self.active = step(self.active, 1, is_active);
    }

    /// How many there are.
    pub(crate) fn standing(&self) -> Standing {
        let alive = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        Standing {
            pending: alive.saturating_sub(self.active),
            active: self.active,
            done: self.all.saturating_sub(alive),
        }
    }

    /// One more, unless it is known.
    pub(crate) fn insert(&mut self, key: JobKey, owner: Uid, bounds: Bounds) {
        if self.keys.insert(key) {
            self.bind(key.job, bounds);
            *self.of_user.entry(owner).or_insert(0) += 1;
        }
    }

    /// One less, if it is known.
    pub(crate) fn remove(&mut self, key: JobKey, owner: Uid, bounds: Bounds) {
        if !self.keys.remove(&key) {
            return;
        }
        if self.has_none_of(key.job) {
            self.unbind(key.job, bounds);
        }
        if let Some(count) = self.of_user.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.of_user.remove(&owner);
            }
        }
    }

    /// A job is bounded otherwise than before; nothing, where none of it lives.
    pub(crate) fn rebind(&mut self, job: JobId, before: Bounds, now: Bounds) {
        if !self.has_none_of(job) {
            self.unbind(job, before);
            self.bind(job, now);
        }
    }

    fn bind(&mut self, job: JobId, bounds: Bounds) {
        self.deadlines.extend(bounds.deadline.map(|deadline| (deadline, job)));
        self.leased.extend(bounds.is_leased.then_some(job));
    }

    fn unbind(&mut self, job: JobId, bounds: Bounds) {
        bounds.deadline.map(|deadline| self.deadlines.remove(&(deadline, job)));
        self.leased.remove(&job);
    }

    /// May this user have so many more?
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

const fn step(count: u32, by: u32, up: bool) -> u32 {
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
        assert_eq!(living.due(Time(7)).collect::<Vec<_>>(), [key(1)]);
        assert_eq!(living.due(Time(6)).next(), None);
        living.remove(key(2), ada, Bounds::default());
        living.remove(key(1), ada, bounds);
        living.remove(key(1), ada, bounds);
        assert_eq!(living, Living::default());
    }

    #[test]
    fn a_full_user_leaves_room_to_others_and_a_full_cluster_to_nobody() {
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
