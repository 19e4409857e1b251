//! The waiting jobs, alike ones together: a round that cannot start the first of a class need not
//! look at the others. Never orders classes among each other; `order` does.

mod class;

pub(crate) use class::{Class, ClassId, ClassKey, UNLIMITED};

use crate::snapshot::WaitingJob;
use common::id::JobKey;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where a waiting job is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Held, or before its time.
    Parked,
    /// In a class.
    In(ClassId),
}

/// All waiting jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    jobs: BTreeMap<JobKey, (Arc<WaitingJob>, Place)>,
    /// Jobs that wait for a time, soonest first.
    gates: BTreeSet<(Time, JobKey)>,
    classes: BTreeMap<ClassId, Class>,
    by_key: BTreeMap<ClassKey, ClassId>,
    next_class: u32,
}

impl Line {
    /// Adds a job, or changes it.
    pub fn set(&mut self, job: Arc<WaitingJob>) {
        self.remove(job.key);
        let place = match job.gate() {
            _ if job.held => Place::Parked,
            Some(gate) => {
                self.gates.insert((gate, job.key));
                Place::Parked
            }
            None => Place::In(self.join(&job)),
        };
        self.jobs.insert(job.key, (job, place));
    }

    fn join(&mut self, job: &Arc<WaitingJob>) -> ClassId {
        let key = ClassKey::of(job);
        let next = ClassId(self.next_class);
        let id = *self.by_key.entry(key.clone()).or_insert(next);
        if id == next {
            self.next_class += 1;
        }
        self.classes.entry(id).or_insert_with(|| Class::new(key)).add(job.clone());
        id
    }

    /// Takes a job out.
    pub fn remove(&mut self, key: JobKey) {
        let Some((job, place)) = self.jobs.remove(&key) else { return };
        match place {
            Place::Parked => {
                if let Some(gate) = job.gate() {
                    self.gates.remove(&(gate, key));
                }
            }
            Place::In(id) => {
                let Some(class) = self.classes.get_mut(&id) else { return };
                class.remove(&job);
                if class.is_empty()
                    && let Some(class) = self.classes.remove(&id)
                {
                    self.by_key.remove(class.key());
                }
            }
        }
    }

    /// Jobs whose time has come join the others.
    pub fn settle(&mut self, now: Time) {
        while let Some((gate, key)) = self.gates.first().copied().filter(|(gate, _)| *gate <= now) {
            self.gates.remove(&(gate, key));
            if let Some((job, _)) = self.jobs.get(&key) {
                let job = job.clone();
                let id = self.join(&job);
                self.jobs.insert(key, (job, Place::In(id)));
            }
        }
    }

    /// Has nobody's time come that is still parked?
    pub fn is_settled(&self, now: Time) -> bool {
        self.gates.first().is_none_or(|(gate, _)| *gate > now)
    }

    /// When the next parked job's time comes.
    pub fn next_gate(&self) -> Option<Time> {
        self.gates.first().map(|(gate, _)| *gate)
    }

    /// The classes of jobs that may start, in no order that means anything.
    pub fn classes(&self) -> impl Iterator<Item = (ClassId, &Class)> {
        self.classes.iter().map(|(id, class)| (*id, class))
    }

    /// A class.
    pub fn class(&self, id: ClassId) -> Option<&Class> {
        self.classes.get(&id)
    }

    /// The class of a job; `None`: it is parked or unknown.
    pub fn class_of(&self, key: JobKey) -> Option<ClassId> {
        match self.jobs.get(&key)? {
            (_, Place::In(id)) => Some(*id),
            (_, Place::Parked) => None,
        }
    }

    /// A job.
    pub fn get(&self, key: JobKey) -> Option<&Arc<WaitingJob>> {
        self.jobs.get(&key).map(|(job, _)| job)
    }

    /// All jobs, by key.
    pub fn all(&self) -> impl Iterator<Item = &Arc<WaitingJob>> {
        self.jobs.values().map(|(job, _)| job)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }
}
