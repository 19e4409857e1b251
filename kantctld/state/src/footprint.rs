//! The memory that each user takes in the controller: the bytes of scripts, environments and
//! arguments, and the number of finished tasks. Both are limited. The sums are derived from the
//! jobs and not stored.
//!
//! A text counts once for each user, since it is kept once. Unfinished jobs keep all texts;
//! finished ones only the latest, so that they can be requeued and their scripts be shown.

use crate::blobs::Blobs;
use crate::job::Record;
use common::blob::BlobHash;
use common::id::{JobId, Uid};
use common::job::Ask;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The bytes that one job takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Its script and its environment, which other jobs may share.
    texts: [(BlobHash, u64); 2],
    /// Its arguments, each with the NUL that terminates it.
    own: u64,
}

impl Load {
    /// The load of a job with these texts, each with its length.
    pub(crate) fn of(ask: &Ask, texts: [(BlobHash, u64); 2]) -> Self {
        // Updates do not change the arguments.
        let own = ask.args.iter().map(|arg| arg.len() as u64 + 1).sum();
        Self { texts, own }
    }

    pub(crate) fn of_record(record: &Record, blobs: &Blobs) -> Self {
        let spec = &record.spec;
        let length = |hash| blobs.get(&hash).map_or(0, |text| text.len() as u64);
        Self::of(&spec.ask, [spec.script, spec.environment].map(|hash| (hash, length(hash))))
    }
}

/// The load of several jobs together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Sum {
    uses: BTreeMap<BlobHash, u32>,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, load: &Load) {
        self.bytes += load.own;
        for (hash, length) in load.texts {
            let uses = self.uses.entry(hash).or_insert(0);
            self.bytes += if *uses == 0 { length } else { 0 };
            *uses += 1;
        }
    }

    fn remove(&mut self, load: &Load) {
        self.bytes = self.bytes.saturating_sub(load.own);
        for (hash, length) in load.texts {
            let Some(uses) = self.uses.get_mut(&hash) else { continue };
            *uses -= 1;
            if *uses == 0 {
                self.uses.remove(&hash);
                self.bytes = self.bytes.saturating_sub(length);
            }
        }
    }

    fn bytes_with(&self, loads: &[Load]) -> u64 {
        let texts = loads.iter().flat_map(|load| load.texts);
        let new: BTreeMap<_, _> = texts.filter(|(hash, _)| !self.uses.contains_key(hash)).collect();
        let own: u64 = loads.iter().map(|load| load.own).sum();
        self.bytes + own + new.values().sum::<u64>()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct OfUser {
    living: Sum,
    /// Finished jobs that still have their texts; the set has the earliest end first.
    over: Sum,
    with_texts: BTreeSet<(Time, JobId)>,
    /// All finished jobs, and the number of their tasks.
    ended: BTreeSet<(Time, JobId)>,
    tasks: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    users: BTreeMap<Uid, OfUser>,
    /// The finished jobs of all users, the earliest end first.
    ended: BTreeSet<(Time, JobId)>,
}

impl Footprint {
    /// Adds a new job.
    pub(crate) fn insert_new(&mut self, record: &Record, blobs: &Blobs) {
        self.owner_entry(record).living.add(&Load::of_record(record, blobs));
    }

    /// Marks a job as finished.
    pub(crate) fn mark_finished(&mut self, record: &Record, blobs: &Blobs) {
        let (load, of) = (Load::of_record(record, blobs), self.owner_entry(record));
        of.living.remove(&load);
        of.over.add(&load);
        of.with_texts.insert(end_key(record));
        self.note_over(record);
    }

    /// Marks a finished job as unfinished again.
    pub(crate) fn mark_unfinished(&mut self, record: &Record, blobs: &Blobs) {
        let (load, of) = (Load::of_record(record, blobs), self.owner_entry(record));
        of.over.remove(&load);
        of.with_texts.remove(&end_key(record));
        of.living.add(&load);
        self.note_gone(record);
    }

    /// Subtracts the texts of a finished job.
    pub(crate) fn lose_texts(&mut self, record: &Record, blobs: &Blobs) {
        let (load, of) = (Load::of_record(record, blobs), self.owner_entry(record));
        of.over.remove(&load);
        of.with_texts.remove(&end_key(record));
    }

    /// Removes a finished job. Its texts must still be in `blobs`, if it has them.
    pub(crate) fn forget(&mut self, record: &Record, blobs: &Blobs) {
        let uid = record.spec.owner.uid;
        if self.owner_entry(record).with_texts.contains(&end_key(record)) {
            self.lose_texts(record, blobs);
        }
        self.note_gone(record);
        if self.users.get(&uid).is_some_and(|of| *of == OfUser::default()) {
            self.users.remove(&uid);
        }
    }

    /// Adds a job from a state that was read.
    pub(crate) fn insert_restored(
        &mut self,
        record: &Record,
        blobs: &Blobs,
        (lives, texts): (bool, bool),
    ) {
        if lives {
            return self.insert_new(record, blobs);
        }
        self.note_over(record);
        if texts {
            let of = self.owner_entry(record);
            of.with_texts.insert(end_key(record));
            of.over.add(&Load::of_record(record, blobs));
        }
    }

    /// For each user the bytes of unfinished jobs, the bytes of finished jobs, and the number of
    /// finished tasks.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (Uid, [u64; 3])> + '_ {
        self.users.iter().map(|(uid, of)| (*uid, [of.living.bytes, of.over.bytes, of.tasks]))
    }

    /// All finished jobs with the time of their end, the earliest first.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (Time, JobId)> + '_ {
        self.ended.iter().copied()
    }

    /// The users with running, waiting or finished jobs.
    pub(crate) fn users(&self) -> impl Iterator<Item = Uid> + '_ {
        self.users.keys().copied()
    }

    /// The bytes of a user's unfinished jobs, without and with these jobs.
    pub(crate) fn bytes_with(&self, uid: Uid, loads: &[Load]) -> (u64, u64) {
        let empty = Sum::default();
        let living = self.users.get(&uid).map_or(&empty, |of| &of.living);
        (living.bytes, living.bytes_with(loads))
    }

    /// The finished job of a user that loses its texts next, if they exceed `most` bytes.
    pub(crate) fn next_without_texts(&self, uid: Uid, most: u64) -> Option<JobId> {
        let of = self.users.get(&uid).filter(|of| of.over.bytes > most)?;
        of.with_texts.first().map(|(_, job)| *job)
    }

    /// The finished jobs of a user except for the last, the earliest end first.
    pub(crate) fn all_but_last_ended(&self, uid: Uid) -> impl Iterator<Item = JobId> + '_ {
        let all = self.users.get(&uid).map(|of| &of.ended);
        all.into_iter()
            .flat_map(|all| all.iter().take(all.len().saturating_sub(1)))
            .map(|(_, job)| *job)
    }

    /// The number of finished tasks of a user.
    pub(crate) fn ended_tasks(&self, uid: Uid) -> u64 {
        self.users.get(&uid).map_or(0, |of| of.tasks)
    }

    fn note_over(&mut self, record: &Record) {
        if self.ended.insert(end_key(record)) {
            let of = self.owner_entry(record);
            of.ended.insert(end_key(record));
            of.tasks += record.elements.len() as u64;
        }
    }

    fn note_gone(&mut self, record: &Record) {
        if self.ended.remove(&end_key(record)) {
            let of = self.owner_entry(record);
            of.ended.remove(&end_key(record));
            of.tasks = of.tasks.saturating_sub(record.elements.len() as u64);
        }
    }

    fn owner_entry(&mut self, record: &Record) -> &mut OfUser {
        self.users.entry(record.spec.owner.uid).or_default()
    }
}

/// The time at which the last element of a job ended, with the job's id.
pub(crate) fn end_key(record: &Record) -> (Time, JobId) {
    let last = record.elements.values().filter_map(|element| element.done_at).max();
    (last.unwrap_or_default(), record.id)
}
