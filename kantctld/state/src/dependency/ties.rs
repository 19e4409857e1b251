//! Who waits for whom, and who has the same name. Follows from the jobs and is not stored.
//! Never says how far anybody is.

use crate::job::Record;
use common::id::{JobId, Uid};
use std::collections::{BTreeMap, BTreeSet};

/// Jobs by the name and user they share.
type Named = BTreeMap<Uid, BTreeMap<String, BTreeSet<JobId>>>;

/// The ties between jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ties {
    /// By the job that is waited for, whether it still counts or not.
    dependents: BTreeMap<JobId, BTreeSet<JobId>>,
    /// Of which an element lives.
    named: Named,
    /// Those of them that are to run alone.
    singletons: Named,
}

impl Ties {
    /// Those that wait for something of this job, or did, rising.
    pub(crate) fn dependents(&self, job: JobId) -> Vec<JobId> {
        self.dependents.get(&job).into_iter().flatten().copied().collect()
    }

    /// Those of this name that live, rising.
    pub(crate) fn named(&self, owner: Uid, name: &str) -> impl Iterator<Item = JobId> + '_ {
        of(&self.named, owner, name)
    }

    /// Is anybody to run alone?
    pub(crate) fn has_singletons(&self) -> bool {
        !self.singletons.is_empty()
    }

    /// Those of them that are to run alone, rising.
    pub(crate) fn singletons(&self, owner: Uid, name: &str) -> impl Iterator<Item = JobId> + '_ {
        of(&self.singletons, owner, name)
    }

    /// A job is on record, or asks for something else than before. `knows`: is that one on record?
    pub(crate) fn bind(&mut self, record: &Record, knows: impl Fn(JobId) -> bool) {
        for on in others(record).filter(|on| knows(*on)) {
            self.dependents.entry(on).or_default().insert(record.id);
        }
    }

    /// It no longer waits for what it asked.
    pub(crate) fn unbind(&mut self, record: &Record) {
        for on in others(record) {
            if let Some(waiting) = self.dependents.get_mut(&on) {
                waiting.remove(&record.id);
                if waiting.is_empty() {
                    self.dependents.remove(&on);
                }
            }
        }
    }

    /// A job is forgotten.
    pub(crate) fn forget(&mut self, record: &Record) {
        self.unbind(record);
        self.dependents.remove(&record.id);
    }

    /// An element of it lives.
    pub(crate) fn live(&mut self, record: &Record) {
        let (owner, name) = (record.spec.owner.uid, &record.spec.ask.name);
        let add = |to: &mut Named| {
            let names = to.entry(owner).or_default();
            if let Some(ids) = names.get_mut(name.as_str()) {
                ids.insert(record.id);
            } else {
                names.insert(name.clone(), BTreeSet::from([record.id]));
            }
        };
        add(&mut self.named);
        if is_singleton(record) {
            add(&mut self.singletons);
        }
    }

    /// None of it lives any more.
    pub(crate) fn rest(&mut self, record: &Record) {
        let (owner, name) = (record.spec.owner.uid, record.spec.ask.name.as_str());
        for from in [&mut self.named, &mut self.singletons] {
            let Some(names) = from.get_mut(&owner) else { continue };
            let Some(ids) = names.get_mut(name) else { continue };
            ids.remove(&record.id);
            if ids.is_empty() {
                names.remove(name);
            }
            if names.is_empty() {
                from.remove(&owner);
            }
        }
    }
}

fn of<'a>(named: &'a Named, owner: Uid, name: &str) -> impl Iterator<Item = JobId> + 'a {
    let ids = named.get(&owner).and_then(|names| names.get(name));
    ids.into_iter().flatten().copied()
}

fn others(record: &Record) -> impl Iterator<Item = JobId> + '_ {
    let terms = record.spec.ask.dependency.iter().flat_map(|dependency| dependency.terms());
    terms.filter_map(|term| term.on).map(|on| on.job)
}

fn is_singleton(record: &Record) -> bool {
    record.spec.ask.dependency.as_ref().is_some_and(|dependency| dependency.is_singleton())
}
