//! What each user has the controller remember: the bytes of scripts, environments and arguments,
//! and the tasks that are over. Both are bounded. Follows from the jobs and is not stored. Never
//! looks into a text.
//!
//! A text counts once for each user, as it is kept once. Of jobs that live all texts are kept; of
//! those that are over the latest, for a requeue or a look at the script.

use crate::blobs::Blobs;
use crate::job::Record;
use crate::remembered::State;
use common::blob::BlobHash;
use common::id::{JobId, Uid};
use common::job::Ask;
use common::reason::{NoRoom, Refusal};
use common::time::Time;
use common::unit::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The part of a user's bytes that texts of jobs which are over may take.
const OVER_PART: u64 = 16;

/// What one job takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Its script and its environment, which other jobs may share.
    texts: [(BlobHash, u64); 2],
    /// Its arguments, each with the NUL that ends it.
    own: u64,
}

impl Load {
    /// Of a job with these texts, each with its length.
    pub(crate) fn of(ask: &Ask, texts: [(BlobHash, u64); 2]) -> Self {
        // No update changes them.
        let own = ask.args.iter().map(|arg| arg.len() as u64 + 1).sum();
        Self { texts, own }
    }

    fn kept(record: &Record, blobs: &Blobs) -> Self {
        let spec = &record.spec;
        let length = |hash| blobs.get(&hash).map_or(0, |text| text.len() as u64);
        Self::of(&spec.ask, [spec.script, spec.environment].map(|hash| (hash, length(hash))))
    }
}

/// Of some jobs together.
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

    fn with(&self, loads: &[Load]) -> u64 {
        let texts = loads.iter().flat_map(|load| load.texts);
        let new: BTreeMap<_, _> = texts.filter(|(hash, _)| !self.uses.contains_key(hash)).collect();
        let own: u64 = loads.iter().map(|load| load.own).sum();
        self.bytes + own + new.values().sum::<u64>()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct OfUser {
    living: Sum,
    /// Of jobs that are over and still have their texts: these, the earliest end first.
    over: Sum,
    with_texts: BTreeSet<(Time, JobId)>,
    /// All that are over, and how many tasks they have.
    ended: BTreeSet<(Time, JobId)>,
    tasks: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    users: BTreeMap<Uid, OfUser>,
    /// Of all users the jobs that are over, the earliest end first.
    ended: BTreeSet<(Time, JobId)>,
}

impl Footprint {
    /// A job that was not known before.
    pub(crate) fn take_up(&mut self, record: &Record, blobs: &Blobs) {
        self.of(record).living.add(&Load::kept(record, blobs));
    }

    /// No task of a job lives any more.
    fn rest(&mut self, record: &Record, blobs: &Blobs) {
        let (load, of) = (Load::kept(record, blobs), self.of(record));
        of.living.remove(&load);
        of.over.add(&load);
        of.with_texts.insert(ended(record));
        self.note_over(record);
    }

    /// A task of a job that was over lives again.
    fn revive(&mut self, record: &Record, blobs: &Blobs) {
        let (load, of) = (Load::kept(record, blobs), self.of(record));
        of.over.remove(&load);
        of.with_texts.remove(&ended(record));
        of.living.add(&load);
        self.note_gone(record);
    }

    /// A job that is over has lost its texts.
    fn lose_texts(&mut self, record: &Record, blobs: &Blobs) {
        let (load, of) = (Load::kept(record, blobs), self.of(record));
        of.over.remove(&load);
        of.with_texts.remove(&ended(record));
    }

    /// A job that is over is forgotten. Its texts are still kept, if it has them.
    pub(crate) fn forget(&mut self, record: &Record, blobs: &Blobs) {
        let uid = record.spec.owner.uid;
        if self.of(record).with_texts.contains(&ended(record)) {
            self.lose_texts(record, blobs);
        }
        self.note_gone(record);
        if self.users.get(&uid).is_some_and(|of| *of == OfUser::default()) {
            self.users.remove(&uid);
        }
    }

    /// What a state that was read has of a job.
    pub(crate) fn read(&mut self, record: &Record, blobs: &Blobs, (lives, texts): (bool, bool)) {
        if lives {
            return self.take_up(record, blobs);
        }
        self.note_over(record);
        if texts {
            let of = self.of(record);
            of.with_texts.insert(ended(record));
            of.over.add(&Load::kept(record, blobs));
        }
    }

    /// Of each user the bytes of jobs that live, of jobs that are over, and how many tasks are.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (Uid, [u64; 3])> + '_ {
        self.users.iter().map(|(uid, of)| (*uid, [of.living.bytes, of.over.bytes, of.tasks]))
    }

    /// All jobs that are over, with the time since when they are, the earliest end first.
    pub(crate) fn ended(&self) -> impl Iterator<Item = (Time, JobId)> + '_ {
        self.ended.iter().copied()
    }

    fn note_over(&mut self, record: &Record) {
        if self.ended.insert(ended(record)) {
            let of = self.of(record);
            of.ended.insert(ended(record));
            of.tasks += record.elements.len() as u64;
        }
    }

    fn note_gone(&mut self, record: &Record) {
        if self.ended.remove(&ended(record)) {
            let of = self.of(record);
            of.ended.remove(&ended(record));
            of.tasks = of.tasks.saturating_sub(record.elements.len() as u64);
        }
    }

    fn of(&mut self, record: &Record) -> &mut OfUser {
        self.users.entry(record.spec.owner.uid).or_default()
    }
}

/// When all of a job was over, and which it is.
pub(crate) fn ended(record: &Record) -> (Time, JobId) {
    let last = record.elements.values().filter_map(|element| element.done_at).max();
    (last.unwrap_or_default(), record.id)
}

/// May this user have jobs that live, and take so much, beside those there are?
///
/// # Errors
/// [`Refusal::NoRoom`].
pub(crate) fn check_room(state: &State, uid: Uid, loads: &[Load]) -> Result<(), Refusal> {
    let empty = Sum::default();
    let living = state.footprint.users.get(&uid).map_or(&empty, |of| &of.living);
    let (held, all) = (living.bytes, living.with(loads));
    let limit = state.user_bounds().text;
    if all <= limit.0 {
        return Ok(());
    }
    let (held, more) = (Bytes(held), Bytes(all - held));
    Err(Refusal::NoRoom(NoRoom::TooMuchText { held, more, limit }))
}

/// May a job that is over live again? It needs its script.
///
/// # Errors
/// [`Refusal::TextsGone`], and as of [`check_room`].
pub(crate) fn check_revival(state: &State, record: &Record) -> Result<(), Refusal> {
    if state.textless.contains(&record.id) {
        return Err(Refusal::TextsGone { job: record.id });
    }
    if !state.is_all_done(record.id) {
        return Ok(());
    }
    check_room(state, record.spec.owner.uid, &[Load::kept(record, &state.blobs)])
}

/// No task of a job lives any more.
pub(crate) fn rest(state: &mut State, job: JobId) {
    if let Some(record) = state.jobs.get(&job) {
        state.footprint.rest(record, &state.blobs);
    }
}

/// Of the jobs of a user that are over the earliest lose their texts, where there are too many.
/// Never at once when a job is over: accounting reads it after that.
pub(crate) fn prune(state: &mut State, uid: Uid) {
    let most = state.user_bounds().text.0 / OVER_PART;
    loop {
        let Some(of) = state.footprint.users.get(&uid).filter(|of| of.over.bytes > most) else {
            return;
        };
        let Some((_, earliest)) = of.with_texts.first().copied() else { return };
        lose_texts(state, earliest);
    }
}

fn lose_texts(state: &mut State, job: JobId) {
    let Some(record) = state.jobs.get_mut(&job) else { return };
    state.footprint.lose_texts(record, &state.blobs);
    state.blobs.drop_use(&record.spec.script);
    state.blobs.drop_use(&record.spec.environment);
    if !record.spec.ask.args.is_empty() {
        Arc::make_mut(record).spec.ask.args = Vec::new();
    }
    state.textless.insert(job);
}

/// A task of a job lives again, before it is counted among the living.
pub(crate) fn revive(state: &mut State, job: JobId) {
    if !state.is_all_done(job) {
        return;
    }
    if let Some(record) = state.jobs.get(&job) {
        state.footprint.revive(record, &state.blobs);
    }
}

/// The jobs of a user that are over and too many, the earliest end first. The last one is never
/// too much.
pub(crate) fn surplus(state: &State, uid: Uid) -> Vec<JobId> {
    let Some(of) = state.footprint.users.get(&uid) else { return Vec::new() };
    let (most, mut tasks) = (u64::from(state.user_bounds().done_tasks), of.tasks);
    let mut surplus = Vec::new();
    for (_, job) in of.ended.iter().take(of.ended.len().saturating_sub(1)) {
        if tasks <= most {
            break;
        }
        tasks -= state.job(*job).map_or(0, |record| record.elements.len() as u64);
        surplus.push(*job);
    }
    surplus
}

/// The users who have jobs, running or finished.
pub(crate) fn users(state: &State) -> Vec<Uid> {
    state.footprint.users.keys().copied().collect()
}
